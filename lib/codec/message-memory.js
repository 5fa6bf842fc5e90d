'use strict';

const { Buffer } = require('../shared/buffers');
const { Pool } = require('../shared/pool');

/**
 * The memory for a payload in progress is at most AHEAD times the bytes that have arrived, plus
 * MARGIN. The margin covers the header in the first chunk; without it a message of 16 chunks is
 * copied twice more.
 */
const AHEAD = 4;
const MARGIN = 128;
/** The size of the pooled memory in which text is gathered, once AHEAD allows as much. */
const POOLED_SIZE = 64 * 1024;

const pool = new Pool(() => Buffer.allocUnsafeSlow(POOLED_SIZE), 1);

/**
 * Memory for a message of which `needed` bytes have arrived, and `left` bytes of the frame have
 * not. `pooled` memory is returned by `release`, and may hold bytes of an earlier use.
 */
function allocate(needed, left, least, pooled) {
  const size = Math.max(Math.min(needed + left, needed * AHEAD + MARGIN), least);
  if (!pooled || size > POOLED_SIZE || needed * AHEAD < POOLED_SIZE) return Buffer.allocUnsafeSlow(size);
  return pool.acquire();
}

function release(buffer) {
  if (buffer.length === POOLED_SIZE) pool.release(buffer);
}

module.exports = { allocate, release };
