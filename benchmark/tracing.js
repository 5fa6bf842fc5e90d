'use strict';

// What does tracing cost while nobody subscribes? Two copies of framemask do the same work by
// turns: one as it is, and one whose lib/tracing.js does nothing and says at once that nobody
// subscribes.
//
// This measures what asking costs: a codec calls isTraced() once for each chunk that it decodes and
// for each frame that it encodes. It does not measure the codec's own branches on the answer, which
// both copies have, nor what a subscriber costs.

const { readArguments, readCount, refuse } = require('./support/arguments');
const { ROOT, loadFramemask } = require('./support/modules');
const { raceInProcesses, summarize } = require('./support/processes');
const { fresh, race } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { isTraced } = require('../lib/tracing');

const USAGE = `usage: node benchmark/tracing.js [options]

Times decoding and encoding with lib/tracing.js as it is, and with functions in its place that do
nothing, while nobody subscribes. Prints the median nanoseconds a message, and what tracing costs in per
cent, with the quartiles over processes. Takes about a minute.

  --only <text>     only the rows whose name has this in it
  --processes <n>   how many processes measure each row (default 8)
  --turn <ms>       how long a turn of a candidate takes (default 10)`;

const ROWS = [
  'decode: text 64 B',
  'decode: binary 64 B',
  'decode: frames 64 B',
  'decode: text 64 B, one a chunk',
  'decode: binary 64 B, one a chunk',
  'encode: server: binary 64 B',
  'encode: client: text 64 B'
];

function readOptions() {
  const values = readArguments(USAGE, {
    only: { type: 'string', default: '' },
    processes: { type: 'string' },
    turn: { type: 'string' }
  });
  try {
    const names = ROWS.filter((name) => name.includes(values.only));
    if (names.length === 0) throw new RangeError(`no row has "${values.only}" in its name`);
    return {
      ...values,
      names,
      processes: readCount('processes', values.processes ?? (values.quick ? '2' : '8')),
      turn: readCount('turn', values.turn ?? (values.quick ? '2' : '10'))
    };
  } catch (error) {
    refuse(error);
  }
}

function callRepeatedly(isTraced, calls) {
  let count = 0;
  for (let i = 0; i < calls; i++) if (isTraced()) count++;
  return count;
}

/** @returns {Promise<number>} the nanoseconds of isTraced() in a loop, where V8 inlines it */
async function timeIsTraced({ rounds, turn }) {
  const repeat = fresh(callRepeatedly);
  const turns = await race({ isTraced: (calls) => repeat(isTraced, calls) }, { rounds, turn });
  return median(turns.isTraced);
}

function formatResults(results) {
  const percent = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`;
  const head = ['a message', 'without, ns', 'with, ns', 'cost', 'quartiles'];
  const rows = results.map(({ name, ns, quartiles: [low, middle, high] }) => [
    name,
    formatNumber(ns.without),
    formatNumber(ns.with),
    percent(middle),
    `${percent(low)} to ${percent(high)}`
  ]);
  return formatTable(head, rows);
}

async function main() {
  const options = readOptions();
  const rows = options.names.map((row) => ({ name: row, row, size: null, kernel: process.env.FRAMEMASK_KERNEL ?? '' }));
  const candidates = [
    { name: 'without', root: ROOT, withoutTracing: true },
    { name: 'with', root: ROOT }
  ];
  const finish = await startReport('tracing');
  const samples = raceInProcesses(rows, candidates, options);
  const results = rows.map(({ name }) => ({ name, ...summarize(samples.get(name)) }));
  const alone = await timeIsTraced(options);

  const { quick, rounds, processes, json } = options;
  const reported = results.map(({ name, candidates, quartiles }) => ({
    name,
    group: 'tracing without subscribers',
    candidates,
    timesFaster: [{ own: 'with', peer: 'without', times: quartiles.map((cost) => 1 / cost).toReversed() }]
  }));
  const { kernel } = loadFramemask();
  const report = await finish({ quick, rounds, processes, kernel, isTraced: alone, rows: reported });
  const lines = [
    reportLine(report, `${processes} processes`),
    '',
    formatResults(results),
    '',
    `isTraced() alone, in a loop: ${formatNumber(alone)} ns`,
    'Included: one call of isTraced() a chunk decoded or a frame encoded.',
    "Not included: the codec's branches on its result, and what a subscriber costs."
  ];
  publish(report, json, lines.join('\n'));
}

main();
