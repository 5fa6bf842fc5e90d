'use strict';

// One endpoint of a connection that carries one large message:
//
//     node endpoint.js receive READER          listens, prints its port, then what it has seen
//     node endpoint.js send KIND BYTES PORT    sends, as a client
//
// READER and KIND are keys of the tables below; those that begin with `ws` are of framemask/ws.
//
// The message repeats a pattern, which a receiver that `checks` compares with each part.

const { once } = require('node:events');
const net = require('node:net');
const { Decoder, Encoder, acceptDeflate, offerDeflate, readInto } = require('../../../index');
const { WebSocket, WebSocketServer, sendStream } = require('../../../ws');

/** The most bytes of a chunk, and of the pattern. */
const CHUNK = 64 * 1024;
const HOST = '127.0.0.1';

/** Text with characters of 1 to 4 bytes, which the reads of a socket cut anywhere. */
const LETTERS = Buffer.from('a€é😀 large ');
const PATTERN = Buffer.concat(Array(Math.floor(CHUNK / LETTERS.length)).fill(LETTERS));

function agree() {
  const options = { contextTakeover: true, threadPoolFrom: Number.POSITIVE_INFINITY };
  const offer = offerDeflate(options);
  const server = acceptDeflate(offer.header, options);
  return { server, client: offer.readAnswer(server.header) };
}

/** @returns {number} the length of all parts so far; throws if one is not the pattern */
function check(part, from) {
  const bytes = typeof part === 'string' ? Buffer.from(part) : part;
  for (let at = 0; at < bytes.length; ) {
    const start = (from + at) % PATTERN.length;
    const length = Math.min(bytes.length - at, PATTERN.length - start);
    if (PATTERN.compare(bytes, at, at + length, start, start + length) !== 0)
      throw new Error(`byte ${from + at} is wrong`);
    at += length;
  }
  return from + bytes.length;
}

/** The ways to read: each calls `done` with the number of bytes when the message has ended. */
const READERS = {
  /** A socket that drops its bytes, until the client ends. */
  bare(socket, done) {
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.on('end', () => done(bytes));
  },
  parts: (socket, done) => decode(socket, done, {}, false),
  checked: (socket, done) => decode(socket, done, {}, true),
  text: (socket, done) => decode(socket, done, { text: 'string' }, true),
  compressed: (socket, done) => decode(socket, done, { deflate: agree().server }, true)
};

/** The same of framemask/ws, for streams of a WebSocket. */
const STREAM_READERS = {
  'ws-dropped': (stream, done) => readStream(stream, done, false),
  'ws-checked': (stream, done) => readStream(stream, done, true)
};

function readStream(stream, done, checks) {
  let bytes = 0;
  stream.on('data', (part) => {
    bytes = checks ? check(part, bytes) : bytes + part.length;
  });
  stream.on('end', () => done(bytes));
}

function decode(socket, done, options, checks) {
  let bytes = 0;
  const decoder = new Decoder({
    role: 'server',
    borrowed: true,
    text: 'buffer',
    maxPayload: Number.POSITIVE_INFINITY,
    maxFragments: Number.POSITIVE_INFINITY,
    ...options,
    onPart(data, _isBinary, isLast) {
      bytes = checks ? check(data, bytes) : bytes + data.length;
      if (isLast) done(bytes);
    },
    onInflated: () => decoder.paused || socket.resume()
  });
  readInto(socket, decoder, (more) => {
    if (!more) socket.pause();
  });
}

async function receive(reader) {
  const server = net.createServer().listen(0, HOST);
  await once(server, 'listening');
  console.log(server.address().port);
  const [socket] = await once(server, 'connection');
  server.close();
  const end = measure();
  READERS[reader](socket, (bytes) => {
    end(bytes);
    socket.end();
  });
}

async function receiveStream(reader) {
  const limits = { maxPayload: 0, maxFragments: 0 };
  const server = new WebSocketServer({ host: HOST, port: 0, streamFrom: 1, perMessageDeflate: true, ...limits });
  await once(server, 'listening');
  console.log(server.address().port);
  const [socket] = await once(server, 'connection');
  server.close();
  const end = measure();
  const [stream] = await once(socket, 'stream');
  STREAM_READERS[reader](stream, end);
}

/** @returns {(bytes: number) => void} prints the result */
function measure() {
  const began = performance.now();
  return (bytes) => {
    const seconds = (performance.now() - began) / 1000;
    console.log(JSON.stringify({ bytes, seconds, peak: process.resourceUsage().maxRSS * 1024 }));
  };
}

/** The ways to send: generators that add frames, chunk by chunk. */
const SENDERS = {
  *frame(encoder, chunks, bytes) {
    encoder.beginFrame(bytes);
    for (const { chunk } of chunks) yield encoder.addPayload(chunk);
  },
  *fragments(encoder, chunks) {
    for (const { chunk, isFirst, fin } of chunks) {
      yield isFirst ? encoder.binary(chunk, { fin }) : encoder.continuation(chunk, { fin });
    }
  },
  *text(encoder, chunks) {
    for (const { chunk, isFirst, fin } of chunks) {
      yield isFirst ? encoder.text(chunk, { fin }) : encoder.continuation(chunk, { fin });
    }
  }
};

function* chunksOf(bytes) {
  for (let at = 0; at < bytes; ) {
    const start = at % PATTERN.length;
    const length = Math.min(bytes - at, PATTERN.length - start);
    const isFirst = at === 0;
    at += length;
    yield { chunk: PATTERN.subarray(start, start + length), isFirst, fin: at === bytes };
  }
}

async function send(kind, bytes, port) {
  const socket = net.connect(port, HOST);
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  const deflate = kind === 'compressed' ? agree().client : null;
  const encoder = new Encoder({ role: 'client', recycle: true, deflate });
  const send = SENDERS[kind === 'compressed' ? 'fragments' : kind];
  for (const _ of send(encoder, chunksOf(bytes), bytes)) {
    if (!encoder.flush(socket)) await once(socket, 'drain');
  }
  socket.end().resume();
  await closed;
}

/** The ways to send by framemask/ws: options of its client. */
const STREAM_SENDERS = { 'ws-stream': { perMessageDeflate: false }, 'ws-compressed': { perMessageDeflate: true } };

async function sendByStream(kind, bytes, port) {
  const socket = new WebSocket(`ws://${HOST}:${port}`, STREAM_SENDERS[kind]);
  await once(socket, 'open');
  const payloads = function* () {
    for (const { chunk } of chunksOf(bytes)) yield chunk;
  };
  await sendStream(socket, payloads());
  socket.close();
  await once(socket, 'close');
}

const [mode, kind, wanted, port] = process.argv.slice(2);
if (mode === 'receive') {
  if (kind in READERS) receive(kind);
  else receiveStream(kind);
} else {
  const bytes = Number(wanted) - (Number(wanted) % LETTERS.length);
  const sending = kind in STREAM_SENDERS ? sendByStream : send;
  sending(kind, bytes, Number(port)).then(() => {
    console.log(JSON.stringify({ bytes, peak: process.resourceUsage().maxRSS * 1024 }));
  });
}
