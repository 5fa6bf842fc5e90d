'use strict';

// The bytes of both ends of a connection → its frames in the session, each with its verdict.

const { setImmediate: turn } = require('node:timers/promises');
const { Judge } = require('./judge');
const { parseFrames } = require('./parse-frames');

/** How many bytes are judged before others have their turn; a frame counts as so many more. */
const BATCH_BYTES = 4 * 1024 * 1024;
const FRAME = 2048;

/**
 * @typedef {object} Stream of one end
 * @property {Buffer} bytes
 * @property {{ offset: number, order: number, time: number | null }[]} chunks that arrived together:
 *   the offset of the first byte, the time, and a number that ascends over both ends
 */

/** @returns {'client' | 'server'} the end that sends such frames: only clients mask (section 5.1) */
function senderOf(bytes) {
  return bytes.length > 1 && (bytes[1] & 0x80) !== 0 ? 'client' : 'server';
}

/** Yields the frames of one end, with the order of the chunk that each began in. */
function* framesOf(from, { bytes, chunks } = { bytes: Buffer.alloc(0) }, settings) {
  const judge = new Judge(from, settings);
  let chunk = 0;
  let sequence = 0;
  for (const parsed of parseFrames(bytes)) {
    while (chunk + 1 < chunks.length && chunks[chunk + 1].offset <= parsed.start) chunk++;
    const { order, time } = chunks[chunk] ?? { order: 0, time: null };
    const { state, fault, message } = judge.judge(parsed);
    const { opcode, fin, rsv, masked, length } = parsed;
    const fields = { from, sequence: ++sequence, time, opcode, fin, rsv, masked, length, parsed };
    yield { order, frame: { ...fields, beginning: null, inflated: message, state, fault, ends: null } };
  }
}

/** Yields the frames of both ends by the order in which they began. */
function* merge(...iterators) {
  const ends = iterators.map((frames) => ({ frames, next: frames.next() }));
  for (;;) {
    const left = ends.filter(({ next }) => !next.done);
    if (left.length === 0) return;
    const first = left.length === 1 || left[0].next.value.order <= left[1].next.value.order ? left[0] : left[1];
    yield first.next.value.frame;
    first.next = first.frames.next();
  }
}

/**
 * Adds a connection and its frames. Others have their turn meanwhile.
 *
 * @param {import('./session').Session} session
 * @param {{ name: string, client?: Stream, server?: Stream, settings: object }} connection
 *   `settings` are those of Judge
 */
async function addStreams(session, { name, client, server, settings }) {
  const { generation } = session;
  const connection = session.addConnection(name);
  let bytes = 0;
  for (const frame of merge(framesOf('client', client, settings), framesOf('server', server, settings))) {
    frame.connection = connection;
    if (!session.addFrame(frame)) return;
    bytes += FRAME + frame.parsed.bytes.length + (frame.inflated?.length ?? 0);
    keepInflated(session, frame);
    if (bytes < BATCH_BYTES) continue;
    bytes = 0;
    await turn();
    if (session.generation !== generation) return;
  }
}

/** Keeps the Decoder's message only if its frames do not have the same bytes. */
function keepInflated(session, frame) {
  if (frame.inflated === null) return;
  const [first] = session.messageOf(frame);
  frame.inflated = (first.rsv & 4) === 0 ? null : session.keep(frame.inflated);
}

module.exports = { addStreams, senderOf };
