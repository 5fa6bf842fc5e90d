'use strict';

// Is this checkout slower than another? The rows of decode.js, encode.js and masking.js for both,
// rows of framemask/ws over a stream in memory, and the memory of an idle Decoder and Encoder.
//
// Each row is measured in several processes. Each process loads both checkouts, which work on the
// same bytes by turns. V8 compiles the same code better in one process than in another, so the
// spread over processes is the noise that counts.

require('./support/packages');
const fs = require('node:fs');
const path = require('node:path');

const { SIZES } = require('./masking');
const { listRows } = require('./support/codec-rows');
const { ROOT, loadFramemask } = require('./support/modules');
const { COMMON, count, flag, readOptions, refuse, selects, sizes, text } = require('./support/options');
const { raceInProcess, runChild } = require('./support/processes');
const { createProgress } = require('./support/progress');
const { median, quartiles } = require('./support/race');
const { describeMachine, machineLine } = require('./support/report');
const { formatNumber, formatTable } = require('./support/tables');

const USAGE = `usage: node benchmark/compare.js <folder of the old checkout> [options]

Measures this checkout of framemask, the new one, against another. Prints the ratio of their times (new : old) for
each row of decode.js, encode.js and masking.js, for framemask/ws, and the memory of an idle Decoder and Encoder. Both
checkouts need their addon (npm run build) and node_modules. Takes about 20 minutes.

A row is marked SLOWER if its first quartile is above the limit: three of four processes found it slower
by more than that. It is marked unclear if only its median is above the limit; give it more processes.
Rows of both kinds are measured again before they are marked. A row is marked faster if its third
quartile is as far below 1. The exit code is 1 if a row is SLOWER, 2 for a wrong argument.`;

const OPTIONS = {
  kernels: text('<list>', 'best, or names that FRAMEMASK_KERNEL takes (default best,js)', 'best,js'),
  sizes: sizes('payload lengths of the masking rows, such as 125,4k,1m', SIZES),
  limit: count('<n>', 'per cent that a row may be slower', 3),
  processes: count('<n>', 'how many processes measure each row', 6, 2),
  turn: count('<ms>', 'how long a turn takes', 10, 2),
  'no-time': flag('only the memory'),
  'no-memory': flag('only the times'),
  list: flag('print the names of the rows'),
  ...COMMON
};

/** So many that their mean size varies by 1 byte from run to run; with 10,000 it varies by 20. */
const OBJECTS_WEIGHED = 200_000;

/** @returns {string} the absolute path @throws {RangeError} if framemask is not there */
function readCheckout(folder) {
  const root = path.resolve(folder);
  const file = path.join(root, 'package.json');
  if (!fs.existsSync(file) || JSON.parse(fs.readFileSync(file, 'utf8')).name !== 'framemask')
    throw new RangeError(`there is no checkout of framemask at ${root}`);
  return fs.realpathSync(root);
}

/** @returns {{ name: string, row: string, sizes: number[], kernel: string }[]} those of `--only` */
function selectRows({ sizes, kernels, only }) {
  const rows = kernels.flatMap((kernel) =>
    listRows(sizes).map(({ name: row }) => ({ name: kernel === '' ? row : `${row} (${kernel})`, row, sizes, kernel }))
  );
  return rows.filter(({ name }) => selects(only, name));
}

function readArguments() {
  const values = readOptions(USAGE, OPTIONS, true);
  try {
    const { positionals, only } = values;
    const kernels = values.kernels.split(',').map((name) => (name === 'best' ? '' : name));
    const rows = selectRows({ ...values, kernels });
    if (values.list) return { rows, list: true };
    if (rows.length === 0) throw new RangeError(`no row has ${only.join(' or ')} in its name; see --list`);
    if (positionals.length !== 1)
      throw new RangeError('the folder of the old checkout is missing, or is not the only one');
    const checkouts = { old: readCheckout(positionals[0]), new: ROOT };
    return { ...values, rows, kernels, checkouts, limit: 1 + values.limit / 100 };
  } catch (error) {
    refuse(error);
  }
}

/** Ends the program if a checkout can't use a kernel (it may have no addon), or if the two use different ones. */
function checkKernels({ kernels, checkouts }) {
  for (const kernel of ['', ...kernels]) {
    const [old, own] = Object.entries(checkouts).map(([which, root]) => {
      const found = runChild({ kernel, root });
      if (found.error !== undefined) refuse(new Error(`the ${which} checkout fails: ${found.error}`));
      return found.kernel;
    });
    if (old !== own) refuse(new Error(`the old checkout uses the kernel ${old}, the new one ${own}`));
  }
}

/** @returns {object} medians and quartiles over the samples of one row, one for each process, and its mark */
function judge(samples, limit) {
  const [low, middle, high] = quartiles(samples.map(({ ratio }) => ratio));
  let mark = '';
  if (low > limit) mark = 'SLOWER';
  else if (middle > limit) mark = 'unclear';
  else if (high < 1 / limit) mark = 'faster';
  const ns = Object.fromEntries(['old', 'new'].map((name) => [name, median(samples.map((sample) => sample.ns[name]))]));
  return { ns, quartiles: [low, middle, high], processes: samples.length, mark };
}

/**
 * Measures each row in several processes, and adds to its samples. Every second process loads the
 * checkouts in the other order. All rows have their first process before any has its second, so
 * that a busy minute of the machine does not fall on one row alone.
 */
function addSamples(samples, rows, { checkouts, processes, rounds, turn }) {
  const progress = createProgress(rows.length * processes);
  const candidates = Object.entries(checkouts).map(([name, root]) => ({ name, root }));
  for (let i = 0; i < processes; i++) {
    for (const { name, ...job } of rows) {
      progress.step(name);
      const inOrder = i % 2 === 0 ? candidates : candidates.toReversed();
      const { ns, ratio } = raceInProcess({ ...job, candidates: inOrder, rounds, turn });
      samples.get(name).push({ ns, ratio: ratio('new', 'old') });
    }
  }
  progress.end();
}

/** @returns {object[]} the name of each row, and what `judge` returns for it */
function compareTimes(options) {
  const { rows, limit, processes } = options;
  const samples = new Map(rows.map(({ name }) => [name, []]));
  const judgeAll = () => rows.map(({ name }) => ({ name, ...judge(samples.get(name), limit) }));
  addSamples(samples, rows, options);
  const doubtful = judgeAll().filter(({ mark }) => mark === 'SLOWER' || mark === 'unclear');
  if (doubtful.length > 0) {
    console.error(`measuring ${doubtful.length} rows again that look slower`);
    const again = rows.filter((row) => doubtful.some(({ name }) => name === row.name));
    addSamples(samples, again, { ...options, processes: 2 * processes });
  }
  return judgeAll();
}

/** @returns {string[][]} the bytes of heap that one idle object holds, old and new */
function compareMemory({ checkouts, rounds }) {
  const objects = ['Decoder', 'Encoder'];
  const turns = Math.min(rounds, 5);
  const progress = createProgress(turns * objects.length);
  const heaps = objects.map((object) => [object, { old: [], new: [] }]);
  for (let turn = 0; turn < turns; turn++) {
    for (const [object, found] of heaps) {
      progress.step(`memory of an idle ${object}`);
      for (const [name, root] of Object.entries(checkouts)) {
        found[name].push(runChild({ object, root, count: OBJECTS_WEIGHED }));
      }
    }
  }
  progress.end();
  return heaps.map(([object, found]) => [object, formatNumber(median(found.old)), formatNumber(median(found.new))]);
}

function formatTimes(results) {
  const head = ['a message or call', 'old, ns', 'new, ns', 'new : old', 'quartiles', 'processes', ''];
  const rows = results.map(({ name, ns, quartiles: [low, middle, high], processes, mark }) => [
    name,
    formatNumber(ns.old),
    formatNumber(ns.new),
    middle.toFixed(3),
    `${low.toFixed(3)} to ${high.toFixed(3)}`,
    String(processes),
    mark
  ]);
  return formatTable(head, rows);
}

function main() {
  const options = readArguments();
  if (options.list) {
    for (const { name } of options.rows) console.log(name);
    return;
  }
  checkKernels(options);
  const memory = options['no-memory'] ? [] : compareMemory(options);
  const times = options['no-time'] ? [] : compareTimes(options);
  const marked = (mark) => times.filter((row) => row.mark === mark).length;
  if (marked('SLOWER') > 0) process.exitCode = 1;

  const { checkouts, processes, rounds, json } = options;
  const machine = describeMachine(loadFramemask().kernel);
  if (json !== undefined) {
    fs.writeFileSync(json, JSON.stringify({ machine, checkouts, processes, rounds, times, memory }, null, 2));
  }
  console.log(`${machineLine(machine)}\nold ${checkouts.old}\nnew ${checkouts.new}`);
  if (times.length > 0) {
    console.log(
      `${processes} processes of ${rounds} rounds; above 1 the new checkout is slower\n\n${formatTimes(times)}`
    );
    const counts = ['SLOWER', 'unclear', 'faster'].map((mark) => `${marked(mark)} ${mark}`);
    console.log(`\n${times.length} rows: ${counts.join(', ')}`);
  }
  if (memory.length > 0) console.log(`\n${formatTable(['idle', 'old: heap and external, B', 'new'], memory)}`);
}

main();
