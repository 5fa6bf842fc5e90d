'use strict';

const { readArguments, readCount, refuse } = require('./arguments');
const { createProgress } = require('./progress');

/**
 * Reads `--only`, `--turn` and the options of every benchmark, and measures each row that was
 * selected. Ends the program with exit code 2 if there is none.
 *
 * @param {string} usage what `--help` prints
 * @param {object} rows by name
 * @param {(name: string, options: { rounds: number, turn: number }) => Promise<object>} measure
 * @returns {Promise<{ rounds: number, quick: boolean, json?: string, results: object[] }>}
 */
async function measureEach(usage, rows, measure) {
  const values = readArguments(usage, { only: { type: 'string', default: '' }, turn: { type: 'string' } });
  const { rounds, quick, json, only } = values;
  const names = Object.keys(rows).filter((name) => name.includes(only));
  let turn;
  try {
    turn = readCount('turn', values.turn ?? (quick ? '2' : '10'));
    if (names.length === 0) throw new RangeError(`no row has "${only}" in its name: ${Object.keys(rows).join('; ')}`);
  } catch (error) {
    refuse(error);
  }
  const progress = createProgress(names.length);
  const results = [];
  for (const name of names) {
    progress.step(name);
    results.push(await measure(name, { rounds, turn }));
  }
  progress.end();
  return { rounds, quick, json, results };
}

module.exports = { measureEach };
