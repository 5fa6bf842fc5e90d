'use strict';

// All work by turns, in one process, and write to a stand-in for a socket.

const { runCodec } = require('./support/harness');
const { BINARY, TEXT, asciiPayload, headerSize, uniformMessages } = require('./support/messages');
const { loadFramemask, loadPeer } = require('./support/modules');
const { fresh } = require('./support/race');

const USAGE = `usage: node benchmark/encode.js [options]

Times the encoding of messages. Prints the median nanoseconds a message, and how many times faster framemask is than
ws. Takes about two minutes.`;

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

/** A copy is made of it for each framemask: closures made in one place share V8's type feedback. */
function createSender({ Encoder, prepare }, sink, { role, prepared }) {
  const encoder = new Encoder({ role, recycle: true });
  return {
    ...(prepared && { prepare }),
    text: prepared ? (message) => encoder.addPrepared(message) : (data) => encoder.text(data),
    binary: (data) => encoder.binary(data),
    flush: () => encoder.flush(sink)
  };
}

/** A contestant makes a sender. `prepare`, if any, encodes a message once, for `text`. */
const ofFramemask = (framemask) => (sink, work) => fresh(createSender)(framemask, sink, work);

/**
 * Keeps one of the options objects that ws makes for each frame alive. If a major collection runs
 * while there is none, V8 drops their hidden class, and each then costs 500 ns. Without this, about
 * half of the runs of this benchmark were affected; a busy server may not be.
 */
function keepShape(Sender, sender) {
  const { frame } = Sender;
  Sender.frame = (data, options) => {
    sender.kept = options;
    return frame(data, options);
  };
  sender.send('', { fin: true, binary: false, compress: false, mask: false }, undefined);
  Sender.frame = frame;
}

const CONTESTANTS = {
  framemask: (...args) => ofFramemask(loadFramemask())(...args),
  'framemask js': (...args) => ofFramemask(loadFramemask('js'))(...args),
  ws(sink, { role, prepared }) {
    const { Sender } = loadPeer('ws');
    const sender = new Sender(sink);
    keepShape(Sender, sender);
    const send = (binary, data) =>
      sender.send(data, { fin: true, binary, compress: false, mask: role === 'client' }, undefined);
    // As ws's authors advise for a broadcast: https://github.com/websockets/ws/issues/617
    const framed = { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true };
    const write = (list) => {
      for (const part of list) sink.write(part);
    };
    return {
      ...(prepared && { prepare: (data) => Sender.frame(Buffer.from(data), framed) }),
      text: prepared ? write : (data) => send(false, data),
      binary: (data) => send(true, data),
      flush() {}
    };
  }
};

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

/** `work` has its role, and whether messages are prepared or flushed each. */
function row(name, work, make) {
  const create = () => {
    const frames = make();
    const size = frames.reduce((sum, { payload }) => sum + payload.length, 0);
    const headers = frames.map(({ payload }) => headerSize(payload.length, work.role === 'client'));
    const expected = headers.reduce((sum, length) => sum + length, size);
    const loop = (who, contestant) => {
      const sink = new Sink();
      const sender = contestant(sink, work);
      const messages = frames.map(({ first, payload }) => {
        const isText = first === TEXT;
        const data = isText ? payload.latin1Slice() : payload;
        return { isText, data: sender.prepare?.(data) ?? data };
      });
      const before = sink.bytes;
      sendAll(sender, messages, false, 1);
      if (sink.bytes - before !== expected) throw new Error(`${who} wrote ${sink.bytes - before} of ${expected} bytes`);
      const repeat = fresh(sendAll);
      return (calls) => repeat(sender, messages, work.flushEach ?? false, calls);
    };
    return { count: frames.length, bytes: size / frames.length, loop };
  };
  return { name, group: `encode as a ${work.role}`, create, ofFramemask };
}

/** How many small messages are encoded before each flush. */
const MESSAGES_A_FLUSH = 64;
const small = (first, size) => () => Array(MESSAGES_A_FLUSH).fill({ first, payload: asciiPayload(size) });
const ROWS = [
  ...['server', 'client'].flatMap((role) =>
    [16, 64, 125, 1024].flatMap((size) => [
      row(`${role}: text ${size} B`, { role }, small(TEXT, size)),
      row(`${role}: binary ${size} B`, { role }, small(BINARY, size))
    ])
  ),
  row('server: prepared 64 B', { role: 'server', prepared: true }, small(TEXT, 64)),
  row('server: prepared 4 KiB', { role: 'server', prepared: true }, small(TEXT, 4096)),
  row('client: one of 1,000', { role: 'client', flushEach: true }, () => uniformMessages(1000))
];

module.exports = { ROWS };

if (require.main === module) {
  runCodec({ name: 'encode', usage: USAGE, peers: ['bufferutil', 'ws'], rows: ROWS, contestants: CONTESTANTS });
}
