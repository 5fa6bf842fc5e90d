'use strict';

const { Buffer } = require('../shared/buffers');
const { Pool } = require('../shared/pool');

// Memory that encoders write frames into. An encoder has its slab alone until it releases or drops
// it. A pooled slab still holds the bytes of its last user: it is cleared before a sink may keep
// it.

/** An encoder fills a private slab over several flushes: a Buffer for each takes 0.6 to 1.8 µs. */
const PRIVATE_SLAB = 1024;
/** The sizes of slabs that encoders share one after the other. Most turns send less than 4 KiB. */
const SMALL_SLAB = 4 * 1024;
const LARGE_SLAB = 64 * 1024;

/**
 * From this many bytes on, an owned payload is queued by reference if the writable still has unsent
 * bytes.
 */
const REFERENCE_OWNED_FROM = 1024;

/** So many are kept: as many connections wait for a turn's end. */
const SMALL_SLABS = 256;

const smallSlabs = new Pool(() => Buffer.allocUnsafeSlow(SMALL_SLAB), SMALL_SLABS);
const largeSlabs = new Pool(() => Buffer.allocUnsafeSlow(LARGE_SLAB), 16);

/**
 * A slab of at least `size` bytes, up to LARGE_SLAB: with `alwaysPooled`, or above PRIVATE_SLAB,
 * a pooled one, else a new one.
 */
function acquireSlab(size, alwaysPooled) {
	if (!alwaysPooled && size <= PRIVATE_SLAB) return Buffer.allocUnsafeSlow(PRIVATE_SLAB);
	return (size <= SMALL_SLAB ? smallSlabs : largeSlabs).acquire();
}

/** A slab whose memory a sink has transferred is empty, and not pooled. */
function releaseSlab(slab) {
	if (slab.length === SMALL_SLAB) smallSlabs.release(slab);
	else if (slab.length === LARGE_SLAB) largeSlabs.release(slab);
}

function isPrivate(slab) {
	return slab.length === PRIVATE_SLAB;
}

module.exports = { LARGE_SLAB, REFERENCE_OWNED_FROM, SMALL_SLABS, acquireSlab, isPrivate, releaseSlab };
