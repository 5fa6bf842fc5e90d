'use strict';

const { readArguments, readCount } = require('./arguments');
const { createProgress } = require('./progress');

/**
 * Reads `--only`, `--turn` and what every benchmark takes, and measures each kind of work that was asked for.
 *
 * @param {string} usage what `--help` prints
 * @param {object} work by its name
 * @param {(name: string, options: { rounds: number, turn: number }) => Promise<object>} measure
 * @returns {Promise<{ rounds: number, json: boolean, results: object[] }>}
 */
async function measureEach(usage, work, measure) {
  const values = readArguments(usage, { only: { type: 'string', default: '' }, turn: { type: 'string' } });
  const { rounds, quick, json, only, turn = quick ? '2' : '10' } = values;
  const names = Object.keys(work).filter((name) => name.includes(only));
  const progress = createProgress(names.length);
  const results = [];
  for (const name of names) {
    progress.step(name);
    results.push(await measure(name, { rounds, turn: readCount('turn', turn) }));
  }
  progress.end();
  return { rounds, json, results };
}

module.exports = { measureEach };
