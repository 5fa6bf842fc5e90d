'use strict';

// Packs the package and checks the tarball.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { TARGETS } = require('../prebuild/targets');

const ROOT = path.join(__dirname, '../..');

/** The limit for all files together, in bytes. */
const MAX_SIZE = 700_000;

/** npm runs the first three when a package is installed, and warns of `prepare` in a tarball. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/**
 * Packs the checkout like a release, which builds all prebuilds.
 *
 * @param {string} folder for the tarball
 * @returns {string} the tarball
 * @throws {Error} with the output of npm
 */
function pack(folder) {
  const { status, stdout, stderr, error } = spawnSync('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26
  });
  if (status !== 0) throw new Error(error ? error.message : `npm pack failed: ${stderr.trim().slice(-2000)}`);
  // npm 12 prints an object by package name, npm 11 an array.
  const [{ filename }] = Object.values(JSON.parse(stdout));
  return path.join(folder, path.basename(filename));
}

/** Packs the folder of another package. @returns {string} the tarball */
function packFolder(from, folder) {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, from];
  return path.join(folder, execFileSync('npm', args, { encoding: 'utf8' }).trim());
}

/** @returns {object} the package.json in a tarball */
function manifestOf(tarball) {
  return JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }));
}

/** @returns {Map<string, Buffer>} the files below a folder, by their paths in it */
function filesBelow(folder) {
  const files = fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory());
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [path.relative(folder, file), fs.readFileSync(file)];
    })
  );
}

/** Unpacks a tarball. @returns {Map<string, Buffer>} its files, by their paths in the package */
function unpack(tarball, folder) {
  fs.mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder]);
  return filesBelow(folder);
}

/** @returns {string[]} which files are missing or unexpected */
function checkFiles(files) {
  const addons = TARGETS.map(({ file }) => `prebuilds/${file}`);
  const expected = (name) =>
    /^(package\.json|README\.md|LICENSE)$/.test(name) ||
    /^(index|ws|lib\/.+)\.(js|mjs|d\.ts|d\.mts)$/.test(name) ||
    addons.includes(name);
  const unexpected = [...files.keys()].filter((name) => !expected(name));
  const missing = ['README.md', 'LICENSE', ...addons].filter((name) => !files.has(name));
  return [...unexpected.map((name) => `${name} is not needed`), ...missing.map((name) => `${name} is missing`)];
}

/** @returns {string[]} the files that an entry of "exports" names, for all conditions */
function targetsOf(entry) {
  return typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(targetsOf);
}

/** @returns {string[]} which files "exports", "main" and "types" name that are not there */
function checkEntries(files, { exports: entries, main, types }) {
  const named = Object.entries(entries).flatMap(([entry, value]) => {
    const names = entry.includes('*') ? TARGETS.map(({ name }) => name) : [''];
    return names.flatMap((name) => targetsOf(value).map((target) => target.replaceAll('*', name)));
  });
  const missing = [...new Set([...named, main, types])].filter((file) => !files.has(path.normalize(file)));
  return missing.map((file) => `package.json names ${file}, which is missing`);
}

/**
 * @param {Map<string, Buffer>} files of the package
 * @returns {{ size: number, faults: string[] }} `size` in bytes, of all files together
 */
function checkTarball(files) {
  const manifest = JSON.parse(files.get('package.json'));
  const size = [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);
  const scripts = INSTALL_SCRIPTS.filter((name) => manifest.scripts?.[name] !== undefined);
  const faults = [
    ...checkFiles(files),
    ...checkEntries(files, manifest),
    ...scripts.map((name) => `package.json has the script "${name}", which npm runs or warns of at an install`)
  ];
  // Without it, npm runs node-gyp for a package that has a binding.gyp.
  if (manifest.gypfile !== false) faults.push('package.json does not say "gypfile": false');
  if (size >= MAX_SIZE) faults.push(`${size} bytes unpacked; the limit is ${MAX_SIZE}`);
  return { size, faults };
}

module.exports = { ROOT, checkTarball, filesBelow, manifestOf, pack, packFolder, unpack };
