'use strict';

const { isUtf8 } = require('../shared/node-modules').buffer;

const { view } = require('../shared/buffers');

/**
 * How far a piece of text is good UTF-8 (RFC 3629), where more may follow that completes its last character. RFC 6455
 * section 8.1 lets an endpoint fail the connection as soon as a bad byte arrives, so this refuses what no byte to come
 * can mend, such as ED A0 or F4 90.
 *
 * @param {Buffer} bytes
 * @param {number} start where a character begins
 * @param {number} end
 * @returns {number} where the first incomplete character begins, `end` if there is none; -1 if the text is bad
 */
function completeUntil(bytes, start, end) {
  let from = start;
  // Short pieces are mostly ASCII, and then cost no call.
  while (from < end && end - from <= 16 && bytes[from] < 128) from++;
  if (from === end) return end;

  const boundary = lastBoundary(bytes, from, end);
  if (boundary === -1) return -1;
  if (boundary > from && !isUtf8(bytes.subarray(from, boundary))) return -1;
  return boundary;
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end more than `start`
 * @returns {number} where the character that `end` cuts begins, `end` if it cuts none; -1 if what is there of it is bad
 */
function lastBoundary(bytes, start, end) {
  let lead = end - 1;
  while (lead > start && lead > end - 4 && (bytes[lead] & 0xc0) === 0x80) lead--;
  const first = bytes[lead];
  const have = end - lead;
  const need = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // A whole character, or bytes that are none: those isUtf8 judges.
  if (have >= need) return end;
  return canBegin(first, have > 1 ? bytes[lead + 1] : -1) ? lead : -1;
}

/**
 * Whether bytes can begin a character (RFC 3629 section 4). Its third byte is like any other, once the second is right.
 *
 * @param {number} first a byte from 0xc0 on
 * @param {number} second a byte from 0x80 to 0xbf, or -1 if it is not there yet
 * @returns {boolean}
 */
function canBegin(first, second) {
  if (first < 0xc2 || first > 0xf4) return false;
  if (second === -1) return true;
  if (first === 0xe0) return second >= 0xa0;
  if (first === 0xed) return second < 0xa0;
  if (first === 0xf0) return second >= 0x90;
  if (first === 0xf4) return second < 0x90;
  return true;
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @param {boolean} ascii whether the bytes are known to be ASCII
 * @returns {string | undefined} the text; undefined if it is not UTF-8
 */
function decodeText(bytes, start, end, ascii) {
  if (ascii) return bytes.latin1Slice(start, end);
  const text = bytes.utf8Slice(start, end);
  // utf8Slice puts U+FFFD in place of bad bytes, but the text may contain U+FFFD itself. Looking for it is cheaper than
  // making a view for isUtf8.
  return text.includes('\ufffd') && !isUtf8(view(bytes, start, end)) ? undefined : text;
}

module.exports = { completeUntil, decodeText };
