'use strict';

// The client process of the benchmarks of servers: the tasks that it is told by messages, each of
// which it answers.

const { once } = require('node:events');
const http2 = require('node:http2');
const net = require('node:net');
const secure = require('node:tls');

const { deflateByZlib } = require('../../test/support/deflate');
const { HANDSHAKE, head } = require('../../test/support/frames');
const { createLatencies, sharedTime } = require('./latency');
const { BINARY, TEXT, asciiPayload, jsonPayloads, maskedFrame, unmaskedFrame, utf8Payload } = require('./messages');
const { processorTime } = require('./process-use');

/** The bit of a frame's first byte that permessage-deflate sets. */
const DEFLATED = 0x40;
const FIN = 0x80;
const PING = 0x89;
const PONG = 0x8a;

// All connections read into the same memory, because bytes are used before the next read.
const memory = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * Opens a WebSocket connection at the least cost in Node.js: the caller reads and writes raw
 * frames. If permessage-deflate is asked for, it must be granted. The server's certificate is not
 * checked.
 */
function connect(port, onBytes, { deflate = false, tls = false, http2: isHttp2 = false, localAddress } = {}) {
  if (isHttp2) return openStream(port, onBytes);
  return new Promise((resolve, reject) => {
    let response = '';
    const callback = (length, bytes) => {
      if (response === null) {
        onBytes(length, bytes);
        return true;
      }
      response += bytes.latin1Slice(0, length);
      if (!response.endsWith('\r\n\r\n')) return true;
      const granted = response.includes('permessage-deflate') === deflate;
      if (response.startsWith('HTTP/1.1 101 ') && granted) resolve(socket);
      else reject(new Error(`the handshake failed: ${response}`));
      response = null;
      return true;
    };
    const onread = { buffer: memory, callback };
    const options = { host: '127.0.0.1', port, localAddress, noDelay: true, rejectUnauthorized: false, onread };
    const socket = (tls ? secure : net).connect(options).on('error', reject);
    socket.write(head(...HANDSHAKE, ...(deflate ? ['Sec-WebSocket-Extensions: permessage-deflate'] : [])));
  });
}

/** The sessions of HTTP/2, and how many streams each has. */
const sessions = [];
const MOST_STREAMS = 100;

/** The same over HTTP/2 and TLS, where WebSockets share a connection. */
async function openStream(port, onBytes) {
  let shared = sessions.find((one) => one.port === port && one.streams < MOST_STREAMS);
  if (shared === undefined) {
    const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    shared = { port, streams: 0, ready: once(session, 'remoteSettings').then(() => session) };
    sessions.push(shared);
  }
  shared.streams++;
  const session = await shared.ready;
  const pseudo = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https', ':path': '/' };
  const headers = { ...pseudo, ':authority': `127.0.0.1:${port}`, 'sec-websocket-version': '13' };
  const stream = session.request(headers, { endStream: false });
  const [{ ':status': status }] = await once(stream, 'response');
  if (status !== 200) throw new Error(`the handshake failed: ${status}`);
  stream.on('error', () => {}).on('close', () => shared.streams--);
  return stream.on('data', (chunk) => onBytes(chunk.length, chunk));
}

/**
 * Compares the first reply with what it must be. Of the others, only the bytes are counted. The
 * function takes what was read, and returns whether the reply is complete.
 */
function countBytes(reply) {
  let left = reply.length;
  let sample = Buffer.alloc(0);
  return (length, bytes) => {
    if (sample !== null) sample = Buffer.concat([sample, bytes.subarray(0, length)]);
    left -= length;
    if (left > 0) return false;
    if (left < 0 || (sample !== null && !sample.equals(reply))) throw new Error('The echo is not what was sent');
    sample = null;
    left = reply.length;
    return true;
  };
}

/** As countBytes, for compressed frames, whose length depends on the frames before; all, or some. */
function countFrames(frames, all) {
  let left = frames;
  let rest = Buffer.alloc(0);
  return (length, bytes) => {
    // A copy, because the memory is read into again.
    rest = Buffer.concat([rest, bytes.subarray(0, length)]);
    while (rest.length >= 4) {
      const isText = rest[0] === (DEFLATED | TEXT) || (!all && rest[0] === TEXT);
      if (!isText || rest[1] > 126) throw new Error('The answer is no compressed text');
      const size = rest[1] === 126 ? 4 + rest.readUInt16BE(2) : 2 + rest[1];
      if (rest.length < size) break;
      rest = rest.subarray(size);
      left--;
    }
    if (left > 0) return false;
    left = frames;
    return true;
  };
}

/**
 * Measures a part of a turn: from the first reply after the warm-up, a third of the time, to the
 * first one after the time is over. So whole batches are counted, however long one takes.
 */
function createClock(pid, milliseconds) {
  const warm = performance.now() + milliseconds / 3;
  let messages = 0;
  let start = null;
  const latencies = createLatencies();
  const readUse = () => {
    const { user, system } = process.cpuUsage();
    return { messages, server: processorTime(pid), client: user + system, time: performance.now() };
  };
  /**
   * Of a batch, its messages and when it was sent.
   *
   * @returns {object | null} the figures, if the turn is over
   */
  return (count, began) => {
    messages += count;
    const time = performance.now();
    if (start === null && time >= warm) start = readUse();
    if (start === null) return null;
    latencies.add((time - began) * 1000);
    if (time - start.time < milliseconds) return null;
    const end = readUse();
    const [total, passed, server, client] = ['messages', 'time', 'server', 'client'].map(
      (key) => end[key] - start[key]
    );
    return {
      rate: (total / passed) * 1000,
      cost: server / total,
      p99: latencies.percentile(),
      serverShare: server / (passed * 1000),
      clientShare: client / (passed * 1000)
    };
  };
}

/** Of a message: the first byte that it is sent with, that of the reply, and its payload. */
const DATA = {
  ascii: [TEXT, TEXT, asciiPayload],
  utf8: [TEXT, TEXT, utf8Payload],
  binary: [BINARY, BINARY, asciiPayload],
  // A stream sends text as bytes.
  'text as binary': [TEXT, BINARY, asciiPayload],
  ping: [PING, PONG, asciiPayload]
};

/** A message as it is sent: in so many fragments, of which each has the payload. */
function fragmentsOf(first, payload, fragments) {
  const byteOf = (i) => (i === 0 ? first & 0x7f : 0) | (i === fragments - 1 ? FIN : 0);
  return Buffer.concat(Array.from({ length: fragments }, (_, i) => maskedFrame(byteOf(i), payload)));
}

/** What is sent at once, and what counts its reply. */
function prepareBatch({ pipelined, size, deflate, way, bare, data = 'ascii', fragments = 1 }) {
  const repeat = (frame) => Buffer.concat(Array(pipelined).fill(frame));
  if (deflate) {
    const asked = () => maskedFrame(TEXT, Buffer.from(`${size}`));
    // Refers to nothing before it, so that it can be sent again and again.
    const compressed = () => maskedFrame(TEXT | DEFLATED, deflateByZlib(jsonPayloads(size, 1)[0]));
    const batch = repeat(way === 'sent' ? asked() : compressed());
    return { batch, createCount: () => countFrames(pipelined, way !== 'received') };
  }
  const [first, answer, create] = DATA[data];
  const payload = create(size);
  const batch = repeat(fragmentsOf(first, payload, fragments));
  const reply = bare ? batch : repeat(unmaskedFrame(answer, Buffer.concat(Array(fragments).fill(payload))));
  return { batch, createCount: () => countBytes(reply) };
}

/** Writes bytes in so many pieces, which arrive one after the other. */
function writePieces(socket, bytes, pieces) {
  if (pieces === 1) {
    socket.write(bytes);
    return;
  }
  const size = Math.ceil(bytes.length / pieces);
  socket.write(bytes.subarray(0, size), () => writePieces(socket, bytes.subarray(size), pieces - 1));
}

/** Sends batches on connections until the turn is over, each after the one before has come back. */
async function putLoad(load) {
  const { port, pid, connections, pipelined, milliseconds, pieces = 1 } = load;
  const { batch, createCount } = prepareBatch(load);
  const add = createClock(pid, milliseconds);
  let figures = null;
  const run = () =>
    new Promise((resolve, reject) => {
      const count = createCount();
      let socket;
      let began;
      const send = () => {
        began = performance.now();
        writePieces(socket, batch, pieces);
      };
      const onBytes = (length, bytes) => {
        try {
          if (!count(length, bytes)) return;
          figures ??= add(pipelined, began);
          if (figures === null) {
            send();
            return;
          }
          resolve();
          socket.destroy();
        } catch (error) {
          reject(error);
        }
      };
      connect(port, onBytes, load).then((opened) => {
        socket = opened.on('close', () => reject(new Error('The server closed the connection')));
        send();
      }, reject);
    });
  await Promise.all(Array.from({ length: connections }, run));
  return figures;
}

// Connections that stay open, what reads them, and one on which the server of broadcasts is told
// that all has arrived.
const sockets = [];
let read = () => {};
let control = null;

async function open({ port, count, controlPort, ...options }) {
  if (controlPort !== undefined) {
    control = net.connect(controlPort, '127.0.0.1');
    await once(control, 'connect');
  }
  for (let i = 0; i < count; i++) {
    sockets.push(await connect(port, (length, bytes) => read(i, length, bytes), options));
  }
}

/** Sends a message on each of the open connections, and ends when each has its answer. */
function echo() {
  const frame = maskedFrame(TEXT, asciiPayload(64));
  let left = sockets.length;
  return new Promise((resolve) => {
    read = () => {
      if (--left === 0) resolve();
    };
    for (const socket of sockets) socket.write(frame);
  });
}

/** When each broadcast has arrived at each connection. */
let arrivals;

/** @returns {Buffer} what a server sends for so many texts of this size */
const repliesOf = (count, size) => Buffer.concat(Array(count).fill(unmaskedFrame(TEXT, asciiPayload(size))));

/** Says which messages a broadcast brings to each of the connections, opened together. */
function expect({ size, count }) {
  const reply = repliesOf(count, size);
  const counters = sockets.map(() => countBytes(reply));
  arrivals = [[]];
  read = (i, length, bytes) => {
    if (!counters[i](length, bytes) || arrivals.at(-1).push(sharedTime()) < counters.length) return;
    arrivals.push([]);
    control.write('.');
  };
}

/** @param {{ began: number[] }} task when each broadcast began @returns {number} 99th percentile */
function latency({ began }) {
  const latencies = createLatencies();
  for (const [i, start] of began.entries()) for (const arrival of arrivals[i]) latencies.add(arrival - start);
  return latencies.percentile();
}

/** Closed connections keep their ports for a minute: Linux has more addresses. */
const addressOf = (i) => (process.platform === 'linux' ? `127.0.0.${2 + (i % 16)}` : undefined);

/** Opens so many connections, a few at a time: each has a message back, and closes. */
async function openAndClose({ port, pid, count, milliseconds, connections, ...options }) {
  const frame = maskedFrame(TEXT, asciiPayload(64));
  const close = maskedFrame(0x88, Buffer.from([3, 232]));
  const expected = 66 + 4;
  const before = processorTime(pid);
  const end = count === undefined ? performance.now() + milliseconds : Infinity;
  let opened = 0;
  const run = async () => {
    while (opened < (count ?? Infinity) && performance.now() < end) {
      opened++;
      let left = expected;
      const socket = await connect(port, (length) => (left -= length), { ...options, localAddress: addressOf(opened) });
      const ended = once(socket, 'close');
      socket.write(frame);
      socket.end(close);
      await ended;
      if (left !== 0) throw new Error(`${left} bytes of the answer are missing`);
    }
  };
  await Promise.all(Array.from({ length: connections }, run));
  return { cost: (processorTime(pid) - before) / opened };
}

const TASKS = { putLoad, open, openAndClose, echo, expect, latency };

process.on('message', async ({ task, ...what }) => {
  try {
    process.send({ result: (await TASKS[task](what)) ?? null });
  } catch (error) {
    process.send({ error: error.message });
  }
});
