'use strict';

// All work by turns, in one process, on the same bytes. Text is delivered as strings, binary as Buffers.

const { runCodec } = require('./support/harness');
const { BINARY, TEXT, asciiPayload, cut, maskedFrame, uniformMessages } = require('./support/messages');
const { loadFramemask, loadPeer } = require('./support/modules');
const { fresh } = require('./support/race');

const USAGE = `usage: node benchmark/decode.js [options]

Times the decoding of masked frames. Prints the median nanoseconds a message, and how many times faster framemask is
than ws. In the rows "frames", framemask calls onFrame, which makes no object, and ws's Receiver delivers Buffers: two
kinds of work. Takes about two minutes.`;

const KIB64 = 64 * 1024;

/** Four reads of 64 KiB that are full of small frames of one kind, as a busy socket gives them. */
function manyFrames(first, size) {
  const payload = asciiPayload(size);
  const count = Math.floor((4 * KIB64) / (size + 6));
  return { count, chunks: cut(Buffer.concat(Array.from({ length: count }, () => maskedFrame(first, payload))), KIB64) };
}

/** 64 frames, each in a read of its own and each read in memory of its own. */
function singleFrames(first, size) {
  const frames = Array.from({ length: 64 }, () => maskedFrame(first, asciiPayload(size)));
  return { count: 64, chunks: frames.flatMap((frame) => cut(frame, frame.length)) };
}

/** 16 frames in reads of one byte. */
function singleBytes(first, size) {
  return { count: 16, chunks: cut(Buffer.concat(singleFrames(first, size).chunks.slice(0, 16)), 1) };
}

/** Copies the same number of bytes between chunks of the same size: the limit that memory sets. */
function copyAll(chunks) {
  const copies = chunks.map((chunk) => Buffer.from(chunk));
  return (calls) => {
    for (let i = 0; i < calls; i++) chunks.forEach((chunk, j) => void copies[j].set(chunk));
  };
}

/** 1,000 messages of 0 to 65,535 bytes in reads of 64 KiB. */
function thousandMessages() {
  const frames = uniformMessages(1000).map(({ first, payload }) => maskedFrame(first, payload));
  const chunks = cut(Buffer.concat(frames), KIB64);
  return { count: 1000, chunks, limits: { memcpy: copyAll(chunks) } };
}

/** One long frame in reads of 64 KiB. */
function oneMessage(first, size) {
  return { count: 1, chunks: cut(maskedFrame(first, asciiPayload(size)), KIB64) };
}

/** A copy is made of it for each framemask: closures made in one place share V8's type feedback. */
function createWriter({ Decoder }, deliver, framesOnly) {
  const handlers = framesOnly
    ? { onFrame: (_first, _bytes, start, end) => deliver(end - start) }
    : { onMessage: (data) => deliver(data.length) };
  const decoder = new Decoder({ role: 'server', ...handlers });
  return (chunk) => decoder.write(chunk);
}

/** A contestant makes a function that takes chunks and calls `deliver` with the length of each message. */
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

function row(name, group, make, framesOnly = false) {
  const create = () => {
    const { count, chunks, limits } = make();
    const loop = (who, contestant) => {
      const { found, deliver } = fresh(createCounter)();
      const write = contestant(deliver, framesOnly);
      for (const chunk of chunks) write(chunk);
      if (found.messages !== count) throw new Error(`${who} found ${found.messages} of ${count} messages`);
      const repeat = fresh(writeAll);
      return (calls) => repeat(write, chunks, calls);
    };
    return { count, bytes: chunks.reduce((sum, { length }) => sum + length, 0) / count, limits, loop };
  };
  return { name, group, create, ofFramemask };
}

const SMALL = 'decode 64 KiB chunks of small frames';
const FRAMES = 'decode the same by `onFrame`, which makes no object';
const ROWS = [
  ...[16, 64, 125].flatMap((size) => [
    row(`text ${size} B`, SMALL, () => manyFrames(TEXT, size)),
    row(`binary ${size} B`, SMALL, () => manyFrames(BINARY, size)),
    row(`frames ${size} B`, FRAMES, () => manyFrames(BINARY, size), true)
  ]),
  row('text 64 B, one a chunk', 'decode one small frame a chunk', () => singleFrames(TEXT, 64)),
  row('binary 64 B, one a chunk', 'decode one small frame a chunk', () => singleFrames(BINARY, 64)),
  row('text 16 B, byte by byte', 'decode byte by byte', () => singleBytes(TEXT, 16)),
  row('binary 16 B, byte by byte', 'decode byte by byte', () => singleBytes(BINARY, 16)),
  row('binary 64 B, byte by byte', 'decode byte by byte', () => singleBytes(BINARY, 64)),
  row('text 1 MiB', 'decode one message of 1 MiB', () => oneMessage(TEXT, 16 * KIB64)),
  row('binary 1 MiB', 'decode one message of 1 MiB', () => oneMessage(BINARY, 16 * KIB64)),
  row('1,000 messages', 'decode 1,000 messages of 0 to 64 KiB', thousandMessages)
];

module.exports = { ROWS };

if (require.main === module) {
  runCodec({
    name: 'decode',
    usage: USAGE,
    peers: ['bufferutil', 'ws'],
    rows: ROWS,
    contestants: CONTESTANTS,
    pairs: [
      ['framemask', 'ws'],
      ['framemask js', 'ws']
    ]
  });
}
