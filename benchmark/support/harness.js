'use strict';

require('./packages');

const { loadFramemask } = require('./modules');
const { COMMON, readOptions, refuse, selects } = require('./options');
const { createProgress } = require('./progress');
const { takeTurns } = require('./race');
const { publish, startReport, toRow } = require('./report');

/**
 * Rows that need the same servers, or none. A row has a `name`, a `group` that a summary puts into one
 * range, the `bytes` of a message, and the `pairs` of candidates that are compared.
 *
 * @typedef {object} RowSet
 * @property {{ name: string, group: string, bytes?: number, pairs: [own: string, peer: string][] }[]} rows
 * @property {number} [rounds] fewer than `--rounds`
 * @property {(rows: object[]) => Started | Promise<Started>} start is called with the rows that were selected
 *
 * @typedef {object} Started
 * @property {(row: object) => Record<string, () => object>} [candidates] each takes a turn, and returns
 *   its figures; see race.js
 * @property {(row: object, rounds: number) => Promise<Record<string, object[]>>} [turns] takes all instead
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
    const names = all.flatMap(({ rows }) => rows.map((row) => row.name)).join('; ');
    if (chosen.every(({ rows }) => rows.length === 0))
      throw new RangeError(`no row has ${only.join(' or ')} in its name: ${names}`);
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
