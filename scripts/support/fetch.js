'use strict';

// Downloads runtimes, emulated systems and tools: to .cache/platforms/, or by apt-get to a
// Debian-like machine.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const CACHE = path.join(__dirname, '../../.cache/platforms');

/** Something can't be run on this machine, which counts neither as a failure nor as a success. */
class NotHere extends Error {}

/** @returns {string} the output of a program @throws {NotHere} if it fails */
function outputOf(program, args, options = {}) {
  const all = { encoding: 'utf8', maxBuffer: 2 ** 28, ...options };
  const { status, stdout, stderr, error } = spawnSync(program, args, all);
  if (status === 0) return stdout;
  const reason = error ? error.message : (stderr ?? '').trim().split('\n').slice(-3).join(' ');
  throw new NotHere(`${program} ${args[0]} failed: ${reason}`);
}

/** Runs a program as root. */
function asRoot(program, args) {
  return process.getuid() === 0 ? outputOf(program, args) : outputOf('sudo', [program, ...args]);
}

/**
 * Makes a folder of the cache, unless it exists. If `fill` fails, the next call starts anew.
 *
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

/** Unpacks the only file of a folder there, and removes it. */
function unpack(folder, argsFor) {
  const [file] = fs.readdirSync(folder);
  const [program, ...args] = argsFor(file);
  outputOf(program, args, { cwd: folder });
  fs.rmSync(path.join(folder, file));
}

/**
 * Downloads a version of a package from npm, for any system: npm pack ignores the platform and
 * runs no script.
 *
 * @returns {string} the folder of its files
 */
function fetchNpm(name) {
  return cached(`npm-${name}`, (folder) => {
    outputOf('npm', ['pack', '--silent', '--pack-destination', folder, name]);
    unpack(folder, (tarball) => ['tar', 'xzf', tarball, '--strip-components=1']);
  });
}

/** Downloads a wheel of a version from PyPI. @returns {string} the folder of its files */
function fetchWheel(name, platform) {
  return cached(`wheel-${name}-${platform}`, (folder) => {
    const args = ['--quiet', '--no-deps', '--only-binary=:all:', '--platform', platform, '--dest', folder, name];
    outputOf('python3', ['-m', 'pip', 'download', ...args]);
    unpack(folder, (wheel) => ['python3', '-m', 'zipfile', '-e', wheel, '.']);
  });
}

/**
 * Downloads Debian packages for another processor and unpacks them, without their install scripts.
 *
 * @returns {string} the folder of their files
 */
function fetchDebian(suite, architecture, packages) {
  return cached(`debian-${suite}-${architecture}-${packages.join('-')}`, (folder) => {
    fs.rmdirSync(folder);
    asRoot('mmdebstrap', [
      '--variant=extract',
      `--architectures=${architecture}`,
      `--include=${packages.join(',')}`,
      // The suite without its updates: mirrors have that one complete.
      '--setup-hook=sed -i "/-updates/d; /-security/d" "$1/etc/apt/sources.list"',
      suite,
      folder
    ]);
    // Programs look for their loader in /lib. In Debian that is a link, which an install script
    // would make.
    if (!fs.existsSync(path.join(folder, 'lib'))) fs.symlinkSync('usr/lib', path.join(folder, 'lib'));
  });
}

/** @returns {string[]} those of the Debian packages that are not installed */
function missing(packages) {
  return packages.filter((name) => {
    const { status, stdout } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' });
    return status !== 0 || !/^Status: .* installed$/m.test(stdout);
  });
}

/** Installs the Debian packages that are missing, and tells `progress` which. */
function installDebian(packages, progress) {
  const wanted = missing(packages);
  if (wanted.length === 0) return;
  progress(`installing ${wanted.join(' ')}`);
  // Another check may be installing, too.
  const aptGet = (...args) => asRoot('flock', ['/tmp/framemask-apt-get.lock', 'apt-get', '-qq', ...args]);
  aptGet('update');
  aptGet('install', '--yes', '--no-install-recommends', ...wanted);
}

module.exports = { CACHE, NotHere, cached, fetchDebian, fetchNpm, fetchWheel, installDebian, missing, outputOf };
