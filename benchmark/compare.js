'use strict';

// Is this checkout slower than another? The rows of decode.js, encode.js and masking.js for both, and
// the memory of an idle Decoder and Encoder.
//
// Each row is measured in several processes. Each process loads both checkouts, which work on the same
// bytes by turns; every second process loads them in the other order. V8 compiles the same code better
// in one process than in another, so the spread over processes is the noise that counts.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { readArguments, readCount, readSizes, refuse } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { SIZES } = require('./support/masking-rows');
const { ROOT } = require('./support/modules');
const { createProgress } = require('./support/progress');
const { ratio } = require('./support/race');
const { listRows } = require('./support/rows');
const { median, quartiles } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');

const USAGE = `usage: node benchmark/compare.js <folder of the old checkout> [options]

Measures two checkouts of framemask against each other, and prints the time of the new one in times of
the old one for each row of decode.js, encode.js and masking.js, and the memory of an idle Decoder and
Encoder. Both need their addon (npm run compile) and node_modules. Takes about 15 minutes.

A row is marked SLOWER if its first quartile is above the limit: three of four processes found it slower
by more than that. It is marked "slower?" if only the median is above the limit, after the row was
measured again. The exit code is 1 if a row is SLOWER, 2 for a wrong argument.

  --new <folder>    the new checkout (default: the one that this program is in)
  --only <text>     only the rows whose name has this in it; may be given several times
  --kernels <list>  best, js or what else FRAMEMASK_KERNEL names (default best,js)
  --sizes <list>    payload lengths of the masking rows, such as 125,4k,1m
  --limit <n>       per cent that a row may be slower (default 3)
  --processes <n>   how many processes measure each row (default 6)
  --turn <ms>       how long a turn takes (default 10)
  --no-time         only the memory
  --no-memory       only the times
  --list            print the names of the rows`;

const CHILD = path.join(__dirname, 'support', 'compare-child.js');
const OBJECTS_WEIGHED = 10000;

/**
 * @param {object} job as compare-child.js takes it
 * @returns {*} its result
 * @throws {Error} if the process fails; it has printed why
 */
function runChild(job) {
  const args = ['--expose-gc', CHILD, JSON.stringify(job)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
}

/**
 * @param {string} folder
 * @returns {string} its absolute path
 * @throws {RangeError} if framemask is not there
 */
function readCheckout(folder) {
  const root = path.resolve(folder);
  const file = path.join(root, 'package.json');
  if (!fs.existsSync(file) || JSON.parse(fs.readFileSync(file, 'utf8')).name !== 'framemask')
    throw new RangeError(`there is no checkout of framemask at ${root}`);
  return fs.realpathSync(root);
}

/** @returns {{ name: string, row: string, size: number | null, kernel: string }[]} the rows that were asked for */
function selectRows({ sizes, kernels, only }) {
  const rows = kernels.flatMap((kernel) => {
    const suffix = kernel === '' ? '' : ` (${kernel})`;
    const row = (size) => (other) => ({ name: other.name + suffix, row: other.name, size, kernel });
    const withoutSizes = listRows([]);
    const ofSize = (size) => listRows([size]).slice(withoutSizes.length);
    return [...withoutSizes.map(row(null)), ...sizes.flatMap((size) => ofSize(size).map(row(size)))];
  });
  return rows.filter(({ name }) => only.length === 0 || only.some((text) => name.includes(text)));
}

function readOptions() {
  const values = readArguments(
    USAGE,
    {
      new: { type: 'string', default: ROOT },
      only: { type: 'string', multiple: true, default: [] },
      kernels: { type: 'string', default: 'best,js' },
      sizes: { type: 'string', default: SIZES },
      limit: { type: 'string', default: '3' },
      processes: { type: 'string' },
      turn: { type: 'string' },
      'no-time': { type: 'boolean', default: false },
      'no-memory': { type: 'boolean', default: false },
      list: { type: 'boolean', default: false }
    },
    true
  );
  try {
    const { quick, positionals } = values;
    const kernels = values.kernels.split(',').map((name) => (name === 'best' ? '' : name));
    const rows = selectRows({ sizes: readSizes('sizes', values.sizes), kernels, only: values.only });
    if (values.list) return { rows, list: true };
    if (rows.length === 0) throw new RangeError(`no row has ${values.only.join(' or ')} in its name; see --list`);
    if (positionals.length !== 1)
      throw new RangeError('the folder of the old checkout is missing, or is not the only one');
    return {
      ...values,
      rows,
      kernels,
      checkouts: { old: readCheckout(positionals[0]), new: readCheckout(values.new) },
      limit: 1 + readCount('limit', values.limit) / 100,
      processes: readCount('processes', values.processes ?? (quick ? '2' : '6')),
      turn: readCount('turn', values.turn ?? (quick ? '2' : '10'))
    };
  } catch (error) {
    refuse(error);
  }
}

/**
 * Ends the program if a checkout can't use a kernel (it may have no addon), or if the two use different ones.
 *
 * @returns {string} the best kernel
 */
function checkKernels({ kernels, checkouts }) {
  const find = (which, kernel) => {
    const found = runChild({ kernel, root: checkouts[which] });
    if (found.error !== undefined) refuse(new Error(`the ${which} checkout fails: ${found.error}`));
    return found.kernel;
  };
  for (const kernel of ['', ...kernels]) {
    const [old, own] = [find('old', kernel), find('new', kernel)];
    if (old !== own) refuse(new Error(`the old checkout uses the kernel ${old}, the new one ${own}`));
  }
  return find('new', '');
}

/**
 * Measures rows, each in `processes` processes of its own. All rows have their first process before any
 * has its second, so that a busy minute of the machine does not fall on one row alone.
 *
 * @param {Map<string, { old: number, new: number, ratio: number }[]>} samples gets one entry a process
 */
function timeRows(rows, { checkouts, processes, rounds, turn }, samples) {
  const progress = createProgress(rows.length * processes);
  const order = Object.entries(checkouts);
  for (let process = 0; process < processes; process++) {
    for (const { name, ...job } of rows) {
      progress.step(name);
      const inOrder = process % 2 === 0 ? order : order.toReversed();
      const turns = runChild({ ...job, checkouts: inOrder, rounds, turn });
      if (!samples.has(name)) samples.set(name, []);
      samples.get(name).push({ old: median(turns.old), new: median(turns.new), ratio: ratio(turns.old, turns.new) });
    }
  }
  progress.end();
}

/** @returns {{ name: string, old: number, new: number, quartiles: number[], mark: string }} times in nanoseconds */
function summarize(name, samples, limit) {
  const spread = quartiles(samples.map((sample) => sample.ratio));
  const [low, middle, high] = spread;
  let mark = '';
  if (low > limit) mark = 'SLOWER';
  else if (middle > limit) mark = 'slower?';
  else if (high < 1 / limit) mark = 'faster';
  const of = (which) => median(samples.map((sample) => sample[which]));
  return { name, old: of('old'), new: of('new'), quartiles: spread, processes: samples.length, mark };
}

/** @returns {ReturnType<typeof summarize>[]} one for each row */
function compareTimes(options) {
  const { rows, limit, processes } = options;
  const samples = new Map();
  const summarizeAll = () => rows.map(({ name }) => summarize(name, samples.get(name), limit));
  timeRows(rows, options, samples);
  const doubtful = summarizeAll().filter(({ quartiles: [, middle] }) => middle > limit);
  if (doubtful.length > 0) {
    console.error(`measuring ${doubtful.length} rows that look slower again`);
    const again = rows.filter((row) => doubtful.some(({ name }) => name === row.name));
    timeRows(again, { ...options, processes: 2 * processes }, samples);
  }
  return summarizeAll();
}

/** @returns {{ object: string, old: object, new: object }[]} bytes that one idle object holds */
function compareMemory({ checkouts, rounds }) {
  const objects = ['Decoder', 'Encoder'];
  const turns = Math.min(rounds, 5);
  const progress = createProgress(turns * objects.length);
  const weights = objects.map(() => ({ old: [], new: [] }));
  for (let turn = 0; turn < turns; turn++) {
    objects.forEach((object, i) => {
      progress.step(`memory of an idle ${object}`);
      for (const [name, root] of Object.entries(checkouts))
        weights[i][name].push(runChild({ object, root, count: OBJECTS_WEIGHED }));
    });
  }
  progress.end();
  const of = (list) => ({
    heap: median(list.map(({ heap }) => heap)),
    external: median(list.map(({ external }) => external))
  });
  return objects.map((object, i) => ({ object, old: of(weights[i].old), new: of(weights[i].new) }));
}

function formatTimes(results) {
  const head = ['a message or call', 'old, ns', 'new, ns', 'new : old', 'quartiles', 'processes', ''];
  const rows = results.map(({ name, old, new: own, quartiles: [low, middle, high], processes, mark }) => [
    name,
    formatNumber(old),
    formatNumber(own),
    middle.toFixed(3),
    `${low.toFixed(3)} to ${high.toFixed(3)}`,
    String(processes),
    mark
  ]);
  return formatTable(head, rows);
}

function formatMemory(results) {
  const cells = ({ heap, external }) => [heap, external].map((bytes) => formatNumber(Math.max(0, bytes)));
  const head = ['idle', 'old: heap, B', 'old: external, B', 'new: heap, B', 'new: external, B'];
  return formatTable(
    head,
    results.map(({ object, old, new: own }) => [object, ...cells(old), ...cells(own)])
  );
}

function main() {
  const options = readOptions();
  if (options.list) {
    for (const { name } of options.rows) console.log(name);
    return;
  }
  const kernel = checkKernels(options);
  const memory = options['no-memory'] ? [] : compareMemory(options);
  const times = options['no-time'] ? [] : compareTimes(options);
  if (times.some(({ mark }) => mark === 'SLOWER')) process.exitCode = 1;

  const machine = describeMachine(kernel);
  const { checkouts, processes, rounds } = options;
  if (options.json) {
    console.log(JSON.stringify({ machine, checkouts, processes, rounds, times, memory }, null, 2));
    return;
  }
  console.log(machineLine(machine));
  console.log(`old ${checkouts.old}\nnew ${checkouts.new}`);
  if (times.length > 0) {
    console.log(
      `${processes} processes of ${rounds} rounds; above 1 the new checkout is slower\n\n${formatTimes(times)}`
    );
    const counts = ['SLOWER', 'slower?', 'faster'].map(
      (mark) => `${times.filter((row) => row.mark === mark).length} ${mark}`
    );
    console.log(`\n${times.length} rows: ${counts.join(', ')}`);
  }
  if (memory.length > 0) console.log(`\n${formatMemory(memory)}`);
}

main();
