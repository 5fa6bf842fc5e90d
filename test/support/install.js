'use strict';

// Installs packages from npm below .cache/, and beside them this checkout, as it would be
// published.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');

/** On Windows, npm is a script for the shell. */
const shell = process.platform === 'win32';

/** @returns {string} its output @throws {Error} with its output, if it fails */
function run(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', shell });
  if (status !== 0) throw new Error(`${program} ${args[0]} failed: ${error?.message ?? (stderr || stdout)}`);
  return stdout;
}

/**
 * Installs packages in a folder, unless it has exactly them. Their install scripts do not run.
 *
 * @param {string} folder
 * @param {Record<string, string>} packages with their versions
 */
function installPackages(folder, packages) {
  const wanted = JSON.stringify({ private: true, dependencies: packages }, null, 2);
  const installed = path.join(folder, 'installed.json');
  if (fs.existsSync(installed) && fs.readFileSync(installed, 'utf8') === wanted) return;
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), wanted);
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], folder);
  // Written last: an interrupted install is repeated.
  fs.writeFileSync(installed, wanted);
}

/**
 * Puts framemask into a folder's node_modules: the files that would be published, and the addon
 * that was built here. With a link to the checkout it would find the checkout's `ws`.
 *
 * @param {string} folder
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
    const addon = 'build/Release/framemask.node';
    if (fs.existsSync(path.join(ROOT, addon))) fs.cpSync(path.join(ROOT, addon), path.join(place, addon));
    const helper = path.dirname(require.resolve('node-gyp-build/package.json'));
    fs.cpSync(helper, path.join(folder, 'node_modules/node-gyp-build'), { recursive: true });
  } finally {
    fs.rmSync(scratch, { recursive: true });
  }
}

module.exports = { installPackages, placeFramemask, run };
