'use strict';

// Checks of many frame ids: repeats, wrong bits, biased bits and wrong order.

const { frameId, parseFrameId } = require('../../lib/frame-id');

const SHAPES = {
  4: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  7: /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
};
const VERSION_7 = { version: 7 };
const MAX_SIGMA = 5;

/**
 * @param {number} count how many version 4 ids to make
 * @returns {{ malformed: number, repeats: number, freeBits: number, worstBit: number, worstSigma:
 *   number }} `freeBits` counts the bits that took both values. `worstBit` (0 is the first) is the
 *   random bit whose share of ones is farthest from one half, by `worstSigma` standard deviations.
 */
function checkRandom(count) {
  const bytes = Buffer.alloc(16 * count);
  let malformed = 0;
  for (let i = 0; i < count; i++) {
    const id = frameId();
    if (!SHAPES[4].test(id)) malformed++;
    parseFrameId(id, bytes, 16 * i);
  }
  return { malformed, repeats: countRepeats(bytes, count), ...weighBits(bytes, count) };
}

/**
 * @returns {number} how many ids have the first half of another one: 60 random bits, so that two of
 *   ten million are the same once in 20,000 runs
 */
function countRepeats(bytes, count) {
  const halves = new BigUint64Array(count);
  for (let i = 0; i < count; i++) halves[i] = bytes.readBigUInt64LE(16 * i);
  halves.sort();
  return halves.reduce((repeats, half, i) => (half === halves[i - 1] ? repeats + 1 : repeats), 0);
}

function weighBits(bytes, count) {
  const sigma = Math.sqrt(count) / 2;
  let freeBits = 0;
  let worstBit = -1;
  let worstSigma = 0;
  for (let at = 0; at < 16; at++) {
    const frequency = new Uint32Array(256);
    for (let i = at; i < bytes.length; i += 16) frequency[bytes[i]]++;
    for (let bit = 0; bit < 8; bit++) {
      const ones = frequency.reduce((sum, times, byte) => (byte & (0x80 >> bit) ? sum + times : sum), 0);
      if (ones !== 0 && ones !== count) freeBits++;
      // The 4 bits of the version and the 2 of the variant.
      if ((at === 6 && bit < 4) || (at === 8 && bit < 2)) continue;
      const off = Math.abs(ones - count / 2) / sigma;
      if (off > worstSigma) {
        worstSigma = off;
        worstBit = 8 * at + bit;
      }
    }
  }
  return { freeBits, worstBit, worstSigma };
}

/**
 * @param {number} count how many version 7 ids to make
 * @returns {{ malformed: number, disordered: number }} `disordered` counts ids that are not above
 *   their predecessor
 */
function checkOrdered(count) {
  let malformed = 0;
  let disordered = 0;
  let previous = frameId(VERSION_7);
  for (let i = 0; i < count; i++) {
    const id = frameId(VERSION_7);
    if (!SHAPES[7].test(id)) malformed++;
    if (!(id > previous)) disordered++;
    previous = id;
  }
  return { malformed, disordered };
}

/**
 * Runs `run` with another `Date.now`. It advances by 1 ms every 500 calls, steps back by up to an
 * hour every 30,000, and stops for the last tenth of the calls. With a `count` of some millions,
 * the counter of version 7 overflows there.
 *
 * @param {number} count the expected calls
 */
function withRestlessClock(count, run) {
  const { now } = Date;
  let time = now();
  let calls = 0;
  Date.now = () => {
    calls++;
    if (calls < 0.9 * count) {
      if (calls % 500 === 0) time += 1;
      if (calls % 30_000 === 0) time -= 1 + Math.floor(Math.random() * 3_600_000);
    }
    return time;
  };
  try {
    return run();
  } finally {
    Date.now = now;
  }
}

module.exports = { checkRandom, checkOrdered, withRestlessClock, MAX_SIGMA };
