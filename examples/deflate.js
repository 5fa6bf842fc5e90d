'use strict';

// A WebSocket server and client that compress messages (permessage-deflate, RFC 7692): node:http, and
// framemask for the handshake, the compression and the frames.
//
//     node examples/deflate.js
//
// A client sends messages to an echo server, without context takeover and with it. It prints what was
// agreed on, the bytes before and after compression, and in which order replies came. A server of
// your own also needs the timers of echo-server.js.

const { once } = require('node:events');
const http = require('node:http');
const { Decoder, Encoder, acceptUpgrade, offerUpgrade } = require('framemask');

const ABNORMAL = 1006; // for a connection that ended without a Close frame
const HIGH_WATER_MARK = 256 * 1024;

/** A connection of either role, whose handshake is done. */
class Connection {
  /**
   * @param {import('node:net').Socket} socket
   * @param {'server' | 'client'} role
   * @param {object | null} deflate what was agreed on; null if messages are not compressed
   * @param {object} options see `createServer`
   */
  constructor(socket, role, deflate, options) {
    const { maxPayload = 1024 * 1024, maxFragments } = options;
    this.socket = socket;
    this.deflate = deflate;
    this.options = options;
    // `maxPayload` also counts while a message is inflated: a bomb costs the limit and no more.
    this.decoder = new Decoder({
      role,
      deflate,
      text: 'buffer',
      maxPayload,
      maxFragments,
      onMessage: (data, isBinary) => options.onMessage?.call(this, data, isBinary),
      onPing: (payload) => this.encoder.pong(payload),
      onClose: (code) => {
        this.closeCode = code;
        this.encoder.close(code);
      },
      onError: (error) => {
        this.error = error;
        this.encoder.close(error.closeCode);
      },
      // Messages have come from the thread pool, in order, after `write` has returned.
      onInflated: () => this.settle()
    });
    this.encoder = new Encoder({ role, deflate, recycle: true, writable: socket, onDeflated: () => this.settle() });
    this.hasRefused = false; // whether `send` has returned false since the last `onDrain`
    this.closeCode = ABNORMAL;
    this.closeTimer = null;
    this.error = null;
    socket.on('data', (chunk) => {
      this.decoder.write(chunk);
      this.settle();
    });
    socket.on('drain', () => this.settle());
    socket.on('end', () => socket.end());
    socket.on('error', (error) => {
      this.error ??= error; // 'close' follows
    });
    socket.on('close', () => {
      clearTimeout(this.closeTimer);
      this.decoder.stop(); // releases the context that inflates
      options.onClose?.call(this, this.closeCode, this.error);
    });
  }

  /** What waits to be sent: `pending` counts messages in zlib's thread pool, and after those. */
  get isFull() {
    return this.encoder.pending + this.socket.writableLength >= HIGH_WATER_MARK;
  }

  /**
   * @param {string | Uint8Array} data
   * @param {boolean} [isBinary]
   * @param {{ compress?: boolean }} [options] `compress: false` for a secret, or for a picture
   * @returns {boolean} false if enough waits: send more once `onDrain` is called
   */
  send(data, isBinary = typeof data !== 'string', options = {}) {
    if (isBinary) this.encoder.binary(data, options);
    else this.encoder.text(data, options);
    this.hasRefused = this.isFull;
    return !this.hasRefused;
  }

  /** Delivers no more messages, and stops reading, until `resume` is called. */
  pause() {
    this.decoder.pause();
  }

  resume() {
    this.decoder.resume();
    this.settle();
  }

  /** Starts the closing handshake. The Close frame waits for messages that are being compressed. */
  close(code, reason) {
    this.encoder.close(code, reason);
    this.limitClosing();
  }

  limitClosing() {
    this.closeTimer ??= setTimeout(() => this.socket.destroy(), this.options.closeTimeout ?? 10_000);
  }

  /** Runs after each chunk, and each time that the thread pool or the socket is done with something. */
  settle() {
    const { decoder, encoder, socket } = this;
    if (socket.destroyed) return;
    encoder.flush();
    if (this.hasRefused && !this.isFull) {
      this.hasRefused = false;
      this.options.onDrain?.call(this);
    }
    // What is read while a message is inflated would only wait in memory.
    if (decoder.paused || decoder.inflating) socket.pause();
    else socket.resume();
    if (!decoder.closed) return;
    this.limitClosing();
    // What is still pending is in the thread pool. Without an error the server ends first.
    if (encoder.pending === 0 && (decoder.role === 'server' || this.error !== null)) socket.end();
  }
}

/**
 * The handlers are called with the connection as `this`:
 *
 * - `onMessage(data, isBinary)`: `data` is a Buffer
 * - `onDrain()`: `send` has returned false, and there is room again
 * - `onClose(code, error)`: called once for every connection
 *
 * @param {object} options handlers, `deflate`, the options of `acceptDeflate`, `maxPayload` in
 *   bytes, before and after inflating, `maxFragments`, and `closeTimeout` in milliseconds
 * @returns {http.Server}
 */
function createServer(options) {
  const server = http.createServer((_request, response) => response.writeHead(426).end());
  return server.on('upgrade', (request, socket, head) => {
    const upgrade = acceptUpgrade(request, socket, head, { deflate: options.deflate ?? true });
    if (upgrade !== null) new Connection(socket, 'server', upgrade.deflate, options);
  });
}

/** @returns {http.Server} a server that sends every message back */
function createEchoServer(options = {}) {
  return createServer({
    ...options,
    onMessage(data, isBinary) {
      // Replies that the client does not read would wait in memory.
      if (!this.send(data, isBinary)) this.pause();
    },
    onDrain() {
      this.resume();
    }
  });
}

/**
 * @param {string} url ws:
 * @param {object} options as of `createServer`; `deflate` are those of `offerDeflate`
 * @returns {Promise<Connection>}
 */
async function connect(url, options = {}) {
  const offer = offerUpgrade({ deflate: options.deflate ?? true });
  const request = http.get(url.replace(/^ws/, 'http'), { agent: false, timeout: 10_000, headers: offer.headers });
  request.on('timeout', () => request.destroy(new Error('The handshake took too long')));
  request.on('response', ({ statusCode }) => request.destroy(new Error(`The server answered with ${statusCode}`)));
  const [response, socket, head] = await once(request, 'upgrade');
  try {
    const { deflate } = offer.readAnswer(response); // throws if the answer is wrong
    socket.setTimeout(0);
    if (head.length > 0) socket.unshift(head);
    return new Connection(socket, 'client', deflate, options);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Sends messages to an echo server, one of them large, and prints what comes back. */
async function demonstrate(url, deflate, print) {
  const sizes = [];
  let received = 0;
  let isClosed;
  const closed = new Promise((resolve) => {
    isClosed = resolve;
  });
  const connection = await connect(url, {
    deflate,
    onMessage(data) {
      sizes.push(data.length);
      if (sizes.length < 102) return;
      received = this.socket.bytesRead;
      this.close(1000);
    },
    onClose: isClosed
  });
  print(connection.deflate.header);
  // Compressed in the thread pool. Those after it wait, so that the order stays.
  connection.send(JSON.stringify(Array.from({ length: 5000 }, (_, id) => ({ id, name: `user ${id}` }))));
  for (let id = 0; id < 100; id++) {
    connection.send(JSON.stringify({ id, name: `user ${id}`, roles: ['reader', 'writer'], on: id % 2 === 0 }));
  }
  connection.send('secret'.repeat(10), false, { compress: false });
  const code = await closed;
  const total = sizes.reduce((sum, size) => sum + size);
  print(
    `${sizes.length} replies, ${total} bytes, the first ${sizes[0]}, the last ${sizes.at(-1)}: ${received} received`
  );
  print(`closed ${code}`);
}

async function main(print) {
  const server = createEchoServer({ deflate: { contextTakeover: true, threshold: 64 } });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${server.address().port}`;
  // A server that takes contexts over does without where the client asks for it.
  await demonstrate(url, { threshold: 64 }, print);
  await demonstrate(url, { threshold: 64, contextTakeover: true }, print);
  server.close();
}

if (require.main === module) main(console.log);

module.exports = { connect, createEchoServer, createServer };
