'use strict';

// A project like a user's, its programs, and the configurations that the documentation gives.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { TARGETS } = require('../../../scripts/prebuild/targets');
const { installPackages, placeFramemask } = require('../../../scripts/support/install');
const { ROOT, outputOf } = require('../../support/child');

const CACHE = path.join(ROOT, '.cache/bundlers');
const DOCUMENT = 'docs/bundling.md';
const TEXT = fs.readFileSync(path.join(ROOT, DOCUMENT), 'utf8');
/** The name of this platform's entry. */
const PLATFORM = TARGETS.map(({ name }) => name).find(
  (name) => name.split('-', 2).join('-') === `${process.platform}-${process.arch}`
);

const NAMES = '{ Decoder, Encoder, kernel, mask, nativeError, unmask }';
const WS = '{ WebSocket, WebSocketServer }';
const ECHO = `echo(${WS}, bufferutil);`;

/** What each program loads, from where, and what it calls of check.cjs or echo.cjs. */
const PROGRAMS = [
  ['framemask', { [NAMES]: 'framemask', '{ check }': './check.cjs' }, `check(${NAMES});`],
  ['ws', { '* as bufferutil': 'bufferutil', [WS]: 'ws', '{ echo }': './echo.cjs' }, ECHO],
  ['framemask-ws', { '* as bufferutil': 'framemask', [WS]: 'framemask/ws', '{ echo }': './echo.cjs' }, ECHO]
];

/** The programs by their files. The table shows the size of the first. */
const APPS = Object.fromEntries(
  PROGRAMS.flatMap(([name, modules, call]) => {
    const loads = Object.entries(modules);
    const imports = loads.map(([names, module]) => `import ${names} from '${module}';`);
    const requires = loads.map(([names, module]) => `const ${names.replace('* as ', '')} = require('${module}');`);
    return [
      [`${name}-import.mjs`, [...imports, call].join('\n')],
      [`${name}-require.cjs`, [...requires, call].join('\n')]
    ];
  })
);

/**
 * @param {string} file the name of a configuration: its block of code begins with it, as a comment
 * @returns {string} that block of the documentation
 */
function configOf(file) {
  for (const [, code] of TEXT.matchAll(/^```js\n(.*?)^```$/gms)) {
    if (code.startsWith(`// ${file}\n`)) return code;
  }
  throw new Error(`${DOCUMENT} has no ${file}`);
}

/**
 * @returns {string} the option in a line that begins with the program, without the shell's quotes
 */
function optionOf(program, option) {
  for (const [command, name] of TEXT.replaceAll('\\\n', '').matchAll(/^ {0,4}(\S+) .*$/gm)) {
    const found = name === program && command.match(option);
    if (found) return found[0].replaceAll('"', '');
  }
  throw new Error(`${DOCUMENT} has no ${program} with ${option}`);
}

/** @returns {string} an empty folder, with no node_modules above, nor framemask in its path */
function makeFolder() {
  return fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'bundle-'));
}

/**
 * Lays out a project with ws, and with framemask under both names, from the tarball that would be
 * published. It has each program twice: as above, and with this platform's entry before everything
 * else, as documented.
 *
 * @param {Record<string, string>} packages of the bundlers, which are installed in .cache/
 * @returns {string} the folder, outside the checkout, so that its node_modules are not found
 */
function stageProject(packages) {
  installPackages(CACHE, packages);
  const folder = makeFolder();
  const modules = path.join(folder, 'node_modules');
  placeFramemask(folder);
  const own = path.join(modules, 'framemask');
  fs.rmSync(path.join(own, 'build'), { recursive: true, force: true });
  fs.cpSync(own, path.join(modules, 'bufferutil'), { recursive: true });
  fs.cpSync(path.dirname(require.resolve('ws/package.json')), path.join(modules, 'ws'), { recursive: true });
  // The documented configurations import these.
  fs.symlinkSync(path.join(CACHE, 'node_modules/@rollup'), path.join(modules, '@rollup'), 'junction');
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
  fs.copyFileSync(path.join(__dirname, '../support/check-framemask.cjs'), path.join(folder, 'check.cjs'));
  fs.copyFileSync(path.join(__dirname, 'echo.cjs'), path.join(folder, 'echo.cjs'));
  for (const [name, source] of Object.entries(APPS)) {
    const entry = `${name.startsWith('ws-') ? 'bufferutil' : 'framemask'}/prebuilds/${PLATFORM}`;
    const line = name.endsWith('.mjs') ? `import '${entry}';` : `require('${entry}');`;
    fs.writeFileSync(path.join(folder, name), source);
    fs.writeFileSync(path.join(folder, `native-${name}`), `${line}\n${source}`);
  }
  return folder;
}

/** Runs a bundle. @returns {Promise<string>} its kernel @throws {Error} if a check in it failed */
async function runBundle(file, env = {}) {
  const options = { cwd: path.dirname(file), env: { FRAMEMASK_KERNEL: '', ...env } };
  const output = await outputOf([process.execPath, file], options);
  const { kernel, nativeError } = JSON.parse(output);
  // There is a reason if, and only if, JavaScript does the masking.
  if ((kernel === 'js') !== (nativeError !== null)) throw new Error(`kernel ${kernel}, nativeError: ${nativeError}`);
  return kernel;
}

module.exports = { APPS, CACHE, DOCUMENT, PLATFORM, configOf, makeFolder, optionOf, runBundle, stageProject };
