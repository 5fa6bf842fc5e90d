'use strict';

const { median } = require('./statistics');

/**
 * Times candidates that do the same work, by turns: in each round each of them has one turn, so that whatever else the
 * machine does meets all alike. mitata times a turn; the median of its samples is what the turn took.
 *
 * @param {Record<string, (calls: number) => void>} candidates each does its work so many times. The loop is theirs, so
 *   that it is compiled once and for all: mitata makes its own anew for each turn
 * @param {{ rounds: number, turn: number }} options how many rounds, and about how many milliseconds a turn takes
 * @returns {Promise<Record<string, number[]>>} for each candidate the nanoseconds of a call in each round
 */
async function race(candidates, { rounds, turn }) {
  const runners = [];
  for (const [name, repeat] of Object.entries(candidates)) {
    // Compiled and in the caches before it counts; and how many calls make a sample of a good length.
    const calls = callsASample(turn, await time(repeat, 1, turn));
    runners.push({ name, repeat, calls: callsASample(turn, await time(repeat, calls, turn)), turns: [] });
  }
  for (let round = 0; round < rounds; round++) {
    // Nobody always comes after the same one, which might leave the caches, or the clock rate, better or worse.
    const order = round % 2 === 0 ? runners : runners.toReversed();
    for (const { repeat, calls, turns } of order) turns.push(await time(repeat, calls, turn));
  }
  return Object.fromEntries(runners.map(({ name, turns }) => [name, turns]));
}

/**
 * @param {(calls: number) => void} repeat
 * @param {number} calls in one sample
 * @param {number} turn in milliseconds
 * @returns {Promise<number>} the nanoseconds that a call takes
 */
async function time(repeat, calls, turn) {
  const { measure } = await import('mitata');
  const { p50 } = await measure(() => repeat(calls), {
    // Without, it would collect all garbage before each turn, for which node needs a flag.
    gc: false,
    min_samples: 5,
    min_cpu_time: turn * 1e6,
    // No loop of mitata's around the one that `repeat` has.
    warmup_threshold: 0
  });
  return p50 / calls;
}

/**
 * @param {number} turn in milliseconds
 * @param {number} ns what one call takes
 * @returns {number} so many that a turn has about forty samples
 */
function callsASample(turn, ns) {
  return Math.max(1, Math.round((turn * 1e6) / 40 / ns));
}

/**
 * How many times faster one is than another, by pairs of turns of the same round.
 *
 * @param {number[]} own
 * @param {number[]} peer
 * @returns {number} above 1 if `own` is the faster one
 */
function ratio(own, peer) {
  return median(own.map((ns, round) => peer[round] / ns));
}

/**
 * A copy of a function that shares no type feedback with the others made from the same text: what V8 has learnt from one
 * candidate must not slow the next.
 *
 * @param {Function} original uses nothing but its arguments and globals
 * @returns {Function}
 */
function fresh(original) {
  return new Function(`return (${original})`)();
}

module.exports = { fresh, race, ratio };
