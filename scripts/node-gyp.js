'use strict';

// Runs node-gyp for the other scripts.

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
 * @param {string} command of node-gyp
 * @param {string} root the folder of binding.gyp
 * @param {'inherit' | 'pipe'} stdio whether the output is shown or returned
 * @param {string[]} options more arguments
 * @returns {import('node:child_process').SpawnSyncReturns<string>}
 * @throws {Error} if node-gyp is not installed
 */
function runNodeGyp(command, root, stdio, options) {
  const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
  return spawnSync(process.execPath, [nodeGyp, command, ...options], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio
  });
}

/**
 * Builds the addon of a checkout from scratch.
 *
 * @param {string} root the folder of its binding.gyp
 * @param {'inherit' | 'pipe'} stdio whether the output is shown or returned
 * @param {string[]} [options] more arguments for node-gyp
 * @returns {import('node:child_process').SpawnSyncReturns<string>}
 * @throws {Error} if node-gyp is not installed
 */
function rebuild(root, stdio, options = []) {
  return runNodeGyp('rebuild', root, stdio, [...headersOption(), ...options]);
}

/**
 * Builds what has changed since `rebuild`.
 *
 * @param {string} root the folder of its binding.gyp
 * @param {'inherit' | 'pipe'} stdio whether the output is shown or returned
 * @returns {import('node:child_process').SpawnSyncReturns<string>}
 */
function build(root, stdio) {
  return runNodeGyp('build', root, stdio, []);
}

module.exports = { build, rebuild };
