'use strict';

// Rows of compressed frames, of which compare.js times two checkouts.

const { setImmediate } = require('node:timers/promises');
const { deflateByZlib } = require('../../test/support/deflate');
const { CONTINUATION, TEXT, frame } = require('../../test/support/frames');
const { cut, jsonPayloads } = require('./messages');

const NO_TAKEOVER = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';
const RSV1 = 0x40;
const FRAGMENTS = 4;
/** A key that changes nothing: the same chunks can be decoded again and again. */
const NO_KEY = Buffer.alloc(4);

/** @returns {Buffer} the frames of a message */
function framesOf(payload, fragments) {
  const deflated = deflateByZlib(payload);
  const pieces = cut(deflated, Math.ceil(deflated.length / fragments));
  return Buffer.concat(
    pieces.map((piece, i) => {
      const [opcode, rsv] = i === 0 ? [TEXT, RSV1] : [CONTINUATION, 0];
      return frame(opcode, piece, { fin: i === pieces.length - 1, rsv, key: NO_KEY });
    })
  );
}

/** A contestant of the timed loops: see decode.js. `idle` waits for the thread pool. */
const inflater =
  ({ inParts, inPool }) =>
  ({ Decoder, acceptDeflate }) =>
  (deliver) => {
    const deflate = acceptDeflate(NO_TAKEOVER, { threadPoolFrom: inPool ? 0 : Infinity });
    const handlers = inParts
      ? { onPart: (_data, _isBinary, isLast) => isLast && deliver() }
      : { onMessage: () => deliver() };
    let resume = null;
    const decoder = new Decoder({ role: 'server', deflate, ...handlers, onInflated: () => resume?.() });
    // The messages of a turn have a limit, too.
    const idle = () => (decoder.inflating ? new Promise((done) => (resume = done)).then(idle) : undefined);
    return { write: (chunk) => decoder.write(chunk), idle };
  };

function row(name, { count, size, fragments = 1, inParts = false, inPool = false }) {
  const create = () => {
    const chunks = cut(Buffer.concat(jsonPayloads(size, count).map((json) => framesOf(json, fragments))), 64 * 1024);
    const loop = (_name, contestant) => {
      let found = 0;
      const { write, idle } = contestant(() => found++);
      return async (calls) => {
        for (let i = 0; i < calls; i++) {
          found = 0;
          for (const chunk of chunks) write(chunk);
          await idle();
          // What a turn of the event loop inflates has a limit.
          await setImmediate();
          if (found !== count) throw new Error(`found ${found} of ${count} messages`);
        }
      };
    };
    return { count, loop };
  };
  return { name, create, ofFramemask: inflater({ inParts, inPool }) };
}

const ROWS = [
  row('one frame of 1 KiB', { count: 50, size: 1024 }),
  row('one frame of 16 KiB', { count: 5, size: 16 * 1024 }),
  row(`1 KiB in ${FRAGMENTS} fragments`, { count: 50, size: 1024, fragments: FRAGMENTS }),
  row('1 KiB in parts', { count: 50, size: 1024, inParts: true }),
  row('256 KiB in parts', { count: 2, size: 256 * 1024, inParts: true }),
  row('64 KiB in the thread pool', { count: 4, size: 64 * 1024, inPool: true })
];

module.exports = { NO_TAKEOVER, ROWS };
