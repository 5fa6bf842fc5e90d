'use strict';

const { BINARY, TEXT, asciiPayload, uniformMessages } = require('./messages');
const { fresh } = require('./race');

/**
 * @typedef {object} EncodeRow
 * @property {'client' | 'server'} role
 * @property {() => { first: number, payload: Buffer }[]} make makes the messages
 * @property {boolean} [prepared] true for messages that are prepared once and sent many times
 * @property {boolean} [flushEach] true to flush after each message, not after all
 */

/** How many small messages are encoded before each flush. */
const MESSAGES_A_FLUSH = 64;

const smallMessages = (first, size) => Array(MESSAGES_A_FLUSH).fill({ first, payload: asciiPayload(size) });

/**
 * The rows of the encoding benchmark, by name.
 *
 * @type {Record<string, EncodeRow>}
 */
const ENCODE_ROWS = {
  ...Object.fromEntries(
    ['server', 'client'].flatMap((role) =>
      [16, 64, 125, 1024].flatMap((size) => [
        [`${role}: text ${size} B`, { role, make: () => smallMessages(TEXT, size) }],
        [`${role}: binary ${size} B`, { role, make: () => smallMessages(BINARY, size) }]
      ])
    )
  ),
  'server: prepared 64 B': { role: 'server', prepared: true, make: () => smallMessages(TEXT, 64) },
  'server: prepared 4 KiB': { role: 'server', prepared: true, make: () => smallMessages(TEXT, 4096) },
  'client: one of 1,000': { role: 'client', make: () => uniformMessages(1000), flushEach: true }
};

/** Stands in for a socket. It counts bytes, and encodes strings as UTF-8, as a socket must. */
class Sink {
  constructor() {
    this.bytes = 0;
    this.writable = true;
    this.writableLength = 0;
    this.memory = Buffer.alloc(3 * 65536);
  }

  write(chunk, callback) {
    this.bytes += typeof chunk === 'string' ? this.memory.utf8Write(chunk, 0) : chunk.length;
    if (typeof callback === 'function') callback();
    return true;
  }

  cork() {}
  uncork() {}
}

/**
 * The sender of a package. With `prepare`, which encodes a message once, `text` takes its result.
 *
 * @typedef {{ prepare?: Function, text: Function, binary: Function, flush: Function }} Sender
 */

/**
 * @param {typeof import('../../index.js')} framemask
 * @param {Sink} sink
 * @param {EncodeRow} row
 * @returns {Sender}
 */
function createEncoder(framemask, sink, row) {
  // Closures made in one place share V8's type feedback, unless their maker is a fresh copy.
  return fresh(createSender)(framemask, sink, row);
}

function createSender({ Encoder, prepare }, sink, { role, prepared }) {
  const encoder = new Encoder({ role, recycle: true });
  return {
    prepare: prepared ? (data) => prepare(data) : undefined,
    text: prepared ? (message) => encoder.prepared(message) : (data) => encoder.text(data),
    binary: (data) => encoder.binary(data),
    flush: () => encoder.flush(sink)
  };
}

function sendAll({ text, binary, flush }, messages, flushEach, calls) {
  for (let i = 0; i < calls; i++) {
    for (let j = 0; j < messages.length; j++) {
      const { isText, data } = messages[j];
      if (isText) text(data);
      else binary(data);
      if (flushEach) flush();
    }
    flush();
  }
}

/**
 * Makes the loop that is timed, after a check that the sender writes every byte.
 *
 * @param {string} name of the sender, for errors
 * @param {(sink: Sink, row: EncodeRow) => Sender | null} create
 * @param {EncodeRow} row
 * @param {{ first: number, payload: Buffer }[]} frames what `row.make` made
 * @returns {((calls: number) => void) | null} null if the package can't do the work of this row
 * @throws {Error} if the sender writes fewer or more bytes than the frames have
 */
function prepareEncoding(name, create, row, frames) {
  const sink = new Sink();
  const sender = create(sink, row);
  if (sender === null) return null;
  const messages = frames.map(({ first, payload }) => {
    const isText = first === TEXT;
    const data = isText ? payload.latin1Slice() : payload;
    return { isText, data: sender.prepare?.(data) ?? data };
  });
  const repeat = fresh(sendAll);
  const before = sink.bytes;
  sendAll(sender, messages, false, 1);
  const header = (length) => (length < 126 ? 2 : length < 65536 ? 4 : 10) + (row.role === 'client' ? 4 : 0);
  const expected = frames.reduce((sum, { payload: { length } }) => sum + header(length) + length, 0);
  if (sink.bytes - before !== expected) throw new Error(`${name} wrote ${sink.bytes - before} of ${expected} bytes`);
  return (calls) => repeat(sender, messages, row.flushEach ?? false, calls);
}

module.exports = { ENCODE_ROWS, createEncoder, prepareEncoding };
