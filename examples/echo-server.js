'use strict';

// A WebSocket server (RFC 6455) that sends every message back: node:http, and framemask for
// the handshake and the frames, nothing else. Change `onMessage` to write a
// server of your own.
//
//     node examples/echo-server.js
//
// It listens on 127.0.0.1, on the port that the environment variable PORT names (default 8080).

const http = require('node:http');
const { Decoder, Encoder, acceptUpgrade, readInto } = require('framemask');

const kConnection = Symbol('connection');

// All connections share these handlers. `this` is the decoder, `context` the connection.
const handlers = {
  onMessage(data, isBinary) {
    const { encoder } = this.context;
    if (isBinary) encoder.binary(data);
    else encoder.text(data);
  },
  onPing(payload) {
    this.context.encoder.pong(payload);
  },
  onClose(code) {
    // "The endpoint typically echos the status code it received" (section 5.5.1).
    this.context.encoder.close(code);
  },
  onError(error) {
    this.context.encoder.close(error.closeCode);
  }
};

class Connection {
  constructor(socket, server) {
    const { maxPayload, maxFragments, idleTimeout, sharedReads } = server.limits;
    this.socket = socket;
    this.server = server;
    // 'buffer' delivers text as valid UTF-8 bytes, enough for an echo; 'string' delivers strings.
    this.decoder = new Decoder({
      role: 'server',
      text: 'buffer',
      borrowed: sharedReads,
      maxPayload,
      maxFragments,
      context: this,
      ...handlers
    });
    this.encoder = new Encoder({ role: 'server', recycle: true });
    this.closeTimer = null;
    // Not socket.setTimeout(): writes re-arm that too, so it never ends a client that only we write
    // to.
    this.silenceTimer = idleTimeout > 0 ? setTimeout(onSilence, idleTimeout, this) : null;
    this.pinged = false;

    socket[kConnection] = this;
    readInto(socket, this.decoder, afterRead);
    socket.on('drain', onDrain).on('end', onEnd).on('error', onError).on('close', onClose);
    server.connections.add(this);
  }

  /**
   * Writes the encoded frames. Stops reading from a client that does not read what we write, and
   * drops it if more than `maxQueued` bytes wait: a server that pushes messages gets there.
   */
  flush() {
    const { socket, encoder, decoder, server } = this;
    const more = encoder.flush(socket);
    if (socket.writableLength > server.limits.maxQueued) socket.destroy();
    else if (!more && !decoder.closed) socket.pause();
  }

  /** Starts the closing handshake (section 7.1.2). The client's Close frame or a timer ends it. */
  close(code, reason) {
    if (this.encoder.closed) return;
    this.encoder.close(code, reason);
    this.flush();
    this.limitClosing();
  }

  /** Ends our half of the connection. The server ends its half first (section 7.1.1). */
  end() {
    this.limitClosing();
    this.socket.end();
    this.socket.resume(); // reads until the client ends its half
  }

  /** Drops the connection if the client does not end its half in time. */
  limitClosing() {
    this.closeTimer ??= setTimeout(destroy, this.server.limits.closeTimeout, this.socket);
  }
}

// All connections share these listeners. `this` is the socket.

/** The decoder has decoded what one read of the socket has brought. */
function afterRead() {
  const connection = this[kConnection];
  connection.silenceTimer?.refresh();
  connection.pinged = false;
  connection.flush(); // one write for the replies to all messages of the read
  if (connection.decoder.closed) connection.end(); // a Close frame or an error: our Close frame has been sent
}

function onDrain() {
  this.resume();
}

/**
 * Sends a Ping frame after a time in which nothing was received, and drops a client that does not
 * answer, or that does not read, so that we have stopped reading from it.
 */
function onSilence(connection) {
  if (connection.pinged) {
    connection.socket.destroy();
    return;
  }
  connection.pinged = true;
  connection.encoder.ping();
  connection.flush();
  connection.silenceTimer.refresh();
}

function onEnd() {
  this[kConnection].end();
}

function onError() {
  // The connection was lost; 'close' follows.
}

function onClose() {
  const connection = this[kConnection];
  clearTimeout(connection.closeTimer);
  clearTimeout(connection.silenceTimer);
  connection.decoder.stop();
  connection.server.connections.delete(connection);
}

function destroy(socket) {
  socket.destroy();
}

/**
 * @param {object} [options] limits, and the options of `http.createServer` (headersTimeout,
 *   maxHeaderSize ...)
 * @param {number} [options.maxPayload] the longest message, in bytes; a client that does not read
 *   its echo can make the server hold as much
 * @param {number} [options.maxFragments] the most frames of a message
 * @param {number} [options.maxQueued] the most bytes that may wait for a client to read them
 * @param {number} [options.closeTimeout] milliseconds that closing a connection may take
 * @param {number} [options.idleTimeout] milliseconds in which nothing is received before a Ping
 *   frame is sent, and then again before the client is dropped; 0 for never
 * @param {boolean} [options.sharedReads] whether all connections are read into the same memory,
 *   which is worth it for single messages and for long ones; true by default
 * @returns {http.Server} with the open connections in `connections`, a Set
 */
function createEchoServer(options = {}) {
  const {
    maxPayload = 1024 * 1024,
    maxFragments,
    maxQueued = maxPayload + 1024 * 1024,
    closeTimeout = 10_000,
    idleTimeout = 30_000,
    sharedReads = true,
    ...httpOptions
  } = options;
  const server = http.createServer(httpOptions).on('request', onRequest).on('upgrade', onUpgrade);
  const limits = { maxPayload, maxFragments, maxQueued, closeTimeout, idleTimeout, sharedReads };
  return Object.assign(server, { connections: new Set(), limits });
}

function onRequest(_request, response) {
  response.writeHead(426, { Upgrade: 'websocket', Connection: 'Upgrade, close' }).end('This is a WebSocket server.\n');
}

function onUpgrade(request, socket, head) {
  // Pages of any origin may connect: with cookies, check `request.headers.origin` first.
  if (acceptUpgrade(request, socket, head) !== null) new Connection(socket, this);
}

/** Stops listening and closes all connections. The server emits 'close' when they are closed. */
function shutDown(server) {
  server.close();
  // Connections without a WebSocket. Since Node.js 19 close() ends those that wait for a second
  // request, but not those that have not sent their first.
  server.closeAllConnections();
  for (const connection of server.connections) connection.close(1001, 'The server is going away');
}

if (require.main === module) {
  const server = createEchoServer();
  const { PORT = 8080 } = process.env;
  server.listen(PORT, '127.0.0.1', () => {
    console.log(`echo server: ws://127.0.0.1:${server.address().port}`);
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => shutDown(server));
}

module.exports = { createEchoServer, shutDown };
