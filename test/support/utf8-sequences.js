'use strict';

// Run by test/codec/utf8.js in a process of its own: completeUntil for every sequence of one, two
// and three bytes, in one piece and cut anywhere. In a sample the third byte is the first or the
// last of a range that RFC 3629 tells apart. Throws if a result is wrong; prints how many sequences
// were good, incomplete and bad.

const { completeUntil } = require('../../lib/shared/utf8');
const { TRIES_ALL } = require('./sample');

const EDGES = Buffer.from('007f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff', 'hex');
const THIRD_BYTES = TRIES_ALL ? [...Array(256).keys()] : [...EDGES];

/** @returns {boolean} whether the bytes are UTF-8, or with `stream` the beginning of it */
function isUtf8(bytes, stream) {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream });
    return true;
  } catch {
    return false;
  }
}

/**
 * What completeUntil is to return, by a strict TextDecoder.
 *
 * @param {Uint8Array} bytes
 * @returns {number} the end of the last whole character; -1 if no more bytes can make the bytes
 *   good
 */
function expectedFor(bytes) {
  if (!isUtf8(bytes, true)) return -1;
  for (let end = bytes.length; end >= 0; end--) if (isUtf8(bytes.subarray(0, end), false)) return end;
}

function checkAll() {
  const bytes = Buffer.alloc(3);
  const counts = { good: 0, incomplete: 0, bad: 0 };
  const check = (start, end, expected) => {
    const actual = completeUntil(bytes, start, end);
    if (actual !== expected) {
      throw new Error(`${bytes.toString('hex', 0, end)} from byte ${start} on: ${actual}, not ${expected}`);
    }
    if (start > 0) return;
    if (expected === -1) counts.bad++;
    else if (expected === end) counts.good++;
    else counts.incomplete++;
  };
  const moved = (result, by) => (result === -1 ? -1 : result + by);

  // What is expected of one byte, of two, and of three. After a whole character the rest counts
  // alone, and what is bad stays bad: few sequences are left for a TextDecoder, which is slow.
  const ones = Array.from({ length: 256 }, (_, a) => expectedFor(Buffer.from([a])));
  const twos = new Int8Array(65536);
  for (let pair = 0; pair < 65536; pair++) {
    const one = ones[pair >> 8];
    if (one === 1) twos[pair] = moved(ones[pair & 255], 1);
    else twos[pair] = one === -1 ? -1 : expectedFor(Buffer.from([pair >> 8, pair & 255]));
  }
  const expectedOfThree = (pair) => {
    if (ones[pair >> 8] === 1) return moved(twos[((pair & 255) << 8) | bytes[2]], 1);
    if (twos[pair] === 2) return moved(ones[bytes[2]], 2);
    return twos[pair] === -1 ? -1 : expectedFor(bytes);
  };

  for (let a = 0; a < 256; a++) {
    bytes[0] = a;
    const one = ones[a];
    check(0, 1, one);
    for (let b = 0; b < 256; b++) {
      bytes[1] = b;
      const two = twos[(a << 8) | b];
      check(0, 2, two);
      if (one > 0) check(one, 2, two);
      for (const c of THIRD_BYTES) {
        bytes[2] = c;
        const three = expectedOfThree((a << 8) | b);
        check(0, 3, three);
        if (one > 0) check(one, 3, three);
        if (two > 0 && two !== one) check(two, 3, three);
      }
    }
  }
  return counts;
}

if (require.main === module) console.log(JSON.stringify(checkAll()));

module.exports = { THIRD_BYTES, expectedFor };
