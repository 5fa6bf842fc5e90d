'use strict';

const { quartiles } = require('./statistics');

/**
 * Times candidates that do the same work, by turns: each has one turn in each round, so that
 * whatever else the machine does affects all alike. mitata times a turn, and its median counts.
 *
 * @param {Record<string, (calls: number) => void>} candidates each does its work `calls` times, in
 *   a loop of its own: mitata's loop is compiled anew for each turn
 * @param {{ rounds: number, turn: number }} options `turn` is the length of a turn in milliseconds
 * @returns {Promise<Record<string, number[]>>} nanoseconds a call in each round, by candidate
 */
async function race(candidates, { rounds, turn }) {
  const runners = [];
  for (const [name, repeat] of Object.entries(candidates)) {
    // The first turns warm up the candidate, and find how many calls make a sample.
    const calls = callsASample(turn, await time(repeat, 1, turn));
    runners.push({ name, repeat, calls: callsASample(turn, await time(repeat, calls, turn)), turns: [] });
  }
  for (let round = 0; round < rounds; round++) {
    // Reversed in every second round: caches and clock rate depend on the candidate before.
    const order = round % 2 === 0 ? runners : runners.toReversed();
    for (const { repeat, calls, turns } of order) turns.push(await time(repeat, calls, turn));
  }
  return Object.fromEntries(runners.map(({ name, turns }) => [name, turns]));
}

/**
 * @param {(calls: number) => void} repeat
 * @param {number} calls in one sample
 * @param {number} turn in milliseconds
 * @returns {Promise<number>} nanoseconds a call
 */
async function time(repeat, calls, turn) {
  const { measure } = await import('mitata');
  const { p50 } = await measure(() => repeat(calls), {
    // Otherwise mitata collects garbage before each turn, for which node needs a flag.
    gc: false,
    min_samples: 5,
    min_cpu_time: turn * 1e6,
    // mitata adds no loop around the one of `repeat`.
    warmup_threshold: 0
  });
  return p50 / calls;
}

/**
 * @param {number} turn in milliseconds
 * @param {number} ns nanoseconds a call
 * @returns {number} how many calls make a sample, if a turn is to have about forty samples
 */
function callsASample(turn, ns) {
  return Math.max(1, Math.round((turn * 1e6) / 40 / ns));
}

/**
 * How many times faster one candidate is than another, by the rounds.
 *
 * @param {number[]} own
 * @param {number[]} peer
 * @returns {[number, number, number]} quartiles; above 1 if `own` is the faster one
 */
function timesFaster(own, peer) {
  return quartiles(own.map((ns, round) => peer[round] / ns));
}

/**
 * What a race gave, for a row of a report.
 *
 * @param {Record<string, number[]>} turns by candidate, in nanoseconds
 * @param {[own: string, peer: string][]} pairs who is compared with whom
 * @param {number} [count] of messages in a call
 * @returns {Pick<import('./report').Row, 'candidates' | 'timesFaster'>} quartiles, `ns` a message
 */
function compareRace(turns, pairs, count = 1) {
  return {
    candidates: Object.fromEntries(
      Object.entries(turns).map(([who, values]) => [who, { ns: quartiles(values.map((ns) => ns / count)) }])
    ),
    timesFaster: pairs.map(([own, peer]) => ({ own, peer, times: timesFaster(turns[own], turns[peer]) }))
  };
}

/** @returns {number} the median of `timesFaster` */
function ratio(own, peer) {
  return timesFaster(own, peer)[1];
}

/**
 * Copies a function, so that no two candidates share V8's type feedback. Functions that the copy
 * creates share none with those of another copy either.
 *
 * @param {Function} original uses only its arguments and globals
 * @returns {Function}
 */
function fresh(original) {
  return new Function(`return (${original})`)();
}

module.exports = { compareRace, fresh, race, ratio, timesFaster };
