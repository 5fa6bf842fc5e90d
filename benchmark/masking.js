'use strict';

// How fast is masking? framemask, on the addon and in JavaScript, beside npm's bufferutil, on its
// addon and its fallback, and the loop of ws. All work by turns, in one process, on the same bytes.

const { runBenchmark } = require('./support/harness');
const { randomFillSync } = require('node:crypto');
const http = require('node:http');
const { findAddon } = require('../lib/masking/find-addon');
const { MASKING_ROWS, SIZES } = require('./support/masking-rows');
const { loadFramemask } = require('./support/modules');
const { count, flag, sizes, text } = require('./support/options');
const { fresh, timed } = require('./support/race');
const { formatSize } = require('./support/tables');

const USAGE = `usage: node benchmark/masking.js [options]

Times mask and unmask of framemask, bufferutil and a byte loop. Prints the median nanoseconds a call,
framemask's GB/s, and how many times faster framemask is. Takes about half a minute.`;

const OPTIONS = {
  sizes: sizes('payload lengths, such as 125,4k,1m', SIZES),
  kernel: text('<name>', 'the kernel to use, as FRAMEMASK_KERNEL names it'),
  kernels: flag('also each other kernel that the processor has'),
  turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2)
};

const GROUPS = { unmask: '`unmask` in place', mask: '`mask` into another buffer' };

const PAIRS = [
  ['framemask', 'bufferutil'],
  ['framemask', 'node:http'],
  ['framemask js', 'bufferutil js']
];

/** The loop that ws uses without bufferutil, and for short payloads. */
const byteLoop = {
  mask(source, key, output, offset, length) {
    for (let i = 0; i < length; i++) output[offset + i] = source[i] ^ key[i & 3];
  },
  unmask(buffer, key) {
    for (let i = 0; i < buffer.length; i++) buffer[i] ^= key[i & 3];
  }
};

/** @returns {Record<string, { mask: Function, unmask: Function }>} by name */
function findContestants(wanted, all) {
  const framemask = loadFramemask(wanted);
  const { kernel, nativeError } = framemask;
  if (nativeError !== null) console.error(`framemask has no addon here: ${nativeError.message}`);
  const others = all && kernel !== 'js' ? findAddon().kernels.filter((name) => name !== kernel) : [];
  const bufferutil = require('bufferutil');
  const fallback = require('bufferutil/fallback');
  return {
    ...(kernel !== 'js' && { framemask }),
    ...Object.fromEntries(others.map((name) => [`framemask ${name}`, loadFramemask(name)])),
    'framemask js': loadFramemask('js'),
    ...(bufferutil !== fallback && { bufferutil }),
    'bufferutil js': fallback,
    'byte loop': byteLoop,
    // Node.js has these from 26.12 on.
    ...(http.websocketMask && { 'node:http': { mask: http.websocketMask, unmask: http.websocketUnmask } })
  };
}

runBenchmark({
  name: 'masking',
  usage: USAGE,
  options: OPTIONS,
  peers: ['bufferutil'],
  sets({ sizes, kernel, kernels, turn }) {
    const contestants = findContestants(kernel, kernels);
    const key = randomFillSync(Buffer.alloc(4));
    return Object.entries(MASKING_ROWS).map(([work, { prepare, repeat }]) => ({
      rows: sizes.map((bytes) => ({ name: `${work} ${formatSize(bytes)}`, group: GROUPS[work], bytes, pairs: PAIRS })),
      start() {
        const entries = Object.entries(contestants).map(([name, contestant]) => [name, contestant, fresh(repeat)]);
        const candidates = ({ bytes }) => {
          const prepared = prepare(bytes);
          const loop = ([name, contestant, repeat]) => [name, (calls) => repeat(contestant, key, prepared, calls)];
          return timed(Object.fromEntries(entries.map(loop)), { turn, warm: 0 });
        };
        return { candidates };
      }
    }));
  }
});
