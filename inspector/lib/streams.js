'use strict';

// The bytes of both ends of connections → their frames in the session, each with its verdict.

const { setImmediate: turn } = require('node:timers/promises');
const { Judge } = require('./judge');
const { parseFrames } = require('./parse-frames');
const { isCompressed } = require('./rows');

/** How many bytes are judged before others have their turn; a frame counts as so many more. */
const BATCH_BYTES = 4 * 1024 * 1024;
const FRAME = 2048;

/**
 * @typedef {object} Stream of one end
 * @property {Buffer} bytes
 * @property {{ offset: number, order: number, time: number | null }[]} chunks that arrived together:
 *   the offset of the first byte, the time, and a number that ascends over both ends
 */

/** @returns {'client' | 'server'} the end that sends such bytes: only clients ask, and mask (section 5.1) */
function senderOf(bytes) {
  if (bytes.subarray(0, 4).latin1Slice() === 'GET ') return 'client';
  return bytes.length > 1 && (bytes[1] & 0x80) !== 0 ? 'client' : 'server';
}

/** Yields the frames of one end, with the order of the chunk that each began in. */
function* framesOf(connection, from, { bytes, chunks } = { bytes: Buffer.alloc(0) }, settings) {
  const judge = new Judge(from, settings);
  let chunk = 0;
  let sequence = 0;
  for (const parsed of parseFrames(bytes)) {
    while (chunk + 1 < chunks.length && chunks[chunk + 1].offset <= parsed.start) chunk++;
    const { order, time } = chunks[chunk] ?? { order: 0, time: null };
    const { state, fault, message } = judge.judge(parsed);
    const { opcode, fin, rsv, masked, length } = parsed;
    const fields = { connection, from, sequence: ++sequence, time, opcode, fin, rsv, masked, length, parsed };
    yield { order, frame: { ...fields, beginning: null, inflated: message, state, fault, ends: null } };
  }
}

/** Yields the frames of all ends by the order in which they began. */
function* merge(streams) {
  const waiting = streams.map((frames) => ({ frames, next: frames.next() })).filter(({ next }) => !next.done);
  const orderOf = ({ next }) => next.value.order;
  waiting.sort((a, b) => orderOf(a) - orderOf(b));
  while (waiting.length > 0) {
    const first = waiting.shift();
    yield first.next.value.frame;
    first.next = first.frames.next();
    if (first.next.done) continue;
    // Before those of the same order: the frames of a chunk stay together.
    let at = 0;
    for (let end = waiting.length; at < end; ) {
      const middle = (at + end) >> 1;
      if (orderOf(waiting[middle]) < orderOf(first)) at = middle + 1;
      else end = middle;
    }
    waiting.splice(at, 0, first);
  }
}

const sizeOf = (stream) => stream?.bytes?.length ?? 0;

/**
 * Adds connections and their frames. Others have their turn meanwhile.
 *
 * @param {import('./session').Session} session
 * @param {{ name: string, url: string | null, client?: Stream, server?: Stream, settings: object }[]} connections
 *   `settings` are those of Judge
 */
async function addStreams(session, connections) {
  const { generation } = session;
  const streams = connections.flatMap(({ client, server, settings, ...names }) => {
    const connection = session.addConnection(names);
    return [framesOf(connection, 'client', client, settings), framesOf(connection, 'server', server, settings)];
  });
  const total = connections.reduce((sum, { client, server }) => sum + sizeOf(client) + sizeOf(server), 0);
  let done = 0;
  let bytes = 0;
  for (const frame of merge(streams)) {
    if (!session.addFrame(frame)) return;
    done += frame.parsed.bytes.length;
    bytes += FRAME + frame.parsed.bytes.length + (frame.inflated?.length ?? 0);
    keepInflated(session, frame);
    if (bytes < BATCH_BYTES) continue;
    bytes = 0;
    session.setProgress(done / total);
    await turn();
    if (session.generation !== generation) return;
  }
}

/** Keeps the Decoder's message only if its frames do not have the same bytes. */
function keepInflated(session, frame) {
  if (frame.inflated === null) return;
  frame.inflated = isCompressed(frame) ? session.keep(frame.inflated) : null;
}

module.exports = { addStreams, senderOf };
