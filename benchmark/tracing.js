'use strict';

// What does tracing cost while nobody subscribes? Two copies of framemask do the same work by
// turns: one as it is, and one whose lib/tracing.js does nothing and says at once that nobody
// subscribes. Each round is a process of its own.
//
// This measures what asking costs: a codec calls isTraced() once for each chunk that it decodes and
// for each frame that it encodes. It does not measure the codec's own branches on the answer, which
// both copies have, nor what a subscriber costs.

const { runBenchmark } = require('./support/harness');
const { ROOT } = require('./support/modules');
const { count } = require('./support/options');
const { raceInProcess } = require('./support/processes');

const USAGE = `usage: node benchmark/tracing.js [options]

Times decoding and encoding with lib/tracing.js as it is, and with functions in its place that do nothing, while nobody
subscribes. Prints the median nanoseconds a message of both. Takes about a minute.`;

const ROWS = [
  'decode: text 64 B',
  'decode: binary 64 B',
  'decode: frames 64 B',
  'decode: text 64 B, one a chunk',
  'decode: binary 64 B, one a chunk',
  'encode: server: binary 64 B',
  'encode: client: text 64 B'
];

const CANDIDATES = [
  { name: 'with', root: ROOT },
  { name: 'without', root: ROOT, withoutTracing: true }
];

runBenchmark({
  name: 'tracing',
  usage: USAGE,
  options: { turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2) },
  sets: ({ turn }) => [
    {
      rows: ROWS.map((name) => ({ name, group: 'tracing without subscribers', pairs: [['with', 'without']] })),
      start: () => ({
        turns({ name: row }, processes) {
          const job = { row, sizes: [], kernel: process.env.FRAMEMASK_KERNEL ?? '', rounds: 9, turn };
          const turns = { with: [], without: [] };
          for (let i = 0; i < processes; i++) {
            const { ns } = raceInProcess({ ...job, candidates: i % 2 === 0 ? CANDIDATES : CANDIDATES.toReversed() });
            for (const name of Object.keys(turns)) turns[name].push({ ns: ns[name] });
          }
          return turns;
        }
      })
    }
  ]
});
