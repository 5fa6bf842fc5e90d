'use strict';

const crypto = require('node:crypto');
const nodeModules = require('../../lib/shared/node-modules');

/**
 * A copy of lib/frame-id.js that gets its entropy from a function.
 *
 * @param {object} t
 * @param {(array: Uint32Array) => Uint32Array} randomFillSync
 * @param {object} [modules] more modules of Node.js to replace
 */
function loadWithSource(t, randomFillSync, modules = {}) {
  return t.mockRequire('../../lib/frame-id', {
    '../../lib/shared/node-modules': { ...nodeModules, crypto: { ...crypto, randomFillSync }, ...modules }
  });
}

/**
 * A copy of lib/frame-id.js whose entropy is known: word n of batch m is `m * 0x10000000 + n`.
 * `batches` has the arrays that it has filled.
 */
function loadWithKnownEntropy(t, modules = {}) {
  const batches = [];
  const randomFillSync = (array) => {
    for (let i = 0; i < array.length; i++) array[i] = (batches.length + 1) * 0x10000000 + i;
    batches.push(array);
    return array;
  };
  return { ...loadWithSource(t, randomFillSync, modules), batches };
}

module.exports = { loadWithKnownEntropy, loadWithSource };
