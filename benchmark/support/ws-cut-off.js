'use strict';

const http = require('node:http');
const path = require('node:path');

const { requireAnew } = require('./modules');

/** No cut-off is above this payload length. */
const MOST = 4096;

/**
 * Finds the payload length from which on ws calls bufferutil; a shorter payload is masked by a loop
 * of its own. Asks ws itself, whose bufferutil is replaced by one that counts.
 *
 * @returns {{ mask: number, unmask: number } | null} null where ws masks with node:http
 */
function findCutOffs() {
  if (http.websocketMask) return null;
  let calls = 0;
  const count = () => void calls++;
  const folder = path.join(path.dirname(require.resolve('ws/package.json')), 'lib');
  const bufferutil = require.resolve('bufferutil');
  const cached = require.cache[bufferutil];
  const counting = { [bufferutil]: { mask: count, unmask: count } };
  const { mask, unmask } = requireAnew(path.join(folder, 'buffer-util.js'), folder, counting);
  delete require.cache[bufferutil];
  if (cached !== undefined) require.cache[bufferutil] = cached;

  const key = Buffer.alloc(4);
  const find = (call) => {
    for (let length = 0; length <= MOST; length++) {
      calls = 0;
      call(Buffer.alloc(length), length);
      if (calls > 0) return length;
    }
    throw new Error(`ws does not call bufferutil for payloads of up to ${MOST} bytes`);
  };
  return {
    mask: find((buffer, length) => mask(buffer, key, buffer, 0, length)),
    unmask: find((buffer) => unmask(buffer, key))
  };
}

module.exports = { findCutOffs };
