'use strict';

// One endpoint of a connection that carries one large message:
//
//     node endpoint.js receive READER          listens, prints its port, then what it has seen
//     node endpoint.js send KIND BYTES PORT    sends, as a client
//
// READER and KIND are keys of the tables below; those that begin with `ws` are of framemask/ws.
//
// The message repeats a pattern, with which a receiver compares each part.

const { once } = require('node:events');
const net = require('node:net');
const { Connection, Encoder, mask, messages, sendStream } = require('../../../index');
const { WebSocket, WebSocketServer } = require('../../../ws');
const { agree } = require('../../support/deflate');
const { BINARY, KEY, frame } = require('../../support/frames');
const { checkPattern } = require('../../support/patterns');

/** The most bytes of a chunk, and of the pattern. */
const CHUNK = 64 * 1024;
const HOST = '127.0.0.1';

/** Text with characters of 1 to 4 bytes, which the reads of a socket cut anywhere. */
const LETTERS = Buffer.from('a€é😀 large ');
const PATTERN = Buffer.concat(Array(Math.floor(CHUNK / LETTERS.length)).fill(LETTERS));

const DEFLATE = { contextTakeover: true, threadPoolFrom: Number.POSITIVE_INFINITY };

/** @returns {number} the length of all parts so far */
const count = (part, from) => from + part.length;

/** Likewise. @throws {Error} if the part is not the pattern */
function check(part, from) {
  return checkPattern(PATTERN, typeof part === 'string' ? Buffer.from(part) : part, from);
}

/** The ways to read: each calls `done` with the number of bytes when the message has ended. */
const READERS = {
  /** A socket that drops its bytes, until the client ends. */
  bare: (socket, done) => readStream(socket, done, count),
  parts: (socket, done) => decode(socket, done, {}, count),
  checked: (socket, done) => decode(socket, done, {}, check),
  text: (socket, done) => decode(socket, done, { text: 'string' }, check),
  compressed: (socket, done) => decode(socket, done, { deflate: agree(DEFLATE).server }, check),
  loop: (socket, done) => readInLoop(socket, done, {}),
  'loop-compressed': (socket, done) => readInLoop(socket, done, { deflate: agree(DEFLATE).server }),
  'ws-dropped': (stream, done) => readStream(stream, done, count),
  'ws-checked': (stream, done) => readStream(stream, done, check)
};

function readStream(stream, done, take) {
  let bytes = 0;
  stream.on('data', (part) => {
    bytes = take(part, bytes);
  });
  stream.on('end', () => done(bytes));
}

function decode(socket, done, options, take) {
  let bytes = 0;
  new Connection(socket, 'server', {
    text: 'buffer',
    maxPayload: Number.POSITIVE_INFINITY,
    maxFragments: Number.POSITIVE_INFINITY,
    ...options,
    onPart(data, _isBinary, isLast) {
      bytes = take(data, bytes);
      if (isLast) done(bytes);
    }
  });
}

async function readInLoop(socket, done, own) {
  const limits = { partsFrom: 1, maxPayload: Number.POSITIVE_INFINITY, maxFragments: Number.POSITIVE_INFINITY };
  const connection = new Connection(socket, 'server', { ...limits, text: 'buffer' }, own);
  for await (const { data } of messages(connection, { streams: true })) readStream(data, done, check);
}

async function receive(reader) {
  const isWs = reader.startsWith('ws-');
  const options = { host: HOST, port: 0, streamFrom: 1, perMessageDeflate: true, maxPayload: 0, maxFragments: 0 };
  const server = isWs ? new WebSocketServer(options) : net.createServer().listen(0, HOST);
  await once(server, 'listening');
  console.log(server.address().port);
  const [socket] = await once(server, 'connection');
  server.close();
  const began = performance.now();
  const [source] = isWs ? await once(socket, 'stream') : [socket];
  READERS[reader](source, (bytes) => {
    const seconds = (performance.now() - began) / 1000;
    print({ bytes, seconds });
    if (!isWs) socket.end();
  });
}

const print = (result) => console.log(JSON.stringify({ ...result, peak: process.resourceUsage().maxRSS * 1024 }));

function* chunksOf(bytes) {
  for (let at = 0; at < bytes; ) {
    const start = at % PATTERN.length;
    const length = Math.min(bytes - at, PATTERN.length - start);
    const isFirst = at === 0;
    at += length;
    yield { chunk: PATTERN.subarray(start, start + length), isFirst, fin: at === bytes };
  }
}

/** The ways to send by an Encoder, which add each chunk. */
const ADDERS = {
  fragments: (encoder, { chunk, isFirst, fin }) => encoder[isFirst ? 'binary' : 'continuation'](chunk, { fin }),
  text: (encoder, { chunk, isFirst, fin }) => encoder[isFirst ? 'text' : 'continuation'](chunk, { fin })
};
ADDERS.compressed = ADDERS.fragments;

async function send(kind, bytes, port) {
  const socket = net.connect(port, HOST);
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  const deflate = kind === 'compressed' ? agree(DEFLATE).client : null;
  const encoder = new Encoder({ role: 'client', recycle: true, deflate });
  for (const chunk of chunksOf(bytes)) {
    ADDERS[kind](encoder, chunk, bytes);
    if (!encoder.flush(socket)) await once(socket, 'drain');
  }
  socket.end().resume();
  await closed;
}

/** One frame, whose payload is masked in pieces. */
async function sendFrame(_kind, bytes, port) {
  const socket = net.connect(port, HOST);
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  socket.write(frame(BINARY, '', { key: KEY, length: bytes }));
  let phase = 0;
  for (const { chunk } of chunksOf(bytes)) {
    const masked = Buffer.allocUnsafeSlow(chunk.length);
    phase = mask(chunk, KEY, masked, 0, chunk.length, phase);
    if (!socket.write(masked)) await once(socket, 'drain');
  }
  socket.end().resume();
  await closed;
}

/** A peer of sendStream, and its end. */
async function openPeer(kind, port) {
  if (kind.startsWith('ws-')) {
    const socket = new WebSocket(`ws://${HOST}:${port}`, { perMessageDeflate: kind === 'ws-compressed' });
    await once(socket, 'open');
    return { peer: socket, closed: once(socket, 'close') };
  }
  const socket = net.connect(port, HOST);
  await once(socket, 'connect');
  const deflate = kind === 'connection-compressed' ? agree(DEFLATE).client : null;
  return { peer: new Connection(socket, 'client', {}, { deflate }), closed: once(socket, 'close') };
}

async function sendByStream(kind, bytes, port) {
  const { peer, closed } = await openPeer(kind, port);
  const payloads = function* () {
    for (const { chunk } of chunksOf(bytes)) yield chunk;
  };
  await sendStream(peer, payloads());
  peer.close();
  await closed;
}

const [mode, kind, wanted, port] = process.argv.slice(2);
if (mode === 'receive') receive(kind);
else {
  const bytes = Number(wanted) - (Number(wanted) % LETTERS.length);
  const sending = kind === 'frame' ? sendFrame : kind in ADDERS ? send : sendByStream;
  sending(kind, bytes, Number(port)).then(() => print({ bytes }));
}
