'use strict';

const { Buffer } = require('../shared/buffers');

/**
 * Memory for a payload that is still coming is at most AHEAD times what has come, and LEAST bytes more. These also make up
 * for the header in the first chunk: or a message of 16 chunks, asked for by the quarter, would just not fit, and move twice.
 */
const AHEAD = 4;
const LEAST = 128;
/** Text is gathered in a piece of memory of this size that serves again, where so much is due by AHEAD. */
const SPARE = 64 * 1024;

// Such a piece that no decoder uses at the moment. Fresh memory costs more than what is then done with it: for each page that
// is touched the first time the system must be asked.
let spare = null;

/**
 * Memory for a message that comes in pieces. What the peer announces is believed as far as it has kept its word.
 *
 * @param {number} needed bytes of the message that are there
 * @param {number} left how much of the frame comes after them
 * @param {number} least a size that it has whatever has come
 * @param {boolean} returns whether it is given back by `giveBack`: it may then have been used before
 * @returns {Buffer}
 */
function takeMemory(needed, left, least, returns) {
  const size = Math.max(Math.min(needed + left, needed * AHEAD + LEAST), least);
  if (!returns || size > SPARE || needed * AHEAD < SPARE) return Buffer.allocUnsafeSlow(size);
  const taken = spare;
  spare = null;
  // It is shorter if an onFrame handler has transferred its memory away.
  return taken !== null && taken.length === SPARE ? taken : Buffer.allocUnsafeSlow(SPARE);
}

/** @param {Buffer} memory that nobody needs any more */
function giveBack(memory) {
  if (memory.length === SPARE) spare = memory;
}

module.exports = { giveBack, takeMemory };
