'use strict';

// How fast is masking? framemask, on the addon and in JavaScript, beside npm's bufferutil, on its addon and on its
// fallback, and the plain loop that ws has. All of them work by turns, in one process, on the same bytes.

const { randomFillSync } = require('node:crypto');
const http = require('node:http');
const path = require('node:path');

const { readArguments, readCount, readSizes, refuse } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { createProgress } = require('./support/progress');
const { fresh, race, ratio } = require('./support/race');
const { median } = require('./support/statistics');
const { formatNumber, formatSize, formatTable } = require('./support/table');

const USAGE = `usage: npm run bench -- [options]

Times mask and unmask of framemask, bufferutil and a byte loop, and prints the median nanoseconds of a call, GB/s and
how many times faster framemask is. Takes about half a minute.

  --sizes <list>    payload lengths, such as 125,4k,1m
  --only <name>     mask or unmask
  --kernel <name>   the kernel to use, as FRAMEMASK_KERNEL names it
  --turn <ms>       how long a turn of a candidate takes`;

const SIZES = '0,8,16,32,64,125,512,1k,4k,16k,32k,64k,256k,1m,16m';

/**
 * Where payloads lie in the chunks that a socket gives or takes: a frame's header is 2 bytes long and, for lengths from
 * 126 and from 65536 on, 4 and 10; a masking key takes 4 more (RFC 6455 section 5.2).
 *
 * @param {number} size
 * @returns {{ server: number, client: number }} the size of the header of a frame that this side sends
 */
function headerSizes(size) {
  const server = size < 126 ? 2 : size < 65536 ? 4 : 10;
  return { server, client: server + 4 };
}

/** Payloads smaller than this take turns, so that none is worked on again while it is in the processor's pipeline. */
const SPREAD = 8192;

/**
 * @param {number} size the payloads' length
 * @param {number} offset where in its chunk each of them begins
 * @returns {Buffer[]} one payload, or a power of 2 of them, each at the same distance from a multiple of 64 bytes
 */
function makePayloads(size, offset) {
  const stride = Math.ceil((offset + size) / 64) * 64;
  const count = Math.min(16, 2 ** Math.max(0, Math.floor(Math.log2(SPREAD / stride))));
  const memory = randomFillSync(Buffer.allocUnsafeSlow(count * stride));
  return Array.from({ length: count }, (_, i) => memory.subarray(i * stride + offset, i * stride + offset + size));
}

/**
 * The work, by its name: what is prepared for a length, and the loop that makes the calls. A server unmasks what a client
 * sent. A client masks what it has, here the payload of a frame from a server that it passes on, into a frame of its own.
 */
const WORK = {
  unmask: {
    prepare(size) {
      const buffers = makePayloads(size, headerSizes(size).client);
      return { buffers, last: buffers.length - 1 };
    },
    repeat: ({ unmask }, key, { buffers, last }, calls) => {
      for (let i = 0; i < calls; i++) unmask(buffers[i & last], key);
    }
  },
  mask: {
    prepare(size) {
      const { server, client } = headerSizes(size);
      const sources = makePayloads(size, server);
      const outputs = makePayloads(size + client, 0);
      return { sources, outputs, offset: client, size, last: Math.min(sources.length, outputs.length) - 1 };
    },
    repeat: ({ mask }, key, { sources, outputs, offset, size, last }, calls) => {
      for (let i = 0; i < calls; i++) mask(sources[i & last], key, outputs[i & last], offset, size);
    }
  }
};

/** What ws does without bufferutil. */
const byteLoop = {
  mask(source, key, output, offset, length) {
    for (let i = 0; i < length; i++) output[offset + i] = source[i] ^ key[i & 3];
  },
  unmask(buffer, key) {
    for (let i = 0; i < buffer.length; i++) buffer[i] ^= key[i & 3];
  }
};

/**
 * @param {string} [kernel] as FRAMEMASK_KERNEL names it
 * @returns {object} framemask, loaded anew: one for each engine, as a program has it, and V8 compiles each for itself
 */
function loadFramemask(kernel = process.env.FRAMEMASK_KERNEL ?? '') {
  const root = path.join(__dirname, '..');
  for (const file of Object.keys(require.cache)) {
    if (path.dirname(file) === path.join(root, 'lib') || file === path.join(root, 'index.js'))
      delete require.cache[file];
  }
  const { FRAMEMASK_KERNEL } = process.env;
  process.env.FRAMEMASK_KERNEL = kernel;
  try {
    return require(path.join(root, 'index.js'));
  } finally {
    if (FRAMEMASK_KERNEL === undefined) delete process.env.FRAMEMASK_KERNEL;
    else process.env.FRAMEMASK_KERNEL = FRAMEMASK_KERNEL;
  }
}

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

/** Who is compared with whom. */
const PAIRS = [
  ['framemask', 'bufferutil'],
  ['framemask', 'node:http'],
  ['framemask js', 'bufferutil js'],
  ['framemask js', 'byte loop']
];

/**
 * @param {string} work a name in WORK
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
    ...results[0].ratios.map(({ own, peer }) => `${own} : ${peer}`)
  ];
  const rows = results.map(({ size, ns, ratios }) => [
    formatSize(size),
    ...names.map((name) => formatNumber(ns[name])),
    formatNumber(size / ns[own]),
    ...ratios.map(({ ratio }) => ratio.toFixed(2))
  ]);
  return formatTable(head, rows);
}

/** Reads what only this benchmark takes. */
function readOptions() {
  const values = readArguments(USAGE, {
    sizes: { type: 'string', default: SIZES },
    only: { type: 'string' },
    kernel: { type: 'string' },
    turn: { type: 'string' }
  });
  try {
    const { only, kernel, quick, turn = quick ? '2' : '10' } = values;
    if (only !== undefined && !Object.hasOwn(WORK, only))
      throw new RangeError(`--only takes mask or unmask, but was "${only}"`);
    return {
      ...values,
      sizes: readSizes('sizes', values.sizes),
      works: only === undefined ? Object.keys(WORK) : [only],
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
    const { prepare, repeat } = WORK[work];
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
