'use strict';

const { randomFillSync } = require('../shared/node-modules').crypto;

/** So many keys are made at once: a call of randomFillSync costs about 300 ns whatever it fills, and a key then 3 ns. */
const BATCH = 1024;

let keys = null;
let used = BATCH;

/**
 * A masking key for one frame. "The masking key needs to be unpredictable; thus, the masking key MUST be derived from a
 * strong source of entropy" (RFC 6455 section 5.3).
 *
 * @returns {number} 32 random bits, signed; never 0, a key that would mask nothing
 */
function nextMaskingKey() {
  for (;;) {
    if (used === BATCH) {
      keys ??= new Int32Array(BATCH);
      randomFillSync(keys);
      used = 0;
    }
    const key = keys[used++];
    if (key !== 0) return key;
  }
}

module.exports = { nextMaskingKey };
