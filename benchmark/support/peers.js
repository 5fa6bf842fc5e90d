'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { fetchNpm } = require('../../test/support/fetch');

const { arch, platform } = process;

/** Other runtimes on npm: the package for this machine, and the path of the program in it. */
const RUNTIMES = {
  bun: [`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}@1`, 'bin/bun'],
  deno: [`@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}@2`, 'deno']
};

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
 * @typedef {{ program: string, version: string }} Peer
 *
 * @param {'bun' | 'deno'} runtime
 * @param {boolean} fetch true to get it from npm if it is not found
 * @returns {Peer} the program that the environment variable BUN or DENO names, or the one on PATH,
 *   or the one on npm
 * @throws {Error} that says why there is none
 */
function findRuntime(runtime, fetch) {
  const variable = runtime.toUpperCase();
  const own = process.env[variable] ?? runtime;
  const found = versionOf(own);
  if (found !== null) return { program: own, version: found };
  if (!fetch) throw new Error(`it is neither in ${variable} nor on PATH, and was not to be fetched`);
  const [name, file] = RUNTIMES[runtime];
  const program = path.join(fetchNpm(name), file);
  fs.chmodSync(program, 0o755);
  const version = versionOf(program);
  if (version === null) throw new Error(`${name} does not run here`);
  return { program, version };
}

module.exports = { findRuntime };
