'use strict';

/**
 * The masking of src/ in JavaScript, for where the addon can't load and for what is too small to cross into it.
 * Nothing is checked here: whoever calls has done so.
 *
 * A key is a number: the key's first byte in the lowest eight bits.
 */

// From this many bytes on, a view of 32-bit words repays its making: from 88 bytes on with Node 24 and 26, from 96 with
// Node 22, from 125 with Node 20.
const WORDS_FROM = 96;

/** The bit of each byte of a word that ASCII does not have. */
const TOP_BITS = 0x80808080 | 0;

// One word in this machine's byte order, and its bytes.
const scratch = new Int32Array(1);
const scratchBytes = new Uint8Array(scratch.buffer);

/**
 * The key for a payload that starts `bytes` later.
 *
 * @param {number} key
 * @param {number} bytes any whole number; only its lowest two bits count
 * @returns {number} an unsigned 32-bit number
 */
function advanceKey(key, bytes) {
  const shift = (bytes & 3) << 3;
  return ((key >>> shift) | (key << (32 - shift))) >>> 0;
}

/**
 * Masks `buffer[start]` to `buffer[end - 1]` in place, a byte at a time.
 *
 * @param {Uint8Array} buffer
 * @param {number} start
 * @param {number} end
 * @param {number} key the key for the byte at `start`
 * @returns {number} all that it has written, in one OR
 */
function unmaskBytes(buffer, start, end, key) {
  const k1 = key >>> 8;
  const k2 = key >>> 16;
  const k3 = key >>> 24;
  let seen = 0;
  let i = start;
  // Four a turn: twice as fast as one with `key[i & 3]`. Eight would spare a nanosecond for 32 bytes, but be too much for
  // V8 to compile into what calls it, which costs five.
  for (const last = end - 4; i <= last; i += 4) {
    seen |= buffer[i] ^= key;
    seen |= buffer[i + 1] ^= k1;
    seen |= buffer[i + 2] ^= k2;
    seen |= buffer[i + 3] ^= k3;
  }
  for (let rest = key; i < end; i++) {
    seen |= buffer[i] ^= rest;
    rest >>>= 8;
  }
  return seen & 255;
}

/**
 * Masks `buffer[start]` to `buffer[end - 1]` in place, most of it four bytes at a time.
 *
 * @param {Uint8Array} buffer
 * @param {number} start
 * @param {number} end at least 8 more than `start`
 * @param {number} key the key for the byte at `start`
 * @param {Int32Array} words of the same memory
 * @param {number} base where in `buffer` the words begin; a multiple of four bytes before or behind `start`, if not at it
 * @returns {number} all that it has written, in one OR of words and bytes
 */
function unmaskWords(buffer, start, end, key, words, base) {
  const head = (base - start) & 3;
  const wordKey = advanceKey(key, head);
  const last = (end - base) >> 2;
  let seen = unmaskBytes(buffer, start, start + head, key) | unmaskBytes(buffer, base + last * 4, end, wordKey);

  scratchBytes[0] = wordKey;
  scratchBytes[1] = wordKey >>> 8;
  scratchBytes[2] = wordKey >>> 16;
  scratchBytes[3] = wordKey >>> 24;
  const k = scratch[0];
  let i = (start + head - base) >> 2;
  for (const stop = last - 8; i <= stop; i += 8) {
    seen |= words[i] ^= k;
    seen |= words[i + 1] ^= k;
    seen |= words[i + 2] ^= k;
    seen |= words[i + 3] ^= k;
    seen |= words[i + 4] ^= k;
    seen |= words[i + 5] ^= k;
    seen |= words[i + 6] ^= k;
    seen |= words[i + 7] ^= k;
  }
  for (; i < last; i++) seen |= words[i] ^= k;
  return seen;
}

/**
 * Where the first word of `buffer` begins, if not before `start`.
 *
 * @param {Uint8Array} buffer
 * @param {number} start
 * @returns {number}
 */
function alignedFrom(buffer, start) {
  return start + (-(buffer.byteOffset + start) & 3);
}

/**
 * @param {Uint8Array} buffer
 * @param {number} base what `alignedFrom` gives
 * @param {number} end
 * @returns {Int32Array} the words from `base` to `end`
 */
function wordsOf(buffer, base, end) {
  return new Int32Array(buffer.buffer, buffer.byteOffset + base, (end - base) >> 2);
}

/**
 * Masks `length` bytes of `buffer` from `start` in place.
 *
 * @param {Uint8Array} buffer
 * @param {number} start
 * @param {number} length
 * @param {number} key the key for the byte at `start`
 * @returns {boolean} whether all that it has written is ASCII
 */
function unmaskRange(buffer, start, length, key) {
  const end = start + length;
  if (length < WORDS_FROM) return (unmaskBytes(buffer, start, end, key) & 0x80) === 0;
  const base = alignedFrom(buffer, start);
  return (unmaskWords(buffer, start, end, key, wordsOf(buffer, base, end), base) & TOP_BITS) === 0;
}

/**
 * Masks `length` bytes of `source` from `start` on into `output` from `offset` on. The two may overlap in any way:
 * TypedArray.prototype.set moves bytes as memmove does, whatever memory the two are views of.
 *
 * @param {Uint8Array} source
 * @param {number} start
 * @param {Uint8Array} output
 * @param {number} offset
 * @param {number} length
 * @param {number} key the key for the byte at `start`
 * @returns {boolean} true only if all that it has written is ASCII; false, too, where nobody has looked
 */
function maskRange(source, start, output, offset, length, key) {
  // Nothing to do, and a view that its memory no longer holds is one that set() refuses.
  if (length === 0) return true;
  // Not by subarray(), which would ask the class of `source` to make the view.
  const range = source.length === length ? source : new Uint8Array(source.buffer, source.byteOffset + start, length);
  output.set(range, offset);
  // A key of zero, the client's side of a connection has it, changes nothing.
  return key !== 0 && unmaskRange(output, offset, length, key);
}

/**
 * Masks `length` bytes of `source` from `start` on into `output` from `offset` on, where they share no memory: for a few
 * bytes at a time, which even a call of TypedArray.prototype.set would outweigh.
 *
 * @param {Uint8Array} source
 * @param {number} start
 * @param {Uint8Array} output
 * @param {number} offset
 * @param {number} length
 * @param {number} key the key for the byte at `start`
 * @returns {boolean} whether all that it has written is ASCII
 */
function copyMasked(source, start, output, offset, length, key) {
  let seen = 0;
  for (let i = 0; i < length; i++) seen |= output[offset + i] = source[start + i] ^ (key >>> ((i & 3) << 3));
  return (seen & 0x80) === 0;
}

module.exports = {
  TOP_BITS,
  advanceKey,
  alignedFrom,
  copyMasked,
  maskRange,
  unmaskBytes,
  unmaskRange,
  unmaskWords,
  wordsOf
};
