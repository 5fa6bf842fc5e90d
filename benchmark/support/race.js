'use strict';

const { setImmediate } = require('node:timers/promises');

/** @typedef {Record<string, number>} Figures of a turn; comparisons take the first one */

/** @returns {[number, number, number]} the first quartile, the median and the third quartile */
function quartiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.25, 0.5, 0.75].map((share) => {
    const position = share * (sorted.length - 1);
    const below = Math.floor(position);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
  });
}

const median = (values) => quartiles(values)[1];

/**
 * Each candidate has one turn in each round, so that whatever else the machine does affects all
 * alike. The order is reversed in every second round: caches and clock rate depend on the candidate
 * before. One more round, before the others, warms up.
 */
async function takeTurns(candidates, rounds) {
  const names = Object.keys(candidates);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figures = await candidates[name]();
      if (round >= 0) turns[name].push(figures);
    }
  }
  return turns;
}

/** Turns until V8 has compiled the code: ws's Sender takes 600 ns a message before, 75 after. */
const WARM_UP = 20;

/**
 * Makes candidates of loops that do the same work `calls` times: mitata's loop is compiled anew for
 * each turn. mitata times a turn of `turn` milliseconds, and its median counts. A call has `count`
 * messages.
 */
function timed(loops, { turn, count = 1 }) {
  // How many calls make a sample, if a turn is to have about forty samples.
  const sample = (ns) => Math.max(1, Math.round((turn * 1e6) / 40 / ns));
  const candidate = (repeat) => {
    let calls = null;
    return async () => {
      if (calls === null) {
        await warmUp(repeat, turn * WARM_UP);
        calls = sample(await time(repeat, 1, turn));
        calls = sample(await time(repeat, calls, turn));
      }
      return { ns: (await time(repeat, calls, turn)) / count };
    };
  };
  return Object.fromEntries(Object.entries(loops).map(([name, repeat]) => [name, candidate(repeat)]));
}

async function warmUp(repeat, milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    await repeat(1);
    // V8 compiles on another thread, and installs the code between tasks.
    await setImmediate();
  }
}

/** @returns {Promise<number>} nanoseconds a call */
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
 * Copies a function, so that no two candidates share V8's type feedback. Functions that the copy
 * creates share none with those of another copy either.
 */
function fresh(original) {
  return new Function(`return (${original})`)();
}

module.exports = { fresh, median, quartiles, takeTurns, timed };
