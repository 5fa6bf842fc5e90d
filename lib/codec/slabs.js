'use strict';

const { Buffer } = require('../shared/buffers');
const { Pool } = require('../shared/pool');

// Memory that encoders write frames into. A slab belongs to one encoder from its first byte until
// it is released or forgotten, so that no sink sees bytes of another connection.

/**
 * A slab that its encoder keeps until it is used up. A Buffer for each flush would cost 0.6 to 1.8
 * µs.
 */
const PRIVATE_SLAB = 1024;
/** The sizes of slabs that encoders share one after the other. Most turns send less than 4 KiB. */
const SMALL_SLAB = 4 * 1024;
const LARGE_SLAB = 64 * 1024;

/**
 * From this many bytes on, a payload that is the encoder's, and would be held after earlier bytes, is
 * not copied into a slab.
 */
const REFERENCE_OWNED_FROM = 1024;

const smallSlabs = new Pool(() => Buffer.allocUnsafeSlow(SMALL_SLAB), 256);
const largeSlabs = new Pool(() => Buffer.allocUnsafeSlow(LARGE_SLAB), 16);

/**
 * A slab of at least `size` bytes, up to LARGE_SLAB; with `recycle` one that is sent and released.
 */
function acquireSlab(size, recycle) {
  if (!recycle && size <= PRIVATE_SLAB) return Buffer.allocUnsafeSlow(PRIVATE_SLAB);
  return (size <= SMALL_SLAB ? smallSlabs : largeSlabs).acquire();
}

function releaseSlab(slab) {
  // A slab is empty if the sink that it was written to has transferred its memory.
  if (slab[0] === undefined) return;
  if (slab.length === SMALL_SLAB) smallSlabs.release(slab);
  else if (slab.length === LARGE_SLAB) largeSlabs.release(slab);
}

function isPrivate(slab) {
  return slab.length === PRIVATE_SLAB;
}

module.exports = { LARGE_SLAB, REFERENCE_OWNED_FROM, acquireSlab, isPrivate, releaseSlab };
