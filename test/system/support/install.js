'use strict';

// Installs programs of others below .cache/.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { NotHere } = require('../../support/fetch');
const { ROOT, outputOf } = require('./child');

/**
 * Installs packages from PyPI in an environment of their own, unless it has them.
 *
 * @param {string} name of the folder in .cache/python/
 * @param {string[]} packages with versions
 * @param {(message: string) => void} progress
 * @returns {Promise<string>} the folder of its programs
 */
async function installPython(name, packages, progress) {
  const folder = path.join(ROOT, '.cache/python', name);
  const programs = path.join(folder, process.platform === 'win32' ? 'Scripts' : 'bin');
  const stamp = path.join(folder, 'installed.txt');
  const wanted = packages.join('\n');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return programs;
  progress(`installing ${packages.join(', ')} in .cache/python/`);
  fs.rmSync(folder, { recursive: true, force: true });
  await outputOf([process.platform === 'win32' ? 'python' : 'python3', '-m', 'venv', folder]);
  await outputOf([path.join(programs, 'python'), '-m', 'pip', 'install', '--quiet', ...packages]);
  fs.writeFileSync(stamp, wanted);
  return programs;
}

/**
 * Builds a program in Go, which keeps what it has downloaded and compiled.
 *
 * @param {string} name of the folder in .cache/go/
 * @param {string} source a package, with its version unless it is in `cwd`
 * @param {{ cwd?: string, progress: (message: string) => void }} options
 * @returns {Promise<string>} its path
 * @throws {NotHere} without Go
 */
async function buildGo(name, source, { cwd, progress }) {
  if (spawnSync('go', ['version']).status !== 0) throw new NotHere('there is no Go in the PATH');
  const folder = path.join(ROOT, '.cache/go', name);
  progress(`building ${name} with Go, which downloads its modules`);
  await outputOf(['go', 'install', source], { cwd, env: { GOBIN: folder } });
  const [program] = fs.readdirSync(folder);
  return path.join(folder, program);
}

module.exports = { buildGo, installPython };
