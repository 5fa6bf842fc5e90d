'use strict';

const { createBackend, native } = require('../masking/backend');
const { copyMasked } = require('../masking/fallback');
const { Param } = require('../masking/native');

const { START, MODE, COUNT } = Param;

/**
 * Up to so many bytes a plain loop copies faster than TypedArray.prototype.set, which needs a view.
 * V8 keeps typed arrays of up to so many in its heap, and moves them out for the addon: 0.6 µs.
 */
const LOOP_TO = 64;
/** For a slab, which is not in the heap: 64 bytes take 51 ns in the addon, else 71 (Node 20). */
const SLAB_LOOP_TO = 40;

/**
 * The Backend of lib/masking/backend.js, with `scan` as `scanChunk` in lib/codec/scan.js. `native`
 * is null for JavaScript only.
 */
function createCodecBackend(native) {
	const masking = createBackend(native);
	if (native === null) return { ...masking, scan: require('./scan').scanChunk };
	const { params } = native;

	function scan(chunk, start, mode, table) {
		params[START] = start;
		params[MODE] = mode;
		native.scan(chunk, table);
		return params[COUNT];
	}

	return { ...masking, scan };
}

/**
 * Masks a payload, or a piece of one, while it is copied, as `backend.maskInto` does, to memory that
 * does not overlap. `key` is that for the byte at `start`; `loopTo` is SLAB_LOOP_TO for a slab.
 * Returns true only if the bytes are ASCII.
 */
function copyMasking(backend, source, start, output, offset, length, key, loopTo = LOOP_TO) {
	if (length <= loopTo) return copyMasked(source, start, output, offset, length, key);
	return backend.maskInto(source, start, output, offset, length, key);
}

module.exports = { SLAB_LOOP_TO, codecBackend: createCodecBackend(native), copyMasking, createCodecBackend };
