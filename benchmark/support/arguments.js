'use strict';

const { parseArgs } = require('node:util');

/** The options of every benchmark. */
const COMMON = {
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  help: { type: 'boolean', default: false }
};

const COMMON_USAGE = `  --rounds <n>      how many turns each candidate has; the median counts (default 9)
  --quick           few and short turns: shows that the program works, not what to quote
  --json <file>     also write the results to a file, as JSON
  --help            print this`;

/**
 * Reads the arguments of the program. A wrong one ends it with exit code 2, `--help` with 0.
 *
 * @param {string} usage what `--help` prints before `COMMON_USAGE`
 * @param {import('node:util').ParseArgsConfig['options']} [options] of this program alone
 * @param {boolean} [allowPositionals] true for a program that takes more than options
 * @returns {object} the options by name, and `positionals`. `rounds` is a number; its default is 9,
 *   or 3 with `--quick`
 */
function readArguments(usage, options = {}, allowPositionals = false) {
  try {
    const { values, positionals } = parseArgs({ options: { ...options, ...COMMON }, allowPositionals });
    if (values.help) {
      console.log(`${usage}\n${COMMON_USAGE}`);
      process.exit(0);
    }
    return { ...values, positionals, rounds: readCount('rounds', values.rounds ?? (values.quick ? '3' : '9')) };
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
  console.error(`${error.message}\n--help lists the options`);
  process.exit(2);
}

/**
 * @param {string} name of the option, without the hyphens
 * @param {string} text its value
 * @returns {number} a whole number from 1 on
 * @throws {RangeError} if it is not one
 */
function readCount(name, text) {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new RangeError(`--${name} must be a whole number from 1 on, but was "${text}"`);
  return Number(text);
}

const UNITS = { '': 1, k: 1024, m: 1024 ** 2 };

/**
 * @param {string} name of the option, without the hyphens
 * @param {string} text sizes in bytes, separated by commas; `k` and `m` stand for KiB and MiB
 * @returns {number[]}
 * @throws {RangeError} if one of them is no size
 */
function readSizes(name, text) {
  return text.split(',').map((part) => {
    const match = /^(\d{1,9})([km]?)$/i.exec(part.trim());
    if (match === null) throw new RangeError(`--${name} takes sizes such as 125,4k,1m, but was "${text}"`);
    return Number(match[1]) * UNITS[match[2].toLowerCase()];
  });
}

module.exports = { readArguments, readCount, readSizes, refuse };
