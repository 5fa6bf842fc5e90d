'use strict';

const { randomFillSync } = require('node:crypto');

/** The payload lengths of the masking benchmark, as `readSizes` takes them. */
const SIZES = '0,8,16,32,64,125,512,1k,4k,16k,32k,64k,256k,1m,16m';

/**
 * Where a payload begins in its frame: the header has 2 bytes, 4 for lengths from 126 on and 10
 * from 65536 on. A masking key has 4 more (RFC 6455 section 5.2).
 *
 * @param {number} size of the payload
 * @returns {{ server: number, client: number }} the header's size in a frame that this side sends
 */
function headerSizes(size) {
  const server = size < 126 ? 2 : size < 65536 ? 4 : 10;
  return { server, client: server + 4 };
}

/** Shorter payloads take turns, so that no call uses bytes that the processor is still writing. */
const SPREAD = 8192;

/**
 * @param {number} size the payloads' length
 * @param {number} offset where in its chunk each of them begins
 * @returns {Buffer[]} 1, 2, 4, 8 or 16 payloads, all at the same offset from a multiple of 64
 */
function makePayloads(size, offset) {
  const stride = Math.ceil((offset + size) / 64) * 64;
  const count = Math.min(16, 2 ** Math.max(0, Math.floor(Math.log2(SPREAD / stride))));
  const memory = randomFillSync(Buffer.allocUnsafeSlow(count * stride));
  return Array.from({ length: count }, (_, i) => memory.subarray(i * stride + offset, i * stride + offset + size));
}

/**
 * The two kinds of rows of the masking benchmark. `prepare` makes the buffers for a length,
 * `repeat` is the loop that is timed. `unmask` is what a server does with a frame of a client.
 * `mask` is what a client does when it copies the payload of a server's frame into a frame of its own.
 */
const MASKING_ROWS = {
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

module.exports = { MASKING_ROWS, SIZES };
