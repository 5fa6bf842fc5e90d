'use strict';

const fallback = require('./fallback');
const { Register, load } = require('./native');

const { KEY, START, OFFSET, LENGTH, NON_ASCII } = Register;

/**
 * Masks payloads in the addon or in JavaScript, whichever is faster for the length. Callers must
 * have checked the arguments (the addon checks them again). A key is a number, signed or not, with
 * the key's first byte in the lowest eight bits.
 *
 * @typedef {object} Backend
 * @property {MaskRange} maskRange masks `length` bytes of `source` from `start` on into `output`
 *   from `offset` on; they may overlap. Returns true only if all bytes written are ASCII
 * @property {(buffer: Uint8Array, start: number, length: number, key: number) => boolean}
 *   unmaskRange masks in place; returns whether all bytes written are ASCII
 * @property {(buffer: Uint8Array, start: number, length: number, key: number) => string |
 *   undefined} unmaskText masks in place; may return the bytes written as a string if all are ASCII
 *
 * @typedef {(source: Uint8Array, start: number, output: Uint8Array, offset: number,
 *   length: number, key: number) => boolean} MaskRange
 */

// Below these lengths, a loop in JavaScript takes less time than a call into the addon (Node 20,
// AVX-512, benchmark/masking.js). Unmask: 27 ns against 29 for 48 bytes, 18 against 29 for 32.
// Mask, which also copies: 39 ns against 48 for 48 bytes, 47 against 50 for 64.
const UNMASK_NATIVE_FROM = 48;
const MASK_NATIVE_FROM = 64;

/** @param {import('./native').Native | null} native null for JavaScript only */
function createBackend(native) {
  if (native === null) {
    const { maskRange, unmaskRange } = fallback;
    return { maskRange, unmaskRange, unmaskText: unmaskLatin1 };
  }
  const { registers } = native;

  function maskRange(source, start, output, offset, length, key) {
    if (length < MASK_NATIVE_FROM) {
      return fallback.maskRange(source, start, output, offset, length, key);
    }
    registers[KEY] = key >>> 0;
    registers[START] = start;
    registers[OFFSET] = offset;
    registers[LENGTH] = length;
    native.mask(source, output);
    return registers[NON_ASCII] === 0;
  }

  function unmaskRange(buffer, start, length, key) {
    if (length < UNMASK_NATIVE_FROM) {
      return fallback.unmaskRange(buffer, start, length, key);
    }
    registers[KEY] = key >>> 0;
    registers[START] = start;
    registers[LENGTH] = length;
    native.unmask(buffer);
    return registers[NON_ASCII] === 0;
  }

  function unmaskText(buffer, start, length, key) {
    registers[KEY] = key >>> 0;
    registers[START] = start;
    registers[LENGTH] = length;
    return native.unmaskText(buffer);
  }

  return { maskRange, unmaskRange, unmaskText };
}

/** `unmaskText` in JavaScript. */
function unmaskLatin1(buffer, start, length, key) {
  return fallback.unmaskRange(buffer, start, length, key) ? buffer.latin1Slice(start, start + length) : undefined;
}

const { kernel, native, nativeError } = load(process.env);

module.exports = { backend: createBackend(native), createBackend, kernel, native, nativeError };
