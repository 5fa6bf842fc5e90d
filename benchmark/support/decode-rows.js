'use strict';

const { BINARY, TEXT, asciiPayload, cut, maskedFrame, uniformMessages } = require('./messages');
const { fresh } = require('./race');

/**
 * @typedef {object} DecodeWork
 * @property {number} count how many messages the chunks hold
 * @property {Buffer[]} chunks masked frames, cut as a socket may cut them
 * @property {boolean} [framesOnly] true to decode with `onFrame`, which makes no object
 * @property {{ first: number, payload: Buffer }[]} [messages]
 * @property {Buffer[]} [frames] one for each of `messages`
 */

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

/** 1,000 messages of 0 to 65,535 bytes in reads of 64 KiB. */
function thousandMessages() {
  const messages = uniformMessages(1000);
  const frames = messages.map(({ first, payload }) => maskedFrame(first, payload));
  return { count: 1000, messages, frames, chunks: cut(Buffer.concat(frames), KIB64) };
}

/** One long frame in reads of 64 KiB. */
function oneMessage(first, size) {
  return { count: 1, chunks: cut(maskedFrame(first, asciiPayload(size)), KIB64) };
}

const SMALL = 'decode 64 KiB chunks of small frames';
const FRAMES = 'decode the same by `onFrame`, which makes no object';
const ONE_A_CHUNK = 'decode one small frame a chunk';
const BYTE_BY_BYTE = 'decode byte by byte';
const LONG = 'decode one message of 1 MiB';

/**
 * The rows of the decoding benchmark: the group of each, and what makes its work.
 *
 * @type {Record<string, { group: string, make: () => DecodeWork }>}
 */
const DECODE_ROWS = {
  ...Object.fromEntries(
    [16, 64, 125].flatMap((size) => [
      [`text ${size} B`, { group: SMALL, make: () => manyFrames(TEXT, size) }],
      [`binary ${size} B`, { group: SMALL, make: () => manyFrames(BINARY, size) }],
      [`frames ${size} B`, { group: FRAMES, make: () => ({ ...manyFrames(BINARY, size), framesOnly: true }) }]
    ])
  ),
  'text 64 B, one a chunk': { group: ONE_A_CHUNK, make: () => singleFrames(TEXT, 64) },
  'binary 64 B, one a chunk': { group: ONE_A_CHUNK, make: () => singleFrames(BINARY, 64) },
  'text 16 B, byte by byte': { group: BYTE_BY_BYTE, make: () => singleBytes(TEXT, 16) },
  'binary 16 B, byte by byte': { group: BYTE_BY_BYTE, make: () => singleBytes(BINARY, 16) },
  'binary 64 B, byte by byte': { group: BYTE_BY_BYTE, make: () => singleBytes(BINARY, 64) },
  'text 1 MiB': { group: LONG, make: () => oneMessage(TEXT, 16 * KIB64) },
  'binary 1 MiB': { group: LONG, make: () => oneMessage(BINARY, 16 * KIB64) },
  '1,000 messages': { group: 'decode 1,000 messages of 0 to 64 KiB', make: thousandMessages }
};

/**
 * @param {typeof import('../../index.js')} framemask
 * @param {(length: number) => void} deliver called with the length of each message
 * @param {boolean} framesOnly
 * @returns {(chunk: Buffer) => void}
 */
function createDecoder(framemask, deliver, framesOnly) {
  // Closures made in one place share V8's type feedback, unless their maker is a fresh copy.
  return fresh(createWriter)(framemask, deliver, framesOnly);
}

function createWriter({ Decoder }, deliver, framesOnly) {
  const handlers = framesOnly
    ? { onFrame: (_first, _bytes, start, end) => deliver(end - start) }
    : { onMessage: (data) => deliver(data.length) };
  const decoder = new Decoder({ role: 'server', ...handlers });
  return (chunk) => decoder.write(chunk);
}

function writeAll(write, chunks, calls) {
  for (let i = 0; i < calls; i++) {
    for (let j = 0; j < chunks.length; j++) write(chunks[j]);
  }
}

function createCounter() {
  const found = { messages: 0, bytes: 0 };
  const deliver = (length) => {
    found.messages++;
    found.bytes += length;
  };
  return { found, deliver };
}

/**
 * Makes the loop that is timed, after a check that the decoder finds every message.
 *
 * @param {string} name of the decoder, for errors
 * @param {(deliver: (length: number) => void, framesOnly: boolean) => (chunk: Buffer) => void}
 *   create
 * @param {DecodeWork} work
 * @returns {(calls: number) => void}
 * @throws {Error} if the decoder finds fewer or more messages than there are
 */
function prepareDecoding(name, create, { count, chunks, framesOnly = false }) {
  const { found, deliver } = fresh(createCounter)();
  const write = create(deliver, framesOnly);
  for (const chunk of chunks) write(chunk);
  const { messages, bytes } = found;
  if (messages !== count) throw new Error(`${name} found ${messages} of ${count} messages`);
  const most = chunks.reduce((sum, { length }) => sum + length, 0);
  if (bytes > most) throw new Error(`${name} delivered ${bytes} bytes of ${most}`);

  const repeat = fresh(writeAll);
  return (calls) => repeat(write, chunks, calls);
}

module.exports = { DECODE_ROWS, createDecoder, prepareDecoding };
