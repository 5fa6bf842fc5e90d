'use strict';

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { installPackages } = require('../../test/support/install');

const CACHE = path.join(__dirname, '..', '..', '.cache', 'peers');
const { arch, platform } = process;
const windows = platform === 'win32';

/** Other runtimes on npm: the package for this machine, and the path of the program in it. */
const PACKAGES = {
  bun: {
    name: `@oven/bun-${windows ? 'windows' : platform}-${arch === 'arm64' ? 'aarch64' : arch}`,
    program: windows ? 'bin/bun.exe' : 'bin/bun'
  },
  deno: {
    name: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`,
    program: windows ? 'deno.exe' : 'deno'
  }
};

/** The WebSocket crate of each server in Rust. */
const CRATES = { tokio: 'tokio-websockets', yawc: 'yawc' };

/**
 * @typedef {{ program: string, version: string }} Peer
 *
 * @param {'bun' | 'deno'} peer
 * @param {boolean} fetch true to get it from npm if it is not found
 * @returns {Peer} the program that the environment variable BUN or DENO names, or the one on PATH,
 *   or the one in .cache/peers
 * @throws {Error} that says why there is none
 */
function findPeer(peer, fetch) {
  const variable = peer.toUpperCase();
  const { name, program } = PACKAGES[peer];
  const folder = path.join(CACHE, peer);
  const cached = path.join(folder, 'node_modules', name, program);
  const find = () => {
    for (const candidate of [process.env[variable], peer, cached]) {
      const version = candidate ? versionOf(candidate) : null;
      if (version !== null) return { program: candidate, version };
    }
    return null;
  };
  const found = find();
  if (found !== null) return found;
  if (!fetch) throw new Error(`it is neither in ${variable} nor on PATH, and was not to be fetched`);
  console.error(`fetching ${name} from npm`);
  installPackages(folder, { [name]: 'latest' });
  fs.chmodSync(cached, 0o755);
  const fetched = find();
  if (fetched === null) throw new Error(`${name} does not run here`);
  return fetched;
}

/** @returns {string | null} null if the program does not run */
function versionOf(program) {
  try {
    const output = execFileSync(program, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return /\d+(\.\d+)+\S*/.exec(output)[0];
  } catch {
    return null;
  }
}

/**
 * Builds an echo server in Rust, unless it is built.
 *
 * @param {'tokio' | 'yawc'} server its folder in servers/
 * @param {boolean} fetch true to let cargo download crates
 * @returns {Peer} with the version of the WebSocket crate
 * @throws {Error} that says why it can't be built
 */
function buildCrate(server, fetch) {
  const crate = CRATES[server];
  const folder = path.join(__dirname, 'servers', server);
  const target = path.join(CACHE, server);
  const manifest = fs.readFileSync(path.join(folder, 'Cargo.toml'), 'utf8');
  const [, version] = new RegExp(`^${crate} = .*version = "=(.+?)"`, 'm').exec(manifest);
  const program = path.join(target, 'release', `framemask-benchmark-${server}${windows ? '.exe' : ''}`);
  if (!fs.existsSync(program)) console.error(`building ${crate} with cargo, which takes minutes`);
  // Compiled for all processors of the architecture, as framemask's prebuilds are. Both crates find
  // at run time what the processor can do.
  const env = { ...process.env, RUSTFLAGS: '', CARGO_ENCODED_RUSTFLAGS: '' };
  const args = ['build', '--release', '--quiet', '--target-dir', target, ...(fetch ? [] : ['--offline'])];
  const { status, stderr, error } = spawnSync('cargo', args, { cwd: folder, env, encoding: 'utf8' });
  if (error) throw new Error(`cargo does not run (${error.code})`);
  if (status !== 0) throw new Error(`cargo failed: ${stderr.trim()}`);
  return { program, version };
}

module.exports = { buildCrate, findPeer };
