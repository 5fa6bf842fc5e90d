'use strict';

// All work by turns, in one process, on the same bytes. Text is delivered as strings, binary as
// Buffers.

const { runCodec } = require('./support/harness');
const { BINARY, TEXT, asciiPayload, cut, maskedFrame, uniformMessages } = require('./support/messages');
const { loadFramemask, loadPeer } = require('./support/modules');
const { fresh } = require('./support/race');

const USAGE = `usage: node benchmark/decode.js [options]

Times the decoding of masked frames. Prints the median nanoseconds a message, and how many times faster framemask is
than ws. In the rows "frames", framemask calls onFrame, which makes no object, and ws's Receiver delivers Buffers: two
kinds of work. Takes about two minutes.`;

const KIB64 = 64 * 1024;

/** @returns {Buffer[]} masked frames of the same kind */
function makeFrames(count, first, size) {
  const payload = asciiPayload(size);
  return Array.from({ length: count }, () => maskedFrame(first, payload));
}

/** Copies the same number of bytes between chunks of the same size: the limit that memory sets. */
function copyAll(chunks) {
  const copies = chunks.map((chunk) => Buffer.from(chunk));
  return (calls) => {
    for (let i = 0; i < calls; i++) chunks.forEach((chunk, j) => void copies[j].set(chunk));
  };
}

/** A copy is made of it for each framemask: closures made in one place share V8's type feedback. */
function createWriter({ Decoder }, deliver, framesOnly) {
  const handlers = framesOnly
    ? { onFrame: (_first, _bytes, start, end) => deliver(end - start) }
    : { onMessage: (data) => deliver(data.length) };
  const decoder = new Decoder({ role: 'server', ...handlers });
  return (chunk) => decoder.write(chunk);
}

/** A contestant makes a function that takes chunks, and calls `deliver` with messages' lengths. */
const ofFramemask = (framemask) => (deliver, framesOnly) => fresh(createWriter)(framemask, deliver, framesOnly);

const CONTESTANTS = {
  framemask: (...args) => ofFramemask(loadFramemask())(...args),
  'framemask js': (...args) => ofFramemask(loadFramemask('js'))(...args),
  ws(deliver) {
    const { Receiver } = loadPeer('ws');
    const receiver = new Receiver({ isServer: true });
    receiver.on('message', (data, isBinary) => deliver(isBinary ? data.length : data.toString().length));
    return (chunk) => receiver.write(chunk);
  }
};

function createCounter() {
  const found = { messages: 0 };
  return { found, deliver: () => void found.messages++ };
}

function writeAll(write, chunks, calls) {
  for (let i = 0; i < calls; i++) {
    for (let j = 0; j < chunks.length; j++) write(chunks[j]);
  }
}

/** Frames come in chunks of 64 KiB, or of another size, or each in a chunk of its own. */
function row(name, group, make, { chunkSize = KIB64, oneEach = false, framesOnly = false, memcpy = false } = {}) {
  const create = () => {
    const frames = make();
    const count = frames.length;
    const chunks = oneEach
      ? frames.flatMap((frame) => cut(frame, frame.length))
      : cut(Buffer.concat(frames), chunkSize);
    const loop = (who, contestant) => {
      const { found, deliver } = fresh(createCounter)();
      const write = contestant(deliver, framesOnly);
      for (const chunk of chunks) write(chunk);
      if (found.messages !== count) throw new Error(`${who} found ${found.messages} of ${count} messages`);
      const repeat = fresh(writeAll);
      return (calls) => repeat(write, chunks, calls);
    };
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0) / count;
    return { count, bytes, limits: memcpy ? { memcpy: copyAll(chunks) } : {}, loop };
  };
  return { name, group, create, ofFramemask };
}

const SMALL = 'decode 64 KiB chunks of small frames';
const FRAMES = 'decode the same by `onFrame`, which makes no object';
const ALONE = 'decode one small frame a chunk';
const PAIRS = 'decode two small frames a chunk';
const BYTES = 'decode byte by byte';
const LONG = 'decode one message of 1 MiB';

/** Four reads of 64 KiB, as a busy socket gives them. */
const many = (first, size) => () => makeFrames(Math.floor((4 * KIB64) / (size + 6)), first, size);
const few = (count, first, size) => () => makeFrames(count, first, size);
const thousand = () => uniformMessages(1000).map(({ first, payload }) => maskedFrame(first, payload));

const ROWS = [
  ...[16, 64, 125].flatMap((size) => [
    row(`text ${size} B`, SMALL, many(TEXT, size)),
    row(`binary ${size} B`, SMALL, many(BINARY, size)),
    row(`frames ${size} B`, FRAMES, many(BINARY, size), { framesOnly: true })
  ]),
  row('text 64 B, one a chunk', ALONE, few(64, TEXT, 64), { oneEach: true }),
  row('binary 64 B, one a chunk', ALONE, few(64, BINARY, 64), { oneEach: true }),
  row('text 64 B, two a chunk', PAIRS, few(64, TEXT, 64), { chunkSize: 2 * (6 + 64) }),
  row('binary 64 B, two a chunk', PAIRS, few(64, BINARY, 64), { chunkSize: 2 * (6 + 64) }),
  row('text 16 B, byte by byte', BYTES, few(16, TEXT, 16), { chunkSize: 1 }),
  row('binary 16 B, byte by byte', BYTES, few(16, BINARY, 16), { chunkSize: 1 }),
  row('binary 64 B, byte by byte', BYTES, few(16, BINARY, 64), { chunkSize: 1 }),
  row('text 1 MiB', LONG, few(1, TEXT, 16 * KIB64)),
  row('binary 1 MiB', LONG, few(1, BINARY, 16 * KIB64)),
  row('1,000 messages', 'decode 1,000 messages of 0 to 64 KiB', thousand, { memcpy: true })
];

module.exports = { ROWS };

if (require.main === module) {
  runCodec({ name: 'decode', usage: USAGE, peers: ['bufferutil', 'ws'], rows: ROWS, contestants: CONTESTANTS });
}
