'use strict';

// Packages of a Debian-like machine.

const { spawnSync } = require('node:child_process');
const { asRoot } = require('./fetch');

/** @returns {string[]} those of the packages that are not installed */
function missing(packages) {
  return packages.filter((name) => {
    const { status, stdout } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' });
    return status !== 0 || !/^Status: .* installed$/m.test(stdout);
  });
}

/**
 * Installs the packages that are missing.
 *
 * @param {string[]} packages
 * @param {(line: string) => void} progress is told which, if any is missing
 */
function installDebian(packages, progress) {
  const wanted = missing(packages);
  if (wanted.length === 0) return;
  progress(`installing ${wanted.join(' ')}`);
  // Another check may be installing, too.
  const aptGet = (...args) => asRoot('flock', ['/tmp/framemask-apt-get.lock', 'apt-get', '-qq', ...args]);
  aptGet('update');
  aptGet('install', '--yes', '--no-install-recommends', ...wanted);
}

module.exports = { installDebian, missing };
