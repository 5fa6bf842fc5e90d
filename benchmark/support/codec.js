'use strict';

const { runBenchmark } = require('./harness');
const { count } = require('./options');
const { timed } = require('./race');

/**
 * A row whose candidates are loops in one process. `create` makes the work: `count` messages of
 * `bytes` in a call of a loop, and `loop(name, contestant)`, which is null if the contestant can't do
 * it. `limits` are loops that no library is faster than.
 *
 * @typedef {{ name: string, group: string, create: () => object }} CodecRow
 */

/** Runs a benchmark of loops: `rows` and `contestants` are made of its options; `warm` is for `timed`. */
function runCodec({ rows, contestants, pairs, options = {}, warm, ...benchmark }) {
  return runBenchmark({
    ...benchmark,
    options: { ...options, turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2) },
    sets: (values) => [
      {
        rows: rows(values).map((row) => ({ ...row, pairs })),
        start() {
          const found = Object.entries(contestants(values));
          const candidates = (row) => {
            const { count, bytes, loop, limits } = row.create();
            row.bytes = bytes;
            const loops = found.map(([name, contestant]) => [name, loop(name, contestant)]);
            const able = Object.fromEntries(loops.filter(([, run]) => run !== null));
            return timed({ ...able, ...limits }, { turn: values.turn, count, warm });
          };
          return { candidates };
        }
      }
    ]
  });
}

module.exports = { runCodec };
