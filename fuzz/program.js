'use strict';

// What the fuzzers encoders.js and handlers.js share: options, a live count, and the report of a
// finding.

const { parseArgs } = require('node:util');
const { createRandom } = require('../test/support/random');

/** What a fuzzer throws when the code under test is wrong; its message says what. */
class Finding extends Error {}

/**
 * @typedef {(below: number) => number} Random whole numbers from 0 to below its argument
 *
 * @typedef {object} Summary
 * @property {number} rounds how many rounds ran
 * @property {Object<string, number>} counts what they did, as the rounds counted it
 */

/**
 * Runs rounds, each from a seed of its own, so that it can be repeated alone.
 *
 * @param {(random: Random, counts: Object<string, number>) => void | Promise<void>} round throws a
 *   Finding
 * @param {object} settings
 * @param {number} settings.seed
 * @param {number} [settings.from] the number of the first round
 * @param {number} [settings.rounds]
 * @param {number} [settings.seconds] after which no round begins
 * @param {(done: number) => void} [settings.progress] called after each 64 rounds
 * @returns {Promise<Summary>}
 * @throws {Finding} the first one, with the seed and the number of its round
 */
async function runRounds(round, { seed, from = 0, rounds = Infinity, seconds = Infinity, progress = () => {} }) {
  const counts = {};
  const until = Date.now() + seconds * 1000;
  let i = from;
  for (; i < from + rounds; i++) {
    if ((i & 63) === 0 && i !== from) {
      progress(i - from);
      if (Date.now() >= until) break;
    }
    try {
      const pending = round(createRandom((seed + Math.imul(i, 0x9e3779b9)) | 0), counts);
      if (pending !== undefined) await pending;
    } catch (error) {
      // Whatever else is thrown is a finding, too: the rounds catch what they expect.
      throw new Finding(`seed ${seed}, round ${i}: ${error instanceof Finding ? error.message : error.stack}`);
    }
  }
  return { rounds: i - from, counts };
}

const OPTIONS = `
  --rounds <n>    number of rounds (default: no end)
  --seconds <n>   begin no round after that time (default: 60, or no end with --rounds)
  --seed <n>      determines the rounds (default: another one in each run)
  --from <n>      number of the first round; with --rounds 1, repeats that round
  --help          print this

The exit code is 0 without a finding, 1 at the first finding, which is printed with its seed and round, and 2 if the
options are wrong.`;

/**
 * The main program of a fuzzer. Sets `process.exitCode`.
 *
 * @param {string} name of its file
 * @param {string} purpose what it does, for --help
 * @param {Parameters<typeof runRounds>[0]} round
 */
async function runProgram(name, purpose, round) {
  const usage = `Usage: node fuzz/${name} [options]\n\n${purpose}\n${OPTIONS}`;
  const number = { type: 'string' };
  const settings = { seed: Math.floor(Math.random() * 2 ** 32) };
  try {
    const options = { rounds: number, seconds: number, seed: number, from: number, help: { type: 'boolean' } };
    const { help, ...values } = parseArgs({ options }).values;
    if (help) {
      console.log(usage);
      return;
    }
    for (const [key, value] of Object.entries(values)) {
      settings[key] = Number(value);
      if (!(value !== '' && settings[key] >= 0)) throw new Error(`--${key} must be a number, but was '${value}'`);
    }
    if (settings.rounds === undefined) settings.seconds ??= 60;
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
    return;
  }

  const begun = Date.now();
  const perSecond = (done) => Math.round(done / Math.max((Date.now() - begun) / 1000, 0.001));
  let shown = begun;
  const progress = (done) => {
    if (Date.now() - shown < 5000) return;
    shown = Date.now();
    console.error(`${done} rounds, ${perSecond(done)} a second`);
  };
  console.error(`seed ${settings.seed}`);
  try {
    const { rounds, counts } = await runRounds(round, { ...settings, progress });
    console.log(`${rounds} rounds, ${perSecond(rounds)} a second`);
    for (const [key, count] of Object.entries(counts).sort(([, a], [, b]) => b - a)) console.log(`  ${key}: ${count}`);
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    console.error(`${error.message}\nRepeat it: node fuzz/${name} --seed ${settings.seed} --rounds 1 --from <round>`);
    process.exitCode = 1;
  }
}

module.exports = { Finding, runProgram, runRounds };
