'use strict';

// How fast is masking? framemask, on the addon and in JavaScript, beside npm's bufferutil, on its
// addon and its fallback, and the loop of ws. All work by turns, in one process, on the same bytes.

const { runCodec } = require('./support/codec');
const { randomFillSync } = require('node:crypto');
const http = require('node:http');
const { findAddon } = require('../lib/masking/native');
const { loadFramemask } = require('./support/modules');
const { flag, sizes, text } = require('./support/options');
const { fresh } = require('./support/race');
const { formatSize } = require('./support/tables');

const USAGE = `usage: node benchmark/masking.js [options]

Times mask and unmask of framemask, bufferutil and a byte loop. Prints the median nanoseconds a call,
framemask's GB/s, and how many times faster framemask is. Takes about half a minute.`;

/** The payload lengths, as --sizes takes them. */
const SIZES = '0,8,16,32,64,125,512,1k,4k,16k,32k,64k,256k,1m,16m';

/**
 * Where a payload begins in its frame: the header has 2 bytes, 4 for lengths from 126 on and 10 from
 * 65536 on. A masking key has 4 more (RFC 6455 section 5.2).
 */
function headerSizes(size) {
  const server = size < 126 ? 2 : size < 65536 ? 4 : 10;
  return { server, client: server + 4 };
}

/** Shorter payloads take turns, so that no call uses bytes that the processor is still writing. */
const SPREAD = 8192;

/** @returns {Buffer[]} 1, 2, 4, 8 or 16 payloads, all at the same offset from a multiple of 64 */
function makePayloads(size, offset) {
  const stride = Math.ceil((offset + size) / 64) * 64;
  const count = Math.min(16, 2 ** Math.max(0, Math.floor(Math.log2(SPREAD / stride))));
  const memory = randomFillSync(Buffer.allocUnsafeSlow(count * stride));
  return Array.from({ length: count }, (_, i) => memory.subarray(i * stride + offset, i * stride + offset + size));
}

/** What a server does with a frame of a client, and a client that copies a payload into a frame of its own. */
const WORKS = {
  unmask: {
    group: '`unmask` in place',
    prepare(size) {
      const buffers = makePayloads(size, headerSizes(size).client);
      return { buffers, last: buffers.length - 1 };
    },
    repeat: ({ unmask }, key, { buffers, last }, calls) => {
      for (let i = 0; i < calls; i++) unmask(buffers[i & last], key);
    }
  },
  mask: {
    group: '`mask` into another buffer',
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

/** @returns {import('./support/codec').CodecRow[]} for these payload lengths */
function listRows(sizes) {
  return Object.entries(WORKS).flatMap(([work, { group, prepare, repeat }]) =>
    sizes.map((bytes) => {
      const create = () => {
        const key = randomFillSync(Buffer.alloc(4));
        const prepared = prepare(bytes);
        const loop = (_who, contestant) => {
          const run = fresh(repeat);
          return (calls) => run(contestant, key, prepared, calls);
        };
        return { count: 1, bytes, loop };
      };
      return { name: `${work} ${formatSize(bytes)}`, group, create };
    })
  );
}

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

module.exports = { SIZES, listRows };

if (require.main === module) {
  runCodec({
    name: 'masking',
    usage: USAGE,
    options: {
      sizes: sizes('payload lengths, such as 125,4k,1m', SIZES),
      kernel: text('<name>', 'the kernel to use, as FRAMEMASK_KERNEL names it'),
      kernels: flag('also each other kernel that the processor has')
    },
    peers: ['bufferutil'],
    rows: ({ sizes }) => listRows(sizes),
    contestants: ({ kernel, kernels }) => findContestants(kernel, kernels),
    pairs: [
      ['framemask', 'bufferutil'],
      ['framemask', 'node:http'],
      ['framemask js', 'bufferutil js']
    ],
    warm: 0
  });
}
