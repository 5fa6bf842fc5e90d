'use strict';

const { isUint8Array } = require('../shared/buffers');
const { invalidType, outOfRange } = require('../shared/errors');
const { advanceKey } = require('./fallback');

// What throws is apart, so that what does not is small enough for V8 to compile into its callers.

/**
 * @param {string} name
 * @param {*} value
 * @throws {TypeError} if the value is no Uint8Array, or one whose memory has been transferred away
 */
function checkBytes(name, value) {
  // The first byte tells what is empty, not `length`: in optimized code that has met resizable ArrayBuffers, too, V8 up to
  // that of Node.js 22 gives the length that a detached view once had.
  if (!isUint8Array(value) || value[0] === undefined) checkUnusual(name, value);
}

/**
 * @param {string} name
 * @param {*} value no Uint8Array, or one that is empty or detached
 * @throws {TypeError} unless it is empty and no more
 */
function checkUnusual(name, value) {
  if (!isUint8Array(value)) throw invalidType(name, 'a Buffer or Uint8Array', value);
  if (value.buffer.byteLength !== 0) return;
  try {
    // ArrayBuffer.prototype.detached would say it, but Node.js 20 has none.
    new Uint8Array(value.buffer);
  } catch {
    const error = invalidType(name, 'a Buffer or Uint8Array', value);
    error.message += ' whose memory is detached';
    throw error;
  }
}

/**
 * @param {*} key
 * @param {*} phase
 * @returns {number} the key from that phase on, its first byte in the lowest eight bits
 * @throws {TypeError | RangeError} if either is not acceptable
 */
function readKey(key, phase) {
  checkBytes('key', key);
  if (key.length !== 4) refuseKey(key);
  const number = (key[0] | (key[1] << 8) | (key[2] << 16) | (key[3] << 24)) >>> 0;
  return phase === undefined ? number : readPhase(number, phase);
}

/**
 * @param {Uint8Array} key
 * @throws {RangeError}
 */
function refuseKey(key) {
  throw outOfRange('key', '4 bytes long', `${key.length} bytes long`);
}

/**
 * @param {number} key
 * @param {*} phase
 * @returns {number} the key from that phase on
 * @throws {TypeError | RangeError} if the phase is not acceptable
 */
function readPhase(key, phase) {
  checkSize('phase', phase, 3);
  return advanceKey(key, phase);
}

/**
 * @param {string} name
 * @param {*} value
 * @param {number} most
 * @throws {TypeError} if the value is no number
 * @throws {RangeError} if it is not a whole number from 0 to `most`
 */
function checkSize(name, value, most) {
  const good = typeof value === 'number' && value >= 0 && value <= most && Math.floor(value) === value;
  if (!good) refuseSize(name, value, most);
}

/**
 * @param {string} name
 * @param {*} value
 * @param {number} most
 * @throws {TypeError | RangeError}
 */
function refuseSize(name, value, most) {
  if (typeof value !== 'number') throw invalidType(name, 'a number', value);
  throw outOfRange(name, `a whole number from 0 to ${most}`, value);
}

/**
 * Makes `mask` and `unmask` over an backend.
 *
 * @param {import('./backend').Backend} backend
 * @returns {{ mask: Function, unmask: Function }}
 */
function createMasking({ maskRange, unmaskRange }) {
  /**
   * Masks or unmasks (the two are one operation, RFC 6455 section 5.3) the first `length` bytes of `source` with `key`
   * and writes them to `output` from `offset` on. `source` is left as it is, unless `output` is of the same memory; the
   * two may overlap in any way, and the result is as if `source` had been copied first.
   *
   * A payload can be done in pieces: give each the phase that the one before it returned.
   *
   * @param {Uint8Array} source the bytes to mask; a Buffer, over any kind of memory, at any alignment
   * @param {Uint8Array} key the masking key, 4 bytes
   * @param {Uint8Array} output where the result goes
   * @param {number} offset the index in `output` of the first byte written
   * @param {number} length how many bytes
   * @param {number} [phase=0] which byte of the key, 0 to 3, the first byte falls on
   * @returns {number} the phase for the byte after the last: (phase + length) modulo 4
   * @throws {TypeError} if an argument is missing or of the wrong type, or its memory is detached
   * @throws {RangeError} if the key is not 4 bytes, `phase` is not 0 to 3, or the range leaves `source` or `output`.
   *   Nothing has been written then
   */
  function mask(source, key, output, offset, length, phase) {
    checkBytes('source', source);
    checkBytes('output', output);
    const first = readKey(key, phase);
    checkSize('length', length, Math.min(source.length, output.length));
    checkSize('offset', offset, output.length - length);
    maskRange(source, 0, output, offset, length, first);
    return phase === undefined ? length & 3 : (phase + length) & 3;
  }

  /**
   * Masks or unmasks the whole of `buffer` in place (RFC 6455 section 5.3).
   *
   * A payload can be done in pieces: give each the phase that the one before it returned.
   *
   * @param {Uint8Array} buffer the bytes to unmask; a Buffer, over any kind of memory, at any alignment
   * @param {Uint8Array} key the masking key, 4 bytes
   * @param {number} [phase=0] which byte of the key, 0 to 3, the first byte falls on
   * @returns {number} the phase for the byte after the last: (phase + buffer.length) modulo 4
   * @throws {TypeError} if an argument is missing or of the wrong type, or its memory is detached
   * @throws {RangeError} if the key is not 4 bytes or `phase` is not 0 to 3. Nothing has been written then
   */
  function unmask(buffer, key, phase) {
    checkBytes('buffer', buffer);
    const first = readKey(key, phase);
    const { length } = buffer;
    unmaskRange(buffer, 0, length, first);
    return phase === undefined ? length & 3 : (phase + length) & 3;
  }

  return { mask, unmask };
}

module.exports = { createMasking };
