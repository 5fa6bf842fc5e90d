'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/**
 * @returns {string[]} the option that spares node-gyp a download where this Node.js came with its
 *   headers
 */
function headersOption() {
  if (process.env.npm_config_nodedir) return [];
  const prefix = path.join(path.dirname(process.execPath), '..');
  const complete = ['node_api.h', 'common.gypi'].every((file) =>
    fs.existsSync(path.join(prefix, 'include/node', file))
  );
  return complete ? [`--nodedir=${prefix}`] : [];
}

/**
 * Builds the addon of a checkout from scratch, with node-gyp.
 *
 * @param {string} root the folder of its binding.gyp
 * @param {{ stdio: 'inherit' | 'pipe', options?: string[], env?: object }} how `options` for
 *   node-gyp; `env` is added to the environment
 * @returns {import('node:child_process').SpawnSyncReturns<string>}
 * @throws {Error} if node-gyp is not installed
 */
function rebuild(root, { stdio, options = [], env = {} }) {
  const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
  return spawnSync(process.execPath, [nodeGyp, 'rebuild', ...headersOption(), ...options], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio
  });
}

module.exports = { rebuild };
