'use strict';

require('./packages');

const { loadFramemask } = require('./modules');
const { COMMON, count, readOptions, refuse, selects } = require('./options');
const { takeTurns, timed } = require('./race');
const { publish, startReport, toRow } = require('./report');

/**
 * Measures the rows that `--only` selects, prints a table with `remarks` below, and writes the file
 * of `--json`. `sets` makes sets of rows of the options, and throws a RangeError for a wrong one;
 * `peers` are installed packages whose versions matter, `versions` those of others.
 *
 * A set has `rows`, `start`, and `rounds` if it needs few. `start` returns `candidates(row)`,
 * functions that take a turn and return its figures, or `turns(row, rounds)`, which takes all; and
 * `stop`. A row has a `name`, a `group` that a summary puts into one range, the `bytes` of a
 * message, and `pairs` if other candidates are compared than the first with each other one.
 */
async function runBenchmark({ name, usage, options = {}, allowPositionals, peers = [], sets, remarks, versions }) {
  const values = readOptions(usage, { ...options, ...COMMON }, allowPositionals);
  let chosen;
  try {
    const all = sets(values);
    chosen = all.map((set) => ({ ...set, rows: set.rows.filter((row) => selects(values.only, row.name)) }));
    const names = all.flatMap(({ rows }) => rows.map((row) => row.name)).join('; ');
    if (chosen.every(({ rows }) => rows.length === 0))
      throw new RangeError(`no row has ${values.only.join(' or ')} in its name: ${names}`);
  } catch (error) {
    refuse(error);
  }
  const { kernel, nativeError } = loadFramemask();
  if (nativeError !== null) console.error(`framemask has no addon here: ${nativeError.message}`);
  const finish = await startReport(name);
  const total = chosen.reduce((sum, { rows }) => sum + rows.length, 0);
  const results = [];
  for (const { rows, start, rounds: most = Infinity } of chosen.filter(({ rows }) => rows.length > 0)) {
    const { candidates, turns, stop } = await start();
    try {
      for (const row of rows) {
        console.error(`${results.length + 1}/${total} ${row.name}`);
        const rounds = Math.min(values.rounds, most);
        results.push(toRow(row, await (turns?.(row, rounds) ?? takeTurns(await candidates(row), rounds))));
      }
    } finally {
      await stop?.();
    }
  }
  const report = await finish({ options: values, kernel, peers, versions, rows: results });
  publish(report, values.json, remarks?.(values, report));
}

const PAIRS = ['framemask', 'framemask js'].map((own) => [own, 'ws']);

/**
 * Runs a benchmark of loops in one process. Its `rows` have `create`, which makes the work: `count`
 * messages of `bytes` in a call of a loop, and `loop(name, contestant)`, which is null if the
 * contestant can't do it. `limits` are loops that no library is faster than.
 */
function runCodec({ rows, contestants, pairs = PAIRS, ...benchmark }) {
  const start = ({ turn }) => {
    const found = Object.entries(contestants);
    const candidates = (row) => {
      const { count, bytes, loop, limits } = row.create();
      row.bytes = bytes;
      const loops = found.map(([name, contestant]) => [name, loop(name, contestant)]);
      return timed({ ...Object.fromEntries(loops.filter(([, run]) => run !== null)), ...limits }, { turn, count });
    };
    return { candidates };
  };
  return runBenchmark({
    ...benchmark,
    options: { turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2) },
    sets: (values) => [{ rows: rows.map((row) => ({ ...row, pairs })), start: () => start(values) }]
  });
}

module.exports = { runBenchmark, runCodec };
