'use strict';

// How fast is masking? framemask, on the addon and in JavaScript, beside npm's bufferutil, on its
// addon and its fallback, and the loop of ws. All work by turns, in one process, on the same bytes.

const { randomFillSync } = require('node:crypto');
const http = require('node:http');
const { findAddon } = require('../lib/masking/find-addon');

const { readArguments, readCount, readSizes, refuse } = require('./support/arguments');
const { MASKING_ROWS, SIZES } = require('./support/masking-rows');
const { loadFramemask } = require('./support/modules');
const { createProgress } = require('./support/progress');
const { compareRace, fresh, race } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { findCutOffs } = require('./support/ws-cut-off');
const { formatNumber, formatSize, formatTable } = require('./support/table');

const USAGE = `usage: node benchmark/masking.js [options]

Times mask and unmask of framemask, bufferutil and a byte loop. Prints the median nanoseconds a call,
framemask's GB/s, and how many times faster framemask is. Takes about half a minute.

  --sizes <list>    payload lengths, such as 125,4k,1m
  --only <name>     mask or unmask
  --kernel <name>   the kernel to use, as FRAMEMASK_KERNEL names it
  --kernels         also each other kernel that the processor has
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
 * @param {boolean} all whether the other kernels are candidates, too
 * @returns {{ kernel: string, contestants: Record<string, { mask: Function, unmask: Function }> }}
 */
function findContestants(wanted, all) {
  const framemask = loadFramemask(wanted);
  const { kernel, nativeError } = framemask;
  if (nativeError !== null) console.error(`framemask has no addon here: ${nativeError.message}`);

  const contestants = {};
  if (kernel !== 'js') contestants.framemask = framemask;
  if (all && kernel !== 'js') {
    for (const name of findAddon().kernels) {
      if (name !== kernel) contestants[`framemask ${name}`] = loadFramemask(name);
    }
  }
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
 * @returns {import('./support/report').Row}
 */
function summarize(work, size, turns) {
  return {
    name: `${work} ${formatSize(size)}`,
    group: work,
    bytes: size,
    ...compareRace(
      turns,
      PAIRS.filter(([own, peer]) => own in turns && peer in turns)
    )
  };
}

/**
 * @param {import('./support/report').Row[]} rows of one kind of work
 * @returns {string}
 */
function formatRows(rows) {
  const names = Object.keys(rows[0].candidates);
  const own = names[0];
  const head = [
    rows[0].group,
    ...names.map((name) => `${name}, ns`),
    'GB/s',
    ...rows[0].timesFaster.map(({ own, peer }) => `${own === 'framemask' ? '' : 'js, '}times faster than ${peer}`)
  ];
  const lines = rows.map(({ bytes, candidates, timesFaster }) => [
    formatSize(bytes),
    ...names.map((name) => formatNumber(candidates[name].ns[1])),
    formatNumber(bytes / candidates[own].ns[1]),
    ...timesFaster.map(({ times }) => times[1].toFixed(2))
  ]);
  return formatTable(head, lines);
}

/** Reads the arguments and loads the candidates. */
function readOptions() {
  const values = readArguments(USAGE, {
    sizes: { type: 'string', default: SIZES },
    only: { type: 'string' },
    kernel: { type: 'string' },
    kernels: { type: 'boolean', default: false },
    turn: { type: 'string' }
  });
  try {
    const { only, kernel, kernels, quick, turn = quick ? '2' : '10' } = values;
    if (only !== undefined && !Object.hasOwn(MASKING_ROWS, only))
      throw new RangeError(`--only takes mask or unmask, but was "${only}"`);
    return {
      ...values,
      sizes: readSizes('sizes', values.sizes),
      works: only === undefined ? Object.keys(MASKING_ROWS) : [only],
      turn: readCount('turn', turn),
      ...findContestants(kernel, kernels)
    };
  } catch (error) {
    refuse(error);
  }
}

async function main() {
  const { sizes, works, rounds, quick, turn, json, kernel, contestants } = readOptions();
  const finish = await startReport('masking');
  const progress = createProgress(works.length * sizes.length);
  const key = randomFillSync(Buffer.alloc(4));
  const rows = [];
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
      rows.push(summarize(work, size, await race(Object.fromEntries(candidates), { rounds, turn })));
    }
  }
  progress.end();

  const peers = ['bufferutil', 'ws'];
  const report = await finish({ quick, rounds, kernel, peers, wsFrom: findCutOffs(), rows });
  const tables = works.map((work) => formatRows(rows.filter(({ group }) => group === work)));
  publish(report, json, [reportLine(report), ...tables].join('\n\n'));
}

main();
