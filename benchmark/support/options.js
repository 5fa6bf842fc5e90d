'use strict';

const { parseArgs } = require('node:util');

/** Each makes an option: its line of `--help`, its default, and another default with `--quick`. */
const flag = (help) => ({ type: 'boolean', help, initial: false });
const text = (value, help, initial) => ({ type: 'string', value, help, initial });
const texts = (value, help) => ({ type: 'string', multiple: true, value, help, initial: [] });
const count = (value, help, initial, quick = initial) => ({
  ...text(value, `${help} (default ${initial})`, `${initial}`),
  quick: `${quick}`,
  isCount: true
});

/** The exit code of a benchmark that this machine can't run. */
const NOT_HERE = 3;

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
    for (const [name, { initial, quick = initial, isCount }] of Object.entries(options)) {
      const given = values[name] ?? (values.quick ? quick : initial);
      if (isCount && !/^[1-9]\d{0,8}$/.test(given))
        throw new RangeError(`--${name} must be a whole number from 1 on, but was "${given}"`);
      result[name] = isCount ? Number(given) : given;
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

/**
 * @returns {boolean} whether a word of the name begins with a text of `--only`: `mask` does not
 *   select `unmask`
 */
function selects(chosen, name) {
  const pattern = (text) => new RegExp(`(?<![\\p{L}\\p{N}])${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'u');
  return chosen.length === 0 || chosen.some((text) => pattern(text).test(name));
}

module.exports = { COMMON, NOT_HERE, count, flag, readOptions, refuse, selects, text, texts };
