'use strict';

// How fast is masking? framemask, on the addon and in JavaScript, beside npm's bufferutil, on its
// addon and its fallback, and the loop of ws. All work by turns, in one process, on the same bytes.

const { randomFillSync } = require('node:crypto');
const http = require('node:http');

const { readArguments, readCount, readSizes, refuse } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { MASKING_ROWS, SIZES } = require('./support/masking-rows');
const { loadFramemask } = require('./support/modules');
const { createProgress } = require('./support/progress');
const { fresh, race, ratio } = require('./support/race');
const { median } = require('./support/statistics');
const { formatNumber, formatSize, formatTable } = require('./support/table');

const USAGE = `usage: npm run bench -- [options]

Times mask and unmask of framemask, bufferutil and a byte loop. Prints the median nanoseconds a call,
framemask's GB/s, and how many times faster framemask is. Takes about half a minute.

  --sizes <list>    payload lengths, such as 125,4k,1m
  --only <name>     mask or unmask
  --kernel <name>   the kernel to use, as FRAMEMASK_KERNEL names it
  --turn <ms>       how long a turn of a candidate takes (default 10)`;

/** The loop that ws uses without bufferutil. */
const byteLoop = {
  mask(source, key, output, offset, length) {
    for (let i = 0; i < length; i++) output[offset + i] = source[i] ^ key[i & 3];
  },
  unmask(buffer, key) {
    for (let i = 0; i < buffer.length; i++) buffer[i] ^= key[i & 3];
  }
};

/**
 * @param {string} [wanted] the kernel
 * @returns {{ kernel: string, contestants: Record<string, { mask: Function, unmask: Function }> }}
 */
function findContestants(wanted) {
  const framemask = loadFramemask(wanted);
  const { kernel, nativeError } = framemask;
  if (nativeError !== null) console.error(`framemask has no addon here: ${nativeError.message}`);

  const contestants = {};
  if (kernel !== 'js') contestants.framemask = framemask;
  contestants['framemask js'] = loadFramemask('js');
  const bufferutil = require('bufferutil');
  const fallback = require('bufferutil/fallback');
  if (bufferutil !== fallback) contestants.bufferutil = bufferutil;
  contestants['bufferutil js'] = fallback;
  contestants['byte loop'] = byteLoop;
  // Node.js has these from 26.12 on.
  if (http.websocketMask) contestants['node:http'] = { mask: http.websocketMask, unmask: http.websocketUnmask };
  return { kernel, contestants };
}

/** Which candidate is compared with which. */
const PAIRS = [
  ['framemask', 'bufferutil'],
  ['framemask', 'node:http'],
  ['framemask js', 'bufferutil js'],
  ['framemask js', 'byte loop']
];

/**
 * @param {string} work a name in MASKING_ROWS
 * @param {number} size
 * @param {Record<string, number[]>} turns
 */
function summarize(work, size, turns) {
  const ns = Object.fromEntries(Object.entries(turns).map(([name, values]) => [name, median(values)]));
  const ratios = PAIRS.filter(([own, peer]) => own in turns && peer in turns).map(([own, peer]) => ({
    own,
    peer,
    ratio: ratio(turns[own], turns[peer])
  }));
  return { work, size, ns, ratios };
}

/**
 * @param {ReturnType<typeof summarize>[]} results of one kind of work
 * @returns {string}
 */
function formatResults(results) {
  const names = Object.keys(results[0].ns);
  const own = names[0];
  const head = [
    results[0].work,
    ...names.map((name) => `${name}, ns`),
    'GB/s',
    ...results[0].ratios.map(({ own, peer }) => `${own === 'framemask' ? '' : 'js, '}times faster than ${peer}`)
  ];
  const rows = results.map(({ size, ns, ratios }) => [
    formatSize(size),
    ...names.map((name) => formatNumber(ns[name])),
    formatNumber(size / ns[own]),
    ...ratios.map(({ ratio }) => ratio.toFixed(2))
  ]);
  return formatTable(head, rows);
}

/** Reads the arguments and loads the candidates. */
function readOptions() {
  const values = readArguments(USAGE, {
    sizes: { type: 'string', default: SIZES },
    only: { type: 'string' },
    kernel: { type: 'string' },
    turn: { type: 'string' }
  });
  try {
    const { only, kernel, quick, turn = quick ? '2' : '10' } = values;
    if (only !== undefined && !Object.hasOwn(MASKING_ROWS, only))
      throw new RangeError(`--only takes mask or unmask, but was "${only}"`);
    return {
      ...values,
      sizes: readSizes('sizes', values.sizes),
      works: only === undefined ? Object.keys(MASKING_ROWS) : [only],
      turn: readCount('turn', turn),
      ...findContestants(kernel)
    };
  } catch (error) {
    refuse(error);
  }
}

async function main() {
  const { sizes, works, rounds, turn, json, kernel, contestants } = readOptions();
  const progress = createProgress(works.length * sizes.length);
  const key = randomFillSync(Buffer.alloc(4));
  const results = [];
  for (const work of works) {
    const { prepare, repeat } = MASKING_ROWS[work];
    const entries = Object.entries(contestants).map(([name, contestant]) => [name, contestant, fresh(repeat)]);
    for (const size of sizes) {
      progress.step(`${work} ${formatSize(size)}`);
      const prepared = prepare(size);
      const candidates = entries.map(([name, contestant, repeat]) => [
        name,
        (calls) => repeat(contestant, key, prepared, calls)
      ]);
      results.push(summarize(work, size, await race(Object.fromEntries(candidates), { rounds, turn })));
    }
  }
  progress.end();

  const machine = describeMachine(kernel);
  if (json) {
    console.log(JSON.stringify({ machine, rounds, turn, results }, null, 2));
    return;
  }
  console.log(`${machineLine(machine)}; medians of ${rounds} rounds`);
  for (const work of works) console.log(`\n${formatResults(results.filter((result) => result.work === work))}`);
}

main();
