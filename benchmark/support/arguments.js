'use strict';

const { parseArgs } = require('node:util');

/** What every benchmark takes. */
const COMMON = {
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false }
};

const COMMON_USAGE = `  --rounds <n>      how often each candidate has its turn; the median of its turns counts
  --quick           few and short rounds: to see that it works, not to quote
  --json            JSON to stdout, not a table
  --help            print this`;

/**
 * Reads the arguments of the program. A word that is none ends it with exit code 2, `--help` with 0.
 *
 * @param {string} usage what `--help` prints; `COMMON_USAGE` follows it
 * @param {import('node:util').ParseArgsConfig['options']} [options] those that only this program has
 * @returns {object} by name; `rounds` is a number, 9 or, with `--quick`, 3 unless it was given
 */
function readArguments(usage, options = {}) {
  try {
    const { values } = parseArgs({ options: { ...options, ...COMMON } });
    if (values.help) {
      console.log(`${usage}\n${COMMON_USAGE}`);
      process.exit(0);
    }
    return { ...values, rounds: readCount('rounds', values.rounds ?? (values.quick ? '3' : '9')) };
  } catch (error) {
    refuse(error);
  }
}

/**
 * Ends the program for a wrong argument.
 *
 * @param {Error} error
 */
function refuse(error) {
  console.error(`${error.message}\n--help shows what can be given`);
  process.exit(2);
}

/**
 * @param {string} name the option's
 * @param {string} text
 * @returns {number} a whole number from 1 on
 */
function readCount(name, text) {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new RangeError(`--${name} must be a whole number from 1 on, but was "${text}"`);
  return Number(text);
}

const UNITS = { '': 1, k: 1024, m: 1024 ** 2 };

/**
 * @param {string} name the option's
 * @param {string} text sizes in bytes, separated by commas; `k` and `m` stand for KiB and MiB
 * @returns {number[]}
 */
function readSizes(name, text) {
  return text.split(',').map((part) => {
    const match = /^(\d{1,9})([km]?)$/i.exec(part.trim());
    if (match === null) throw new RangeError(`--${name} takes sizes such as 125,4k,1m, but was "${text}"`);
    return Number(match[1]) * UNITS[match[2].toLowerCase()];
  });
}

module.exports = { readArguments, readCount, readSizes, refuse };
