'use strict';

require('./packages');

const { loadFramemask } = require('./modules');
const { COMMON, readOptions, refuse, selects } = require('./options');
const { createProgress } = require('./progress');
const { takeTurns } = require('./race');
const { publish, startReport, toRow } = require('./report');

/**
 * A row of a benchmark, before it is measured.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {string} group rows that a summary puts into one range
 * @property {number} [bytes] of a message
 * @property {[own: string, peer: string][]} pairs of candidates that are compared
 */

/**
 * Rows that need the same servers, or none.
 *
 * @typedef {object} RowSet
 * @property {Row[]} rows
 * @property {number} [rounds] fewer than `--rounds`
 * @property {(rows: Row[]) => Started | Promise<Started>} start is called with the rows that were selected
 *
 * @typedef {object} Started
 * @property {(row: Row) => Record<string, () => object>} [candidates] each takes a turn, and returns its
 *   figures; see race.js
 * @property {(row: Row, rounds: number) => Promise<Record<string, object[]>>} [turns] takes all turns
 *   instead
 * @property {() => void} [stop]
 */

/**
 * Measures the rows that `--only` selects, prints a table with `remarks` below, and writes the file of
 * `--json`. `sets` makes the RowSets of the options, and throws a RangeError for a wrong one; `peers`
 * are installed packages whose versions matter, `versions` those of others.
 */
async function runBenchmark({ name, usage, options = {}, allowPositionals, peers = [], sets, remarks, versions }) {
  const values = readOptions(usage, { ...options, ...COMMON }, allowPositionals);
  const { only, json } = values;
  let chosen;
  try {
    const all = sets(values);
    chosen = all.map((set) => ({ ...set, rows: set.rows.filter((row) => selects(only, row.name)) }));
    if (chosen.every(({ rows }) => rows.length === 0)) {
      const names = all.flatMap(({ rows }) => rows.map((row) => row.name));
      throw new RangeError(`no row has ${only.join(' or ')} in its name: ${names.join('; ')}`);
    }
  } catch (error) {
    refuse(error);
  }
  const { kernel } = loadFramemask(values.kernel);
  const finish = await startReport(name);
  const progress = createProgress(chosen.reduce((sum, { rows }) => sum + rows.length, 0));
  const results = [];
  for (const { rows, start, rounds: most = Infinity } of chosen.filter(({ rows }) => rows.length > 0)) {
    const { candidates, turns, stop } = await start(rows);
    try {
      for (const row of rows) {
        progress.step(row.name);
        const count = Math.min(values.rounds, most);
        const taken = turns === undefined ? await takeTurns(await candidates(row), count) : await turns(row, count);
        if (Object.keys(taken).length > 0) results.push(toRow(row, taken));
      }
    } finally {
      stop?.();
    }
  }
  progress.end();
  const report = await finish({ options: values, kernel, peers, versions, rows: results });
  publish(report, json, remarks?.(values));
}

module.exports = { runBenchmark };
