'use strict';

// Gets what other systems' programs are run by, and keeps it below .cache/platforms/.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const CACHE = path.join(__dirname, '../../.cache/platforms');

/** Why a platform can't be run here: no failure, but no success either. */
class NotHere extends Error {}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 * @returns {string} what it has printed
 * @throws {NotHere} if it fails
 */
function outputOf(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    ...options
  });
  if (status !== 0) {
    const said = error ? error.message : (stderr ?? '').trim().split('\n').slice(-3).join(' ');
    throw new NotHere(`${program} ${args[0]} failed: ${said}`);
  }
  return stdout;
}

/** Runs a program as root, as apt-get wants it. */
function asRoot(program, args) {
  return process.getuid() === 0 ? outputOf(program, args) : outputOf('sudo', [program, ...args]);
}

/**
 * Makes a folder of the cache, unless it is there. What is half done when something fails does not stay.
 *
 * @param {string} name
 * @param {(folder: string) => void} fill
 * @returns {string} the folder
 */
function cached(name, fill) {
  const folder = path.join(CACHE, name.replaceAll('/', '-'));
  if (fs.existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  fs.rmSync(unfinished, { recursive: true, force: true });
  fs.mkdirSync(unfinished, { recursive: true });
  fill(unfinished);
  fs.renameSync(unfinished, folder);
  return folder;
}

/**
 * A package of npm, whatever system it is for: to pack it heeds no platform and runs no script.
 *
 * @param {string} name with its version
 * @returns {string} the folder with what is in it
 */
function fetchNpm(name) {
  return cached(`npm-${name}`, (folder) => {
    outputOf('npm', ['pack', '--silent', '--pack-destination', folder, name]);
    const [tarball] = fs.readdirSync(folder);
    outputOf('tar', ['xzf', tarball, '--strip-components=1'], { cwd: folder });
    fs.rmSync(path.join(folder, tarball));
  });
}

/**
 * A wheel of PyPI, unpacked.
 *
 * @param {string} name with its version
 * @param {string} platform as pip names it
 * @returns {string} the folder
 */
function fetchWheel(name, platform) {
  return cached(`wheel-${name}-${platform}`, (folder) => {
    const args = ['--quiet', '--no-deps', '--only-binary=:all:', '--platform', platform, '--dest', folder, name];
    outputOf('python3', ['-m', 'pip', 'download', ...args]);
    const [wheel] = fs.readdirSync(folder);
    outputOf('python3', ['-m', 'zipfile', '-e', wheel, '.'], { cwd: folder });
    fs.rmSync(path.join(folder, wheel));
  });
}

/**
 * Debian's packages for another processor, unpacked and not set up.
 *
 * @param {string} suite
 * @param {string} architecture
 * @param {string[]} packages
 * @returns {string} the folder
 */
function fetchDebian(suite, architecture, packages) {
  return cached(`debian-${suite}-${architecture}-${packages.join('-')}`, (folder) => {
    fs.rmdirSync(folder);
    asRoot('mmdebstrap', [
      '--variant=extract',
      `--architectures=${architecture}`,
      `--include=${packages.join(',')}`,
      // The suite as it was released is enough, and mirrors have that one complete.
      '--setup-hook=sed -i "/-updates/d; /-security/d" "$1/etc/apt/sources.list"',
      suite,
      folder
    ]);
    // Programs look for their loader in /lib, which a Debian of today has as a link that a package's script would make.
    if (!fs.existsSync(path.join(folder, 'lib'))) fs.symlinkSync('usr/lib', path.join(folder, 'lib'));
  });
}

module.exports = { CACHE, NotHere, asRoot, cached, fetchDebian, fetchNpm, fetchWheel, outputOf };
