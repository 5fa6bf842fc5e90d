'use strict';

// Peers for the tests of examples/: servers, clients, and connections without any WebSocket code.

const assert = require('node:assert/strict');
const { randomBytes, randomInt } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { WebSocketServer } = require('ws');
const { createEchoServer } = require('../../examples/echo-server');
const child = require('./child');
const { HANDSHAKE, framesFor, head, upgradeAnswer } = require('./frames');
const { withResolvers } = require('./promises');

const MIB = 1024 * 1024;

/** Lengths around those where headers, kernels and copies change, and some between them. */
const SIZES = [
  0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 47, 48, 63, 64, 100, 124, 125, 126, 127, 128, 255, 256, 1000, 1023, 1024, 4095,
  4096, 4097, 12345, 16383, 16384, 16385, 32767, 32768, 32769, 65519, 65520, 65535, 65536, 65537, 100000, 131072, 500001
];
SIZES.push(MIB - 1, MIB, MIB + 1, 2 * MIB + 3, 4 * MIB - 1, 4 * MIB);

/** Text with so many bytes of UTF-8, and characters of one to four bytes. */
function randomText(length) {
  let result = '';
  for (let left = length; left > 0; ) {
    const size = Math.min(left, randomInt(1, 5));
    const count = Math.min(Math.floor(left / size), randomInt(1, 4000));
    result += ['x', 'é', '世', '🜂'][size - 1].repeat(count);
    left -= size * count;
  }
  return result;
}

/** Messages of all these lengths and of random ones, mostly short; every second one is text. */
function randomMessages() {
  const sizes = [...SIZES, ...Array.from({ length: 60 }, () => randomInt(2 ** randomInt(1, 20)))];
  sizes.sort(() => Math.random() - 0.5);
  return sizes.map((size, i) =>
    i % 2 === 0 ? { data: randomBytes(size), isBinary: true } : { data: Buffer.from(randomText(size)), isBinary: false }
  );
}

/** Compares the messages that came back with those sent, byte by byte. */
function assertMessages(received, sent) {
  assert.equal(received.length, sent.length, 'the number of messages');
  for (const [i, { data, isBinary }] of sent.entries()) {
    assert.equal(received[i].isBinary, isBinary, `message ${i} of ${data.length} bytes: isBinary`);
    assert.ok(data.equals(received[i].data), `message ${i} of ${data.length} bytes: the bytes`);
  }
}

/** Has a server listen for one test. */
async function listen(t, server) {
  const sockets = new Set();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address();
  return { server, port, url: `ws://127.0.0.1:${port}` };
}

/** An echo server for one test. */
const startServer = (t, options) => listen(t, createEchoServer({ maxPayload: 16 * MIB, ...options }));

/** A server of ws for one test. */
async function startWsServer(t, options) {
  const server = http.createServer();
  const wss = new WebSocketServer({ server, maxFragments: 0, ...options });
  const { url } = await listen(t, server);
  return { server: wss, url };
}

/** The same, which sends each message back. */
async function startWsEcho(t, options) {
  const { server, url } = await startWsServer(t, options);
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  return url;
}

/** A server that calls `answer` with the socket of a handshake and the lines of a right answer. */
async function startFalseServer(t, answer) {
  const server = net.createServer((socket) => {
    socket.once('data', (request) => {
      const [, key] = /Sec-WebSocket-Key: (\S+)/i.exec(request);
      answer(socket, upgradeAnswer(key).trim().split('\r\n'));
    });
  });
  return (await listen(t, server)).url;
}

/** A connection without WebSocket code. */
class RawConnection {
  constructor(port, options) {
    this.socket = net.connect({ port, host: '127.0.0.1', ...options });
    this.socket.on('error', () => {});
    this.chunks = [];
    this.socket.on('data', (chunk) => this.chunks.push(chunk));
    this.ended = once(this.socket, 'end').then(() => this.bytes());
    this.ended.catch(() => {});
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  bytes() {
    return Buffer.concat(this.chunks);
  }

  /** Waits for so many bytes. */
  async read(length) {
    while (this.bytes().length < length) await once(this.socket, 'data');
    const bytes = this.bytes();
    this.chunks = [bytes.subarray(length)];
    return bytes.subarray(0, length);
  }

  /** Waits for the head of an HTTP answer. */
  async readHead() {
    while (!this.bytes().includes('\r\n\r\n')) await once(this.socket, 'data');
    return (await this.read(this.bytes().indexOf('\r\n\r\n') + 4)).toString();
  }

  static async open(t, port, options) {
    const raw = new RawConnection(port, options);
    t.teardown(() => raw.socket.destroy());
    raw.socket.write(head(...HANDSHAKE));
    const answer = await raw.readHead();
    assert.match(answer, /^HTTP\/1\.1 101 /);
    // RFC 6455 section 1.3 has this key and the answer to it.
    assert.match(answer, /\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
    return raw;
  }
}

/** A frame of a client. */
const { frame: masked } = framesFor('server');

/** Sends bytes, and returns the answer, or the part that came before the connection was reset. */
async function request(t, port, bytes) {
  const raw = new RawConnection(port);
  t.teardown(() => raw.socket.destroy());
  raw.socket.write(bytes);
  await raw.closed;
  return raw.bytes().toString();
}

/** Waits until a server has no connections. */
async function untilAllClosed(server) {
  while (server.connections.size > 0) await sleep(5);
}

/** Runs a program to its end. */
async function run(args, environment = {}) {
  const { stdout, stderr, status: code } = await child.run([process.execPath, ...args], { env: environment });
  return { stdout, stderr, code };
}

/** The path of a file of examples/. */
const example = (name) => path.join(__dirname, '../../examples', name);

module.exports = {
  HANDSHAKE,
  MIB,
  RawConnection,
  assertMessages,
  example,
  head,
  listen,
  masked,
  randomMessages,
  request,
  run,
  startFalseServer,
  startServer,
  startWsEcho,
  startWsServer,
  untilAllClosed,
  withResolvers
};
