'use strict';

// How this project's scripts run node-gyp.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** @returns {string} node-gyp's program: npm's own where npm runs this, else the one among the dependencies */
function findNodeGyp() {
  return process.env.npm_config_node_gyp || require.resolve('node-gyp/bin/node-gyp.js');
}

/** @returns {string[]} the option that spares node-gyp a download where this Node.js came with its headers */
function headersOption() {
  if (process.env.npm_config_nodedir) return [];
  const prefix = path.join(path.dirname(process.execPath), '..');
  const complete = ['node_api.h', 'common.gypi'].every((file) =>
    fs.existsSync(path.join(prefix, 'include/node', file))
  );
  return complete ? [`--nodedir=${prefix}`] : [];
}

/**
 * Builds the addon of a checkout anew.
 *
 * @param {string} root where its binding.gyp lies
 * @param {'inherit' | 'pipe'} stdio whether the output is shown, or given
 * @param {string[]} [options] more arguments for node-gyp
 * @returns {import('node:child_process').SpawnSyncReturns<string>}
 */
function rebuild(root, stdio, options = []) {
  return spawnSync(process.execPath, [findNodeGyp(), 'rebuild', ...headersOption(), ...options], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio
  });
}

module.exports = { rebuild };
