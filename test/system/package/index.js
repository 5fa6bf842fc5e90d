'use strict';

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { NotHere, fetchNpm } = require('../../support/fetch');
const { select } = require('../../support/select');
const { ROOT, run } = require('../support/child');
const { MANAGERS } = require('./managers');
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
 * @typedef {object} Task an install
 * @property {string} manager
 * @property {string} source how it installs framemask: 'file', 'name', or beside which ws
 * @property {string} [ws] a version: framemask is installed as bufferutil then
 * @property {import('./managers').Commands} [commands]
 * @property {string} [notRun] why there are none
 * @property {string[]} kinds of programs to run, see project.js
 */

/** @returns {Task[]} */
function prepare({ name: manager, sources = ['file', 'name'], types, oldWs = [], prepare }) {
  try {
    const commands = prepare();
    return [
      // The types are the same files for both sources.
      ...sources.map((source, i) => ({
        manager,
        source,
        commands,
        kinds: ['javascript', ...(types && i === 0 ? ['typescript'] : [])]
      })),
      ...oldWs.map((ws) => ({ manager, source: `ws ${ws}`, ws, commands, kinds: ['oldWs'] }))
    ];
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    return [{ manager, source: sources[0], notRun: error.message, kinds: [] }];
  }
}

/** @returns {Promise<boolean>} whether all installs passed */
async function install(tasks, { scratch, tarball, unpacked }) {
  const needsTypeScript = tasks.some(({ commands }) => commands?.add !== undefined);
  const names = ['node-gyp-build', ...(needsTypeScript ? ['typescript', '@types/node', 'undici-types'] : [])];
  const oldWs = [...new Set(tasks.flatMap(({ ws }) => ws ?? []))].map((version) => fetchNpm(`ws@${version}`));
  const others = [];
  for (const folder of [...names.map((name) => path.join(ROOT, 'node_modules', name)), ...oldWs]) {
    others.push(await pack(scratch, { from: folder }));
  }
  const plan = path.join(scratch, 'plan.json');
  fs.writeFileSync(plan, JSON.stringify({ scratch, tarball, unpacked, others, tasks }));
  const namespace = NAMESPACES.find(([program, ...args]) => spawnSync(program, [...args, 'true']).status === 0);
  if (namespace === undefined) console.log("the installs have this machine's network: unshare does not work here");
  const command = [...(namespace ?? []), process.execPath, path.join(__dirname, 'installs.js'), plan];
  return (await run(command, { timeout: 3_600_000, show: true })).status === 0;
}

module.exports = {
  summary: 'the tarball: its content, and how each package manager installs it',
  details: `Packs this checkout, which builds all prebuilds, and checks the files of the tarball, also by publint and arethetypeswrong.
Then each package manager installs it in an empty project, as a file and by its name from a registry on this machine,
without a compiler and without a network; npm, pnpm and Yarn also as bufferutil beside ws 7 and 8.16. If a manager prints
more than its summary, or installs other files than those of the tarball, it fails. Programs run there as CommonJS, as ES
modules and as TypeScript (strict, nodenext), and must get a native kernel.

managers: ${MANAGERS.map(({ name }) => name).join(' ')}`,
  linuxOnly: true,
  packages: true,
  options: {
    only: { type: 'string', multiple: true, value: 'managers', text: 'only these, with commas between' },
    prebuilt: { type: 'boolean', text: 'pack prebuilds/ as it is' },
    tarball: { type: 'string', value: 'file', text: 'test this file, and pack nothing' }
  },

  async run({ only, prebuilt, tarball: given }, { progress }) {
    const managers = select('manager', MANAGERS, only);
    const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-package-')));
    try {
      if (given === undefined) progress('npm pack');
      const tarball = given === undefined ? await pack(scratch, { scripts: !prebuilt }) : path.resolve(given);
      const unpacked = path.join(scratch, 'unpacked');
      fs.mkdirSync(unpacked);
      execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked]);
      const faults = [...checkTarball(filesBelow(unpacked)), ...(await lint(tarball))];
      progress(`${path.basename(tarball)}: ${faults.length === 0 ? 'passed' : 'FAILED'}`);
      for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`);
      progress('fetching the package managers');
      const passed = await install(managers.flatMap(prepare), { scratch, tarball, unpacked });
      return passed && faults.length === 0;
    } finally {
      fs.rmSync(scratch, { recursive: true, force: true });
    }
  }
};
