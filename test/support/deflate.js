'use strict';

const zlib = require('node:zlib');
const { Decoder, acceptDeflate, offerDeflate } = require('../../index');
const { framesFor } = require('./frames');

/** Both endpoints' agreement on these options. */
function agree(options = {}) {
  const offer = offerDeflate(options);
  const server = acceptDeflate(offer.header, options);
  return { server, client: offer.readAnswer(server.header) };
}

/** A message as zlib compresses it (RFC 7692 section 7.2.1). */
function deflateByZlib(bytes, options) {
  const deflated = zlib.deflateRawSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH, ...options });
  return deflated.subarray(0, -4);
}

/** Four blocks with codes of their own, each of which ends at once. */
const BLOCKS = Buffer.from(
  '04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a',
  'hex'
);
const emptyBlocks = (size) => Buffer.alloc(size - (size % BLOCKS.length), BLOCKS);

/** Inflates as much as one turn of the event loop may: what comes next waits for another. */
function useUpTurn() {
  const decoder = new Decoder({ role: 'client', deflate: agree().client, onMessage() {} });
  const message = framesFor('client').binary(emptyBlocks(4096), { rsv: 0x40 });
  for (let written = 0; !decoder.inflating; written++) {
    if (written === 1000) throw new Error('A turn has no limit');
    decoder.write(Buffer.from(message));
  }
  decoder.stop();
}

/** The streams of zlib that are created from now on, until the test ends. */
function newStreams(t, method = 'createInflateRaw') {
  const created = [];
  const original = Object.getOwnPropertyDescriptor(zlib, method);
  const value = (options) => {
    created.push(original.value(options));
    return created.at(-1);
  };
  Object.defineProperty(zlib, method, { ...original, value });
  t.teardown(() => Object.defineProperty(zlib, method, original));
  return created;
}

/** The next part of a PartStream, when it comes; null if its bytes are used up. */
async function nextPart(stream) {
  for (;;) {
    const part = stream.next();
    if (part !== null || !stream.mustWait) return part;
    await new Promise((resolve) => stream.wait(resolve));
  }
}

const json = (count) => JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, name: `user ${id}` })));

module.exports = { agree, deflateByZlib, emptyBlocks, json, newStreams, nextPart, useUpTurn };
