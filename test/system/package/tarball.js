'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { ENTRIES } = require('../../../scripts/prebuild/entries');
const { TARGETS } = require('../../../scripts/prebuild/targets');
const { ROOT, outputOf, run } = require('../../support/child');

/** The limit for all files together, in bytes. */
const MAX_SIZE = 700_000;
/** npm runs the first three when a package is installed, and warns of `prepare` in a tarball. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/**
 * Packs a package like a release, which builds all prebuilds of this one.
 *
 * @param {string} folder for the tarball
 * @param {{ from?: string, scripts?: boolean }} [options] `scripts` lets it build
 * @returns {Promise<string>} the tarball
 */
async function pack(folder, { from = ROOT, scripts = false } = {}) {
  const args = ['pack', '--json', ...(scripts ? [] : ['--ignore-scripts']), '--pack-destination', folder, from];
  // npm 12 prints an object by package name, npm 11 an array.
  const [{ filename }] = Object.values(JSON.parse(await outputOf(['npm', ...args])));
  return path.join(folder, path.basename(filename));
}

/** @returns {object} the package.json in a tarball */
function manifestOf(tarball) {
  return JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }));
}

/** @returns {Map<string, Buffer>} the files below a folder, by their paths in it */
function filesBelow(folder) {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  return new Map(files.map((file) => [path.relative(folder, file), fs.readFileSync(file)]));
}

/**
 * @param {Map<string, Buffer>} files of the package
 * @returns {string[]} faults that publint and arethetypeswrong do not look for
 */
function checkTarball(files) {
  const manifest = JSON.parse(files.get('package.json'));
  const addons = TARGETS.map(({ file }) => `prebuilds/${file}`);
  const required = ['README.md', 'LICENSE', ...Object.keys(ENTRIES), ...addons];
  const isExpected = (name) =>
    /^(package\.json|README\.md|LICENSE)$|^(index|ws|lib\/.+)\.(js|mjs|d\.ts|d\.mts)$/.test(name) ||
    addons.includes(name);
  const size = [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);
  const extra = [...files.keys()].filter((name) => !isExpected(name));
  const missing = required.filter((name) => !files.has(name));
  const scripts = INSTALL_SCRIPTS.filter((name) => manifest.scripts?.[name] !== undefined);
  const faults = [
    ...extra.map((name) => `${name} is not needed`),
    ...missing.map((name) => `${name} is missing`),
    ...scripts.map((name) => `package.json has the script "${name}", which npm runs or warns of at an install`)
  ];
  // Without it, npm runs node-gyp for a package that has a binding.gyp.
  if (manifest.gypfile !== false) faults.push('package.json does not say "gypfile": false');
  if (size >= MAX_SIZE) faults.push(`${size} bytes unpacked; the limit is ${MAX_SIZE}`);
  return faults;
}

/** @returns {Promise<string[]>} the findings of publint and arethetypeswrong */
async function lint(tarball) {
  const programs = path.join(__dirname, '../node_modules/.bin');
  // arethetypeswrong skips entries with a *, unless they are named.
  const entries = ['.', 'ws', 'ws/register', ...TARGETS.map(({ name }) => `prebuilds/${name}`)];
  const plain = ['--no-definitely-typed', '--no-color', '--no-emoji', '--format', 'ascii'];
  const faults = [];
  for (const [command, clean] of [
    // publint succeeds even if it has suggestions.
    [['publint', 'run', tarball, '--strict'], /^All good!$/m],
    [['attw', tarball, ...plain, '--entrypoints', ...entries], /^\s*No problems found/m]
  ]) {
    const [program, ...args] = command;
    const env = { NO_COLOR: '1', FORCE_COLOR: '0' };
    const { status, stdout, stderr } = await run([path.join(programs, program), ...args], { env });
    if (status !== 0 || !clean.test(stdout)) faults.push(`${program}: ${stdout}${stderr}`.trim());
  }
  return faults;
}

module.exports = { checkTarball, filesBelow, lint, manifestOf, pack };
