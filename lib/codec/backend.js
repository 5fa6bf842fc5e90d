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
 * Unmasks a piece of a payload while it is copied, as `backend.maskInto` does, to memory that does
 * not overlap. `key` is that for the byte at `start`. Returns true only if the bytes are ASCII.
 */
function copyUnmasked(backend, source, start, output, offset, length, key) {
  if (length <= LOOP_TO) return copyMasked(source, start, output, offset, length, key);
  return backend.maskInto(source, start, output, offset, length, key);
}

module.exports = { codecBackend: createCodecBackend(native), copyUnmasked, createCodecBackend };
