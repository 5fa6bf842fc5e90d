'use strict';

// Installs programs of others below .cache/, and beside them this checkout, as it would be
// published.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { writeEntries } = require('../prebuild/entries');
const { NotHere } = require('./fetch');

const ROOT = path.join(__dirname, '../..');

const isWindows = process.platform === 'win32';
/** The folder of Python environments, and that of the programs in each. */
const PYTHON = path.join(ROOT, '.cache/python');
const PROGRAMS = isWindows ? 'Scripts' : 'bin';

/** @returns {string} its output @throws {Error} with its output, if it fails */
function run(program, args, cwd) {
  // On Windows, npm is a script for the shell.
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', shell: isWindows });
  if (status !== 0) throw new Error(`${program} ${args[0]} failed: ${error?.message ?? (stderr || stdout)}`);
  return stdout;
}

/** Installs a folder's packages, unless they are there exactly. Install scripts do not run. */
function installDependencies(folder) {
  const wanted = fs.readFileSync(path.join(folder, 'package.json'), 'utf8');
  const modules = path.join(folder, 'node_modules');
  const installed = path.join(modules, 'installed.json');
  if (fs.existsSync(installed) && fs.readFileSync(installed, 'utf8') === wanted) return;
  fs.rmSync(modules, { recursive: true, force: true });
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], folder);
  // Written last: an interrupted install is repeated.
  fs.writeFileSync(installed, wanted);
}

/**
 * Installs packages, an object of names and versions, in a folder of .cache/.
 *
 * @param {object} [more] for the folder's package.json
 */
function installPackages(folder, packages, more = {}) {
  fs.mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: packages, ...more };
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  installDependencies(folder);
}

/**
 * Puts framemask into a folder's node_modules: the files that would be published, and the addon
 * that was built here. With a link to the checkout it would find the checkout's `ws`.
 */
function placeFramemask(folder) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-pack-'));
  try {
    run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', scratch], ROOT);
    const [tarball] = fs.readdirSync(scratch);
    const place = path.join(folder, 'node_modules/framemask');
    fs.rmSync(place, { recursive: true, force: true });
    fs.mkdirSync(place, { recursive: true });
    run('tar', ['xzf', path.join(scratch, tarball), '--strip-components=1', '-C', place], scratch);
    writeEntries(place);
    const addon = 'build/Release/framemask.node';
    if (fs.existsSync(path.join(ROOT, addon))) fs.cpSync(path.join(ROOT, addon), path.join(place, addon));
    const helper = path.dirname(require.resolve('node-gyp-build/package.json'));
    fs.cpSync(helper, path.join(folder, 'node_modules/node-gyp-build'), { recursive: true });
  } finally {
    fs.rmSync(scratch, { recursive: true });
  }
}

/** @returns {string} the path of a program in an environment of installPython */
const pythonProgram = (name, program) => path.join(PYTHON, name, PROGRAMS, program);

/** Installs packages from PyPI in an environment of their own, unless it has them. */
function installPython(name, packages, progress) {
  const folder = path.join(PYTHON, name);
  const stamp = path.join(folder, 'installed.txt');
  const wanted = packages.join('\n');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return;
  progress(`installing ${packages.join(', ')} in .cache/python/`);
  fs.rmSync(folder, { recursive: true, force: true });
  run(isWindows ? 'python' : 'python3', ['-m', 'venv', folder]);
  run(pythonProgram(name, 'python'), ['-m', 'pip', 'install', '--quiet', ...packages]);
  fs.writeFileSync(stamp, wanted);
}

/**
 * Builds a program in Go, which keeps what it has downloaded and compiled.
 *
 * @param {string} source a package, with its version unless it is in `cwd`
 * @returns {string} its path
 * @throws {NotHere} without Go
 */
function buildGo(source, progress, cwd = ROOT) {
  if (spawnSync('go', ['version']).status !== 0) throw new NotHere('there is no Go in the PATH');
  const folder = path.join(ROOT, '.cache/go', path.basename(source === '.' ? cwd : source));
  progress('building a program with Go, which downloads its modules');
  run('env', [`GOBIN=${folder}`, 'go', 'install', source], cwd);
  return path.join(folder, fs.readdirSync(folder)[0]);
}

module.exports = { buildGo, installDependencies, installPackages, installPython, placeFramemask, pythonProgram, run };
