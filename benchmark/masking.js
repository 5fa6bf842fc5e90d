'use strict';

// All work by turns, in one process, on the same bytes.

const { runCodec } = require('./support/harness');
const { randomFillSync } = require('node:crypto');
const http = require('node:http');
const { findAddon } = require('../lib/masking/native');
const { headerSize } = require('./support/messages');
const { loadFramemask } = require('./support/modules');
const { fresh } = require('./support/race');
const { formatSize } = require('./support/tables');

const USAGE = `usage: node benchmark/masking.js [options]

Times mask and unmask of framemask, bufferutil, Node.js (from 26.12 on, http.websocketMask) and a byte loop. Prints the median nanoseconds a call,
framemask's GB/s, and how many times faster framemask is. Takes about two minutes.`;

const KIB = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 16384];
/** The payload lengths. */
const SIZES = [8, 16, 24, 32, 48, 64, 96, 125, ...KIB.map((size) => size * 1024)];

/** Where a payload begins in its frame (RFC 6455 section 5.2). */
const headerSizes = (size) => ({ server: headerSize(size, false), client: headerSize(size, true) });

/** Shorter payloads take turns, so that no call uses bytes that the processor is still writing. */
const SPREAD = 8192;

/** @returns {Buffer[]} 1, 2, 4, 8 or 16 payloads, all at the same offset from a multiple of 64 */
function makePayloads(size, offset) {
  const stride = Math.ceil((offset + size) / 64) * 64;
  const count = Math.min(16, 2 ** Math.max(0, Math.floor(Math.log2(SPREAD / stride))));
  const memory = randomFillSync(Buffer.allocUnsafeSlow(count * stride));
  return Array.from({ length: count }, (_, i) => memory.subarray(i * stride + offset, i * stride + offset + size));
}

/** A server's work on a client's frame, and that of a client that copies a payload into a frame. */
const WORKS = {
  unmask: {
    group: '`unmask` in place',
    prepare(size) {
      const buffers = makePayloads(size, headerSizes(size).client);
      return { buffers, last: buffers.length - 1, result: buffers[0] };
    },
    repeat: ({ unmask }, key, { buffers, last }, calls) => {
      for (let i = 0; i < calls; i++) unmask(buffers[i & last], key);
    }
  },
  mask: {
    group: '`mask` into another buffer',
    prepare(size) {
      const { server, client: offset } = headerSizes(size);
      const sources = makePayloads(size, server);
      const outputs = makePayloads(size + offset, 0);
      const last = Math.min(sources.length, outputs.length) - 1;
      return { sources, outputs, offset, size, last, result: outputs[0] };
    },
    repeat: ({ mask }, key, { sources, outputs, offset, size, last }, calls) => {
      for (let i = 0; i < calls; i++) mask(sources[i & last], key, outputs[i & last], offset, size);
    }
  }
};

/** The loop that ws uses without bufferutil, and for short payloads. */
const byteLoop = {
  mask(source, key, output, offset, length) {
    for (let i = 0; i < length; i++) output[offset + i] = source[i] ^ key[i & 3];
  },
  unmask(buffer, key) {
    for (let i = 0; i < buffer.length; i++) buffer[i] ^= key[i & 3];
  }
};

/** @returns {object} the loops of a work, each of which is first compared with the one of ws */
function createWork({ prepare, repeat }, bytes) {
  const key = randomFillSync(Buffer.alloc(4));
  const prepared = prepare(bytes);
  const { result } = prepared;
  const resultOf = (contestant, before) => {
    before.copy(result);
    repeat(contestant, key, prepared, 1);
    return Buffer.from(result);
  };
  const loop = (who, contestant) => {
    const before = Buffer.from(result);
    if (!resultOf(contestant, before).equals(resultOf(byteLoop, before))) throw new Error(`${who} masks wrongly`);
    const run = fresh(repeat);
    return (calls) => run(contestant, key, prepared, calls);
  };
  return { count: 1, bytes, loop };
}

/** @returns {object[]} rows for these payload lengths */
const listRows = (sizes) =>
  Object.entries(WORKS).flatMap(([name, work]) =>
    sizes.map((bytes) => ({
      name: `${name} ${formatSize(bytes)}`,
      group: work.group,
      create: () => createWork(work, bytes),
      ofFramemask: (framemask) => framemask
    }))
  );

/** @returns {Record<string, { mask: Function, unmask: Function }>} by name */
function findContestants() {
  const framemask = loadFramemask();
  const { kernel } = framemask;
  const others = kernel === 'js' ? [] : findAddon().kernels.filter((name) => name !== kernel);
  const bufferutil = require('bufferutil');
  const fallback = require('bufferutil/fallback');
  const { websocketMask: mask, websocketUnmask: unmask } = http;
  return {
    ...(kernel !== 'js' && { framemask }),
    ...Object.fromEntries(others.map((name) => [`framemask ${name}`, loadFramemask(name)])),
    'framemask js': loadFramemask('js'),
    ...(bufferutil !== fallback && { bufferutil }),
    ...(mask !== undefined && { 'Node.js': { mask, unmask } }),
    'bufferutil js': fallback,
    'byte loop': byteLoop
  };
}

module.exports = { listRows };

if (require.main === module) {
  runCodec({
    name: 'masking',
    usage: USAGE,
    peers: ['bufferutil'],
    rows: listRows(SIZES),
    contestants: findContestants(),
    pairs: [
      ['framemask', 'bufferutil'],
      ['framemask', 'Node.js'],
      ['framemask js', 'bufferutil js']
    ]
  });
}
