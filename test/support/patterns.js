'use strict';

/**
 * Compares a part of a long message, which repeats a pattern, and begins at byte `from` of it.
 *
 * @param {Buffer} pattern
 * @param {Buffer} part
 * @returns {number} the length of all parts so far
 * @throws {Error} if the part is not the pattern
 */
function checkPattern(pattern, part, from) {
  for (let at = 0; at < part.length; ) {
    const start = (from + at) % pattern.length;
    const length = Math.min(part.length - at, pattern.length - start);
    if (pattern.compare(part, at, at + length, start, start + length) !== 0)
      throw new Error(`byte ${from + at} is wrong`);
    at += length;
  }
  return from + part.length;
}

module.exports = { checkPattern };
