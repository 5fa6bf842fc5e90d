'use strict';

const { TOP_BITS, alignedFrom, unmaskBytes, unmaskWords, wordsOf } = require('../masking/fallback');
const { LENGTH, MASK, MODE_MASKED, NON_ASCII, OPCODE, Opcode, acceptsFirstByte } = require('../shared/protocol');

/** A frame from so many bytes on is unmasked by words, of which one view serves the whole chunk. */
const WORDS_FROM = 40;

/**
 * The scan of src/scan.cc in JavaScript: finds the frames that lie in a chunk as a whole, unmasks their payloads in
 * place, and notes three numbers for each in a table: its first byte, with NON_ASCII set if the payload of a text or
 * continuation frame has a byte of 128 or more; the index of the first byte of its payload; and that after the last.
 *
 * It stops, having changed nothing of it, at the first frame that is not complete, or whose header alone breaks a rule
 * of RFC 6455 section 5, and after a Close frame.
 *
 * @param {Uint8Array} chunk
 * @param {number} start where the first frame begins
 * @param {number} mode MODE_MASKED and MODE_RSV1 of lib/shared/protocol.js
 * @param {Uint32Array} table
 * @returns {number} how many frames are in the table
 */
function scanChunk(chunk, start, mode, table) {
  const maskBit = mode & MODE_MASKED;
  const keySize = maskBit === 0 ? 0 : 4;
  const capacity = Math.floor(table.length / 3);
  const base = alignedFrom(chunk, start);
  let words = null;
  let position = start;
  let count = 0;
  while (count < capacity && chunk.length - position >= 2) {
    const first = chunk[position];
    const second = chunk[position + 1];
    if (!acceptsFirstByte(first, mode) || (second & MASK) !== maskBit) break;

    let length = second & LENGTH;
    let payload = position + 2 + keySize;
    if (length > 125) {
      length = extendedLength(chunk, position, first);
      if (length === -1) break;
      payload += (second & LENGTH) === 126 ? 2 : 8;
    }
    const end = payload + length;
    if (end > chunk.length || end > 0xffffffff) break;

    const opcode = first & OPCODE;
    let seen = 0;
    if (maskBit !== 0) {
      const k = payload - 4;
      const key = chunk[k] | (chunk[k + 1] << 8) | (chunk[k + 2] << 16) | (chunk[k + 3] << 24);
      if (length < WORDS_FROM) {
        seen = unmaskBytes(chunk, payload, end, key);
      } else {
        words ??= wordsOf(chunk, base, chunk.length);
        seen = unmaskWords(chunk, payload, end, key, words, base);
      }
    } else if (opcode <= Opcode.TEXT) {
      seen = bitsIn(chunk, payload, end);
    }
    const row = count * 3;
    table[row] = opcode <= Opcode.TEXT && (seen & TOP_BITS) !== 0 ? first | NON_ASCII : first;
    table[row + 1] = payload;
    table[row + 2] = end;
    count++;
    position = end;
    if (opcode === Opcode.CLOSE) break;
  }
  return count;
}

/**
 * The length that follows 126 or 127 in a header.
 *
 * @param {Uint8Array} chunk
 * @param {number} position where the frame begins
 * @param {number} first its first byte
 * @returns {number} -1 if it is not all there, or breaks a rule (sections 5.2 and 5.5)
 */
function extendedLength(chunk, position, first) {
  if ((first & OPCODE) >= Opcode.CLOSE) return -1;
  const p = position + 2;
  if ((chunk[position + 1] & LENGTH) === 126) {
    if (p + 2 > chunk.length) return -1;
    const length = (chunk[p] << 8) | chunk[p + 1];
    return length < 126 ? -1 : length;
  }
  if (p + 8 > chunk.length) return -1;
  const high = chunk[p] * 0x1000000 + ((chunk[p + 1] << 16) | (chunk[p + 2] << 8) | chunk[p + 3]);
  const low = chunk[p + 4] * 0x1000000 + ((chunk[p + 5] << 16) | (chunk[p + 6] << 8) | chunk[p + 7]);
  const length = high * 0x100000000 + low;
  return length < 65536 ? -1 : length;
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} end
 * @returns {number} the bytes from `start` to `end`, in one OR; not all of them if one is no ASCII
 */
function bitsIn(bytes, start, end) {
  let seen = 0;
  let i = start;
  for (const last = end - 4; i <= last && seen < 128; i += 4) {
    seen |= bytes[i] | bytes[i + 1] | bytes[i + 2] | bytes[i + 3];
  }
  for (; i < end; i++) seen |= bytes[i];
  return seen;
}

module.exports = { scanChunk };
