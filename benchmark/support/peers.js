'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const CACHE = path.join(__dirname, '..', '..', '.cache', 'peers');
const { arch, platform } = process;

/** Other runtimes on npm: the package for this machine, and the path of the program in it. */
const PACKAGES = {
  bun: {
    name: `@oven/bun-${platform === 'win32' ? 'windows' : platform}-${arch === 'arm64' ? 'aarch64' : arch}`,
    program: platform === 'win32' ? 'bin/bun.exe' : 'bin/bun'
  },
  deno: {
    name: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`,
    program: platform === 'win32' ? 'deno.exe' : 'deno'
  }
};

/**
 * @param {'bun' | 'deno'} peer
 * @param {boolean} fetch true to get it from npm if it is not found
 * @returns {string | null} the program that the environment variable BUN or DENO names, or the one
 *   on PATH, or the one in .cache/peers
 */
function findPeer(peer, fetch) {
  const { name, program } = PACKAGES[peer];
  const folder = path.join(CACHE, peer);
  const cached = path.join(folder, 'package', program);
  for (const candidate of [process.env[peer.toUpperCase()], peer, cached]) {
    if (candidate && runs(candidate)) return candidate;
  }
  if (!fetch) return null;
  fs.mkdirSync(folder, { recursive: true });
  const npm = (...args) => execFileSync('npm', args, { cwd: folder, encoding: 'utf8', shell: platform === 'win32' });
  const [{ filename }] = JSON.parse(npm('pack', name, '--json'));
  execFileSync('tar', ['-xzf', filename], { cwd: folder });
  fs.rmSync(path.join(folder, filename));
  fs.chmodSync(cached, 0o755);
  return runs(cached) ? cached : null;
}

/** @returns {boolean} */
function runs(program) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

module.exports = { findPeer };
