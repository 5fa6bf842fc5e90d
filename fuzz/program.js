'use strict';

// The main program of the fuzzers in JavaScript: options, rounds, a live count, and the report of a
// finding.

const { parseArgs } = require('node:util');
const { createRandom } = require('../test/support/random');

/** Thrown by a fuzzer when the code under test is wrong. The message describes it. */
class Finding extends Error {}

/**
 * @typedef {(below: number) => number} Random whole numbers from 0 to below its argument
 * @typedef {(random: Random, count: (what: string) => void) => void | Promise<void>} Round throws
 *   a Finding
 */

/** Replaces Buffers in `JSON.stringify` by their lengths and first bytes. */
const shorten = (_key, value) =>
  value?.type === 'Buffer' ? `${value.data.length} bytes: ${Buffer.from(value.data).toString('hex', 0, 300)}` : value;

/** @returns {string} settings of a round, for the message of a Finding */
const show = (settings) => JSON.stringify(settings, shorten);

/** The numbers of a round, which a seed determines, so that it can be repeated alone. */
const randomOf = (seed, number) => createRandom((seed + Math.imul(number, 0x9e3779b9)) | 0);

/**
 * @param {Round} round
 * @param {object} settings the options of `runProgram`; `together`: how many rounds run at a time;
 *   and `progress`, which is called before each batch
 * @returns {Promise<{ rounds: number, counts: Record<string, number> }>} `counts` of `count`
 * @throws {Finding} the first one, with the seed and the number of its round
 */
async function runRounds(round, settings) {
  const { seed, from = 0, rounds = Infinity, seconds = Infinity, together = 1, progress = () => {} } = settings;
  const counts = {};
  const count = (what) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const run = async (number) => {
    try {
      await round(randomOf(seed, number), count);
    } catch (error) {
      // Rounds catch the errors that they expect.
      const text = error instanceof Finding ? error.message : error.stack;
      throw Object.assign(new Finding(`seed ${seed}, round ${number}: ${text}`), { round: number });
    }
  };
  const until = performance.now() + seconds * 1000;
  let done = 0;
  while (done < rounds && performance.now() < until) {
    progress(done);
    const batch = Array.from({ length: Math.min(together, rounds - done) }, (_, i) => run(from + done + i));
    const failed = (await Promise.allSettled(batch)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    done += batch.length;
  }
  return { rounds: done, counts };
}

/**
 * Makes a finding smaller: removes drawn numbers, or replaces them by 0, while it stays a finding.
 *
 * @returns {Promise<Error | null>} null if it does not come again
 */
async function minimise(round, random) {
  const attempt = async (draw) => {
    try {
      await round(draw, () => {});
      return null;
    } catch (error) {
      return error;
    }
  };
  const replay = (draws) => {
    let at = 0;
    return attempt((below) => (at < draws.length ? draws[at++] % below : 0));
  };
  let draws = [];
  let smallest = await attempt((below) => {
    draws.push(random(below));
    return draws.at(-1);
  });
  for (let size = draws.length; smallest !== null && size > 0; size >>= 1) {
    for (let at = 0; at < draws.length; at += size) {
      for (const smaller of [draws.toSpliced(at, size), draws.slice().fill(0, at, at + size)]) {
        if (smaller.length === draws.length && draws.slice(at, at + size).every((draw) => draw === 0)) continue;
        const error = await replay(smaller);
        if (error === null) continue;
        [smallest, draws] = [error, smaller];
        break;
      }
    }
  }
  return smallest;
}

/**
 * @param {string} usage printed for --help and after an error
 * @param {Record<string, { type: string }>} flags besides --help; those that are strings are
 *   numbers
 * @param {(positionals: string[]) => void} [check] of arguments that are no flags; throws
 * @returns {Record<string, any> | null} null if the program ends: `process.exitCode` is set
 */
function readOptions(usage, flags, check) {
  try {
    const options = { ...flags, help: { type: 'boolean' } };
    const { values, positionals } = parseArgs({ options, allowPositionals: check !== undefined });
    if (values.help) {
      console.log(usage);
      return null;
    }
    check?.(positionals);
    for (const [name, value] of Object.entries(values)) {
      if (typeof value !== 'string') continue;
      values[name] = Number(value);
      if (!(value !== '' && values[name] >= 0)) throw new Error(`--${name} must be a number, but was '${value}'`);
    }
    return { ...values, positionals };
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
    return null;
  }
}

const OPTIONS = `
  --rounds <n>    number of rounds (default: no end)
  --seconds <n>   begin no round after that time (default: 60, or no end with --rounds)
  --seed <n>      determines the rounds (default: another one in each run)
  --from <n>      number of the first round; with --rounds 1, repeats that round
  --minimise      make the round of a finding smaller, and print it, too
  --help          print this

The exit code is 0 without a finding, 1 at the first finding, which is printed with its seed and round, and 2 if the
options are wrong.`;

/** The main program of a fuzzer, which runs so many rounds at a time. Sets `process.exitCode`. */
async function runProgram(name, purpose, round, together = 1) {
  const number = { type: 'string' };
  const flags = { rounds: number, seconds: number, seed: number, from: number, minimise: { type: 'boolean' } };
  const options = readOptions(`Usage: node fuzz/${name} [options]\n\n${purpose}\n${OPTIONS}`, flags);
  if (options === null) return;
  const {
    seed = Math.floor(Math.random() * 2 ** 32),
    rounds,
    seconds = rounds === undefined ? 60 : Infinity
  } = options;

  const begun = performance.now();
  const rate = (done) => `${done} rounds, ${Math.round((done * 1000) / (performance.now() - begun))} a second`;
  let shown = begun;
  const progress = (done) => {
    if (performance.now() - shown < 5000) return;
    shown = performance.now();
    console.error(rate(done));
  };
  console.error(`seed ${seed}`);
  try {
    const { rounds: done, counts } = await runRounds(round, { ...options, seed, seconds, together, progress });
    console.log(rate(done));
    for (const [what, count] of Object.entries(counts).sort(([, a], [, b]) => b - a))
      console.log(`  ${what}: ${count}`);
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    console.error(`${error.message}\nRepeat it: node fuzz/${name} --seed ${seed} --from ${error.round} --rounds 1`);
    if (options.minimise) {
      const smaller = await minimise(round, randomOf(seed, error.round));
      console.error(`\nMinimised: ${smaller?.message ?? 'it did not come again'}`);
    }
    process.exitCode = 1;
  }
}

module.exports = { Finding, minimise, readOptions, runProgram, runRounds, show };
