'use strict';

const { parseArgs } = require('node:util');

/**
 * Each makes an option: what `--help` prints of it, its default (another with `--quick`), and `read`
 * for its text, which throws a RangeError for a wrong one.
 */
const flag = (help) => ({ type: 'boolean', help, initial: false });
const text = (value, help, initial) => ({ type: 'string', value, help, initial });
const texts = (value, help) => ({ type: 'string', multiple: true, value, help, initial: [] });
const count = (value, help, initial, quick = initial) => ({
  ...text(value, `${help} (default ${initial})`, `${initial}`),
  quick: `${quick}`,
  read: readCount
});
const sizes = (help, initial) => ({ ...text('<list>', help, initial), read: readSizes });

/** The options of every benchmark. */
const COMMON = {
  only: texts('<text>', 'only the rows in whose name a word begins with this; may be given several times'),
  rounds: count('<n>', 'how many turns each candidate has; the median counts', 9, 3),
  quick: flag('few and short turns: shows that the program works, not what to quote'),
  json: text('<file>', 'also write the results to a file, as JSON'),
  help: flag('print this')
};

function formatHelp(usage, options) {
  const lines = Object.entries(options).map(([name, { value, help }]) => {
    const head = `  --${name}${value === undefined ? '' : ` ${value}`}`;
    return `${head.padEnd(20)} ${help}`;
  });
  return `${usage}\n\n${lines.join('\n')}`;
}

/** Reads the arguments of the program. A wrong one ends it with exit code 2, `--help` with 0. */
function readOptions(usage, options, allowPositionals = false) {
  try {
    const config = Object.entries(options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]);
    const { values, positionals } = parseArgs({ options: Object.fromEntries(config), allowPositionals });
    if (values.help) {
      console.log(formatHelp(usage, options));
      process.exit(0);
    }
    const result = { positionals };
    for (const [name, { initial, quick, read }] of Object.entries(options)) {
      const given = values[name] ?? (values.quick ? (quick ?? initial) : initial);
      result[name] = read === undefined || given === undefined ? given : read(name, given);
    }
    return result;
  } catch (error) {
    refuse(error);
  }
}

/** Ends the program for a wrong argument. @param {Error} error */
function refuse(error) {
  console.error(`${error.message}\n--help lists the options`);
  process.exit(2);
}

function readCount(name, text) {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new RangeError(`--${name} must be a whole number from 1 on, but was "${text}"`);
  return Number(text);
}

const UNITS = { '': 1, k: 1024, m: 1024 ** 2 };

function readSizes(name, text) {
  return text.split(',').map((part) => {
    const match = /^(\d{1,9})([km]?)$/i.exec(part.trim());
    if (match === null) throw new RangeError(`--${name} takes sizes such as 125,4k,1m, but was "${text}"`);
    return Number(match[1]) * UNITS[match[2].toLowerCase()];
  });
}

/** @returns {boolean} whether a word of the name begins with a text of `--only`: `mask` does not select `unmask` */
function selects(chosen, name) {
  const pattern = (text) => new RegExp(`(?<![\\p{L}\\p{N}])${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'u');
  return chosen.length === 0 || chosen.some((text) => pattern(text).test(name));
}

module.exports = { COMMON, count, flag, readOptions, refuse, selects, sizes, text, texts };
