'use strict';

// The bytes of both ends of connections → their frames in the session, each with its verdict.

const { setImmediate: turn } = require('node:timers/promises');
const { Judge } = require('./judge');
const { parseFrames } = require('./parse-frames');

/** How many bytes are judged before others have their turn; a frame counts as so many more. */
const BATCH_BYTES = 4 * 1024 * 1024;
const FRAME = 2048;

/**
 * @typedef {object} Stream of one end
 * @property {Buffer} bytes
 * @property {{ offset: number, order: number, time: number | null }[]} chunks that arrived
 *   together: the offset of the first byte, the time, and a number that ascends over both ends
 */

/** Joins the pieces that one end has sent. */
class StreamBuilder {
  constructor() {
    this.length = 0;
    this._pieces = [];
    this._chunks = [];
  }

  add(bytes, order, time = null) {
    if (this._chunks.at(-1)?.order !== order) this._chunks.push({ offset: this.length, order, time });
    this._pieces.push(bytes);
    this.length += bytes.length;
  }

  /** @returns {Stream} */
  build() {
    return { bytes: Buffer.concat(this._pieces), chunks: this._chunks };
  }
}

/** @returns {{ client?: Stream, server?: Stream }} of pieces, in the order of sending */
function joinPieces(pieces) {
  const builders = {};
  for (const [place, { from, bytes, time, order = place }] of pieces.entries()) {
    builders[from] ??= new StreamBuilder();
    builders[from].add(bytes, order, time);
  }
  return Object.fromEntries(Object.entries(builders).map(([from, builder]) => [from, builder.build()]));
}

/**
 * @returns {'client' | 'server'} the end that sends such bytes: only clients ask, and mask (section
 *   5.1)
 */
function senderOf(bytes) {
  return bytes.toString('latin1', 0, 4) === 'GET ' || bytes[1] >= 0x80 ? 'client' : 'server';
}

/** Yields the frames of one end, with the order of the chunk that each began in. */
function* framesOf(connection, from, { bytes, chunks } = { bytes: Buffer.alloc(0) }, deflate) {
  const judge = new Judge(from, deflate);
  let chunk = 0;
  let sequence = 0;
  for (const parsed of parseFrames(bytes)) {
    while (chunks[chunk + 1]?.offset <= parsed.start) chunk++;
    const { order, time } = chunks[chunk];
    const { message, state, fault } = judge.judge(parsed);
    const { opcode, fin, rsv, masked, length } = parsed;
    const fields = { connection, from, sequence: ++sequence, time, opcode, fin, rsv, masked, length, parsed };
    yield { order, message, frame: { ...fields, beginning: null, state, fault, ends: null } };
  }
}

/**
 * Yields the frames of all ends by the order in which they began. Halves that are merged take time
 * in proportion to the frames: with a sorted list of ends, 100,000 connections took 24 s.
 */
function* merge(streams) {
  if (streams.length === 1) yield* streams[0];
  if (streams.length <= 1) return;
  const middle = streams.length >> 1;
  const halves = [streams.slice(0, middle), streams.slice(middle)].map(merge);
  const nexts = halves.map((half) => half.next());
  while (!nexts[0].done || !nexts[1].done) {
    const [left, right] = nexts;
    const side = left.done || right.value?.order < left.value.order ? 1 : 0;
    yield nexts[side].value;
    nexts[side] = halves[side].next();
  }
}

/**
 * Adds connections and their frames. Others have their turn meanwhile.
 * @param {object[]} connections results of connectionOf
 */
async function addStreams(session, connections) {
  const { generation } = session;
  const streams = connections.flatMap(({ client, server, deflate, ...names }) => {
    const connection = session.addConnection(names);
    return [framesOf(connection, 'client', client, deflate), framesOf(connection, 'server', server, deflate)];
  });
  const sizes = connections.flatMap(({ client, server }) => [client?.bytes.length ?? 0, server?.bytes.length ?? 0]);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let done = 0;
  let bytes = 0;
  for (const { frame, message } of merge(streams)) {
    if (!session.addFrame(frame)) return;
    done += frame.parsed.bytes.length;
    bytes += FRAME + frame.parsed.bytes.length + (message?.length ?? 0);
    // Only if the frames do not have the same bytes.
    if (message !== null && frame.message.isCompressed) frame.message.inflated = session.keep(message);
    if (bytes < BATCH_BYTES) continue;
    bytes = 0;
    session.setProgress(done / total);
    await turn();
    if (session.generation !== generation) return;
  }
}

module.exports = { StreamBuilder, addStreams, joinPieces, senderOf };
