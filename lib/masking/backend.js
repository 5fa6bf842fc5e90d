'use strict';

const fallback = require('./fallback');
const { Register, load } = require('./native');

const { KEY, START, OFFSET, LENGTH, NON_ASCII } = Register;

/**
 * The things that touch a payload's bytes, on the addon or in JavaScript, whichever is faster for the length at
 * hand. Nothing is checked here: whoever calls has done so (and the addon checks all the same).
 *
 * A key is a number, signed or not: the key's first byte in the lowest eight bits.
 *
 * @typedef {object} Backend
 * @property {(source: Uint8Array, start: number, output: Uint8Array, offset: number, length: number, key: number)
 *   => boolean} maskRange masks `length` bytes of `source` from `start` on into `output` from `offset` on; they may
 *   overlap. Returns true only if all that it wrote is ASCII
 * @property {(buffer: Uint8Array, start: number, length: number, key: number) => boolean} unmaskRange masks in place;
 *   returns whether all that it wrote is ASCII
 * @property {(buffer: Uint8Array, start: number, length: number, key: number) => string | undefined} unmaskText masks in
 *   place, and may return what it has unmasked as a string, if that is ASCII
 */

// Below these lengths a loop in JavaScript costs less than the crossing into the addon (Node 20, AVX-512; the table is
// what `npm run bench` prints). Unmask: 48 bytes 27 ns against 29, 32 bytes 18 against 29. Mask, which must copy, too:
// 48 bytes 39 ns against 48, 64 bytes 47 against 50.
const UNMASK_NATIVE_FROM = 48;
const MASK_NATIVE_FROM = 64;

/**
 * @param {import('./native').Native | null} native what lib/masking/native.js has found; null for JavaScript alone
 * @returns {Engine}
 */
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

/**
 * `unmaskText` in JavaScript.
 *
 * @param {Buffer} buffer
 * @param {number} start
 * @param {number} length
 * @param {number} key
 * @returns {string | undefined}
 */
function unmaskLatin1(buffer, start, length, key) {
  return fallback.unmaskRange(buffer, start, length, key) ? buffer.latin1Slice(start, start + length) : undefined;
}

const { kernel, native, nativeError } = load(process.env);

module.exports = { backend: createBackend(native), createBackend, kernel, native, nativeError };
