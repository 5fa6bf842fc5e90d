'use strict';

const { checkBytes, lengthOf } = require('../shared/buffers');
const { invalidType, outOfRange } = require('../shared/errors');
const { advanceKey } = require('./fallback');

// Functions that throw are separate, so that V8 inlines the checks.

/**
 * @param {*} key
 * @param {*} phase
 * @returns {number} the key from that phase on, its first byte in the lowest eight bits
 * @throws {TypeError | RangeError} if either is not valid
 */
function readKey(key, phase) {
  checkBytes('key', key);
  if (lengthOf(key) !== 4) refuseKey(key);
  const number = (key[0] | (key[1] << 8) | (key[2] << 16) | (key[3] << 24)) >>> 0;
  return phase === undefined ? number : readPhase(number, phase);
}

/**
 * @param {Uint8Array} key
 * @throws {RangeError}
 */
function refuseKey(key) {
  throw outOfRange('key', '4 bytes long', `${lengthOf(key)} bytes long`);
}

/**
 * @param {number} key
 * @param {*} phase
 * @returns {number} the key from that phase on
 * @throws {TypeError | RangeError} if the phase is not valid
 */
function readPhase(key, phase) {
  checkSize('phase', phase, 3);
  return advanceKey(key, phase);
}

/**
 * @param {string} name
 * @param {*} value
 * @param {number} max
 * @throws {TypeError} if the value is not a number
 * @throws {RangeError} if it is not a whole number from 0 to `max`
 */
function checkSize(name, value, max) {
  const valid = typeof value === 'number' && value >= 0 && value <= max && Math.floor(value) === value;
  if (!valid) refuseSize(name, value, max);
}

/**
 * @param {string} name
 * @param {*} value
 * @param {number} max
 * @throws {TypeError | RangeError}
 */
function refuseSize(name, value, max) {
  if (typeof value !== 'number') throw invalidType(name, 'a number', value);
  throw outOfRange(name, `a whole number from 0 to ${max}`, value);
}

/**
 * Creates `mask` and `unmask` over a backend.
 *
 * @param {import('./backend').Backend} backend
 * @returns {{ mask: Function, unmask: Function }}
 */
function createMasking({ maskRange, unmaskRange }) {
  /**
   * Masks or unmasks the first `length` bytes of `source` with `key` (both are the same operation,
   * RFC 6455 section 5.3) and writes them to `output` from `offset` on. `source` changes only if it
   * shares memory with `output`: they may overlap in any way, and the result is as if `source` had
   * been copied first. To mask a payload in pieces, pass the phase that the previous call returned.
   *
   * @param {Uint8Array} source the bytes to mask, in any kind of memory and at any alignment
   * @param {Uint8Array} key the masking key, 4 bytes
   * @param {Uint8Array} output where the result is written
   * @param {number} offset the index in `output` of the first byte written
   * @param {number} length the number of bytes
   * @param {number} [phase=0] the index in the key, 0 to 3, for the first byte
   * @returns {number} the phase for the byte after the last: (phase + length) modulo 4
   * @throws {TypeError} if an argument is missing or of the wrong type, or its memory is detached
   * @throws {RangeError} if the key is not 4 bytes, `phase` is not 0 to 3, or the range is not
   *   inside `source` and `output`; nothing is written
   */
  function mask(source, key, output, offset, length, phase) {
    checkBytes('source', source);
    checkBytes('output', output);
    const keyWord = readKey(key, phase);
    checkSize('length', length, Math.min(lengthOf(source), lengthOf(output)));
    checkSize('offset', offset, lengthOf(output) - length);
    maskRange(source, 0, output, offset, length, keyWord);
    return phase === undefined ? length & 3 : (phase + length) & 3;
  }

  /**
   * Masks or unmasks all of `buffer` in place (RFC 6455 section 5.3). To unmask a payload in
   * pieces, pass the phase that the previous call returned.
   *
   * @param {Uint8Array} buffer the bytes to unmask, in any kind of memory and at any alignment
   * @param {Uint8Array} key the masking key, 4 bytes
   * @param {number} [phase=0] the index in the key, 0 to 3, for the first byte
   * @returns {number} the phase for the byte after the last: (phase + buffer.length) modulo 4
   * @throws {TypeError} if an argument is missing or of the wrong type, or its memory is detached
   * @throws {RangeError} if the key is not 4 bytes or `phase` is not 0 to 3; nothing is written
   */
  function unmask(buffer, key, phase) {
    checkBytes('buffer', buffer);
    const keyWord = readKey(key, phase);
    const length = lengthOf(buffer);
    unmaskRange(buffer, 0, length, keyWord);
    return phase === undefined ? length & 3 : (phase + length) & 3;
  }

  return { mask, unmask };
}

module.exports = { createMasking };
