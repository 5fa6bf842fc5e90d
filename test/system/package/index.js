'use strict';

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { writeEntries } = require('../../../scripts/prebuild/entries');
const { NotHere } = require('../../../scripts/support/fetch');
const { ROOT, faultsOf } = require('../../support/child');
const { MANAGERS, OLD_WS } = require('./managers');
const { NPM } = require('./release');
const { MAJORS, checkTypes } = require('./types');
const { checkTarball, filesBelow, lint, pack } = require('./tarball');

/**
 * Commands that start a program with no network but its own loopback: as root, or as root of a user
 * namespace.
 */
const INSIDE = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const NAMESPACES = [
  ['unshare', '--net', ...INSIDE],
  ['unshare', '--net', '--map-root-user', ...INSIDE]
];

/**
 * Packages for the registry besides framemask: its dependency, ws, and what a check of types needs.
 */
const OTHERS = ['node-gyp-build', 'typescript', '@types/node', 'undici-types', 'ws'];

/** Downloads what installs.js needs, as far as possible: without it, that says what is missing. */
function prepare(managers, progress) {
  progress('fetching the package managers');
  for (const { name, prepare } of managers) {
    try {
      prepare();
    } catch (error) {
      if (!(error instanceof NotHere)) throw error;
      progress(`${name}: ${error.message}`);
    }
  }
}

module.exports = {
  summary: 'the tarball: its content, how it is published, and how each package manager installs it',
  details: `Packs this checkout, which builds all prebuilds, and checks the files of the tarball, also by publint and arethetypeswrong.
Then npm publishes it to a registry on this machine, and each package manager installs it in an empty project, as a file
and by its name, without a compiler and without a network; npm, pnpm and Yarn also as bufferutil beside ws 7 and 8.16. If a manager prints
more than its summary, or installs other files than those of the tarball, it fails. Programs run there as CommonJS, as ES
modules and as TypeScript (strict, nodenext), and must get a native kernel. The programs of test/types and the example
in TypeScript compile with the types of each major of Node.js. Last, a release is rehearsed: a second version is published,
a project with ws 8 and 7 takes it, goes back to the first, and back to ws; servers and clients of all talk at each step.`,
  linuxOnly: true,
  packages: true,
  only: ['manager', MANAGERS],
  options: {
    prebuilt: { text: 'pack prebuilds/ as it is' },
    quick: { text: 'the types of the oldest and the newest Node.js alone' }
  },

  async run({ prebuilt, quick }, { chosen, results, progress }) {
    const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-package-')));
    try {
      progress('npm pack');
      if (prebuilt) writeEntries(ROOT);
      const tarball = await pack(scratch, { scripts: !prebuilt });
      const unpacked = path.join(scratch, 'unpacked');
      fs.mkdirSync(unpacked);
      execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked]);
      await results.add('tarball', async () => [...checkTarball(filesBelow(unpacked)), ...(await lint(tarball))]);
      for (const major of quick ? [MAJORS[0], MAJORS.at(-1)] : MAJORS) {
        await results.add(`types of Node.js ${major}`, () => checkTypes(scratch, unpacked, major));
      }
      prepare([...chosen, NPM], progress);
      for (const name of OTHERS) await pack(scratch, { from: path.join(ROOT, 'node_modules', name) });
      for (const version of OLD_WS) await pack(scratch, { from: `ws@${version}` });
      const namespace = NAMESPACES.find(([program, ...args]) => spawnSync(program, [...args, 'true']).status === 0);
      if (namespace === undefined) console.log("the installs have this machine's network: unshare does not work here");
      const names = chosen.map(({ name }) => name).join(',');
      const program = [process.execPath, path.join(__dirname, 'installs.js'), tarball, names];
      await results.add('installs', () => faultsOf([...(namespace ?? []), ...program]));
    } finally {
      fs.rmSync(scratch, { recursive: true, force: true });
    }
  }
};
