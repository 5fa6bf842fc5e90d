'use strict';

const fs = require('node:fs');
const path = require('node:path');
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

module.exports = { installPython };
