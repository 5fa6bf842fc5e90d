'use strict';

const { randomInt } = require('node:crypto');

/**
 * Numbers from 0 to 2^32 - 1 that a seed determines (Mulberry32), so that a failure can be
 * repeated.
 *
 * @param {number} seed
 * @returns {(below: number) => number} whole numbers from 0 to below its argument
 */
function createRandom(seed) {
  let state = seed;
  return function random(below) {
    state = (state + 0x6d2b79f5) | 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) % below;
  };
}

/**
 * The seed of random tests, another one in each run. A failure names it; FRAMEMASK_TEST_SEED sets
 * it.
 */
const seed = Number(process.env.FRAMEMASK_TEST_SEED ?? randomInt(2 ** 32));

module.exports = { createRandom, seed };
