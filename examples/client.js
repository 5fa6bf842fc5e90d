'use strict';

// A WebSocket client (RFC 6455): node:http, and framemask for the handshake and the frames.
//
//     node examples/client.js [url]
//
// It sends a few messages to the url (default ws://127.0.0.1:8080) and prints the answers.

const http = require('node:http');
const https = require('node:https');
const { Decoder, Encoder, offerUpgrade } = require('framemask');

const HIGH_WATER_MARK = 64 * 1024;
// Reported, never sent (section 7.4.1): for a connection that ended without a Close frame.
const ABNORMAL = 1006;

class Connection {
  constructor(options) {
    const { maxPayload, maxFragments, text, closeTimeout = 10_000 } = options;
    this.options = options;
    this.decoder = new Decoder({
      role: 'client',
      maxPayload,
      maxFragments,
      text,
      onMessage: (data, isBinary) => options.onMessage?.call(this, data, isBinary),
      onPing: (payload) => this.pong(payload),
      onPong: (payload) => options.onPong?.call(this, payload),
      onClose: (code, reason) => {
        this.closeCode = code;
        this.closeReason = reason;
        this.sendClose(code);
      },
      onError: (error) => {
        this.error = error;
        this.sendClose(error.closeCode);
      }
    });
    this.encoder = null; // until the connection is open
    this.socket = null;
    this.closeTimeout = closeTimeout;
    this.closeTimer = null;
    this.lastPing = null; // the payload of the last Ping frame that could not be answered yet
    this.closeCode = ABNORMAL;
    this.closeReason = '';
    this.error = null;
  }

  /**
   * Sends a text message (a string) or a binary message (bytes). The messages of one turn of the
   * event loop leave in one write, or in a few if they are large.
   *
   * @returns {boolean} false if the socket's buffer is full: send more once `onDrain` is called
   */
  send(data, isBinary = typeof data !== 'string') {
    if (isBinary) this.encoder.binary(data);
    else this.encoder.text(data);
    if (this.encoder.pending >= HIGH_WATER_MARK) return this.encoder.flush();
    return !this.socket.writableNeedDrain;
  }

  ping(data) {
    this.encoder.ping(data);
  }

  /** Starts the closing handshake (section 7.1.2). `onClose` is called when it is over. */
  close(code, reason) {
    this.sendClose(code, reason);
    this.limitClosing();
  }

  /** Sends a Close frame at once: after a socket.end() in this turn, the Encoder could not. */
  sendClose(code, reason) {
    this.encoder.close(code, reason);
    this.encoder.flush();
  }

  /**
   * Answers a Ping frame. While the server does not read, only the last one is answered later
   * (section 5.5.3), so that a server that sends nothing but Ping frames can't fill the memory.
   */
  pong(payload) {
    if (this.socket.writableNeedDrain) this.lastPing = Buffer.from(payload);
    else this.encoder.pong(payload);
  }

  /** Stops delivering messages and reading from the socket until `resume` is called. */
  pause() {
    this.decoder.pause();
    this.socket.pause();
  }

  resume() {
    this.decoder.resume();
    this.afterFrames();
  }

  /** Runs after each chunk, because a handler may have paused or closed the connection. */
  afterFrames() {
    const { decoder, socket } = this;
    if (decoder.paused) return;
    socket.resume(); // bytes after a Close frame or an error are read too, and ignored
    if (!decoder.closed) return;
    this.limitClosing();
    // After a closing handshake the server ends the connection first (section 7.1.1).
    if (this.error !== null) socket.end();
  }

  limitClosing() {
    this.closeTimer ??= setTimeout(() => this.socket.destroy(), this.closeTimeout);
  }

  /** Called after a correct answer to the handshake; frames follow. */
  open(socket, head) {
    this.socket = socket;
    this.encoder = new Encoder({ role: 'client', recycle: true, writable: socket });
    socket.setTimeout(0);
    if (head.length > 0) socket.unshift(head); // frames that came with the answer
    socket.on('data', (chunk) => {
      this.decoder.write(chunk);
      this.afterFrames();
    });
    socket.on('drain', () => this.drained());
    socket.on('error', (error) => {
      this.error ??= error; // 'close' follows
    });
    socket.on('close', () => this.closed());
    this.options.onOpen?.call(this);
  }

  drained() {
    if (this.lastPing !== null) this.encoder.pong(this.lastPing);
    this.lastPing = null;
    this.options.onDrain?.call(this);
  }

  /** Calls `onClose`. Runs once, when the connection is over. */
  closed() {
    clearTimeout(this.closeTimer);
    this.decoder.stop();
    this.options.onClose?.call(this, this.closeCode, this.closeReason, this.error);
  }
}

/**
 * Opens a connection. The handlers are called with the connection as `this`:
 *
 * - `onOpen()`: the connection can send
 * - `onMessage(data, isBinary)`, `onPong(payload)`
 * - `onDrain()`: the socket's buffer is empty after `send` has returned false
 * - `onClose(code, reason, error)`: called once for every connection. `code` is 1006 if no Close
 *   frame came, `error` is null if there was none
 *
 * @param {string | URL} url ws: or wss:
 * @param {object} handlers and limits: `maxPayload` in bytes, `maxFragments`, `text`
 *   'string' or 'buffer', `handshakeTimeout` and `closeTimeout` in milliseconds
 * @returns {Connection}
 * @throws {RangeError} if the url is not ws: or wss:
 */
function connect(url, handlers) {
  const { protocol, href } = new URL(url);
  if (protocol !== 'ws:' && protocol !== 'wss:') throw new RangeError(`Not a WebSocket URL: ${href}`);
  const connection = new Connection(handlers);
  const offer = offerUpgrade();
  const request = (protocol === 'wss:' ? https : http).get(href.replace(/^ws/, 'http'), {
    agent: false,
    headers: offer.headers
  });
  const timer = setTimeout(() => fail(new Error('The handshake took too long')), handlers.handshakeTimeout ?? 10_000);

  function fail(error) {
    connection.error = error;
    request.destroy();
  }

  /** @returns {boolean} whether an answer is correct (section 4.1) */
  function accept(response) {
    try {
      offer.readAnswer(response);
      return true;
    } catch (error) {
      fail(error);
      return false;
    }
  }

  request.on('error', (error) => {
    connection.error ??= error;
  });
  request.on('response', accept);
  request.on('upgrade', (response, socket, head) => {
    if (!accept(response)) {
      socket.destroy();
      return;
    }
    clearTimeout(timer);
    connection.open(socket, head);
  });
  request.on('close', () => {
    clearTimeout(timer);
    // After an upgrade, the socket's 'close' event counts.
    if (connection.socket === null) connection.closed();
  });
  return connection;
}

if (require.main === module) {
  let replies = 0;
  const [url = 'ws://127.0.0.1:8080'] = process.argv.slice(2);
  connect(url, {
    onOpen() {
      this.send('Hello');
      this.send('Καλημέρα κόσμε');
      this.send(Buffer.from([0xde, 0xad, 0xbe, 0xef]));
      this.ping('are you there?');
    },
    onMessage(data, isBinary) {
      console.log(isBinary ? 'binary' : 'text', data);
      if (++replies === 3) this.close(1000, 'Thank you');
    },
    onPong(payload) {
      console.log('pong', payload.toString());
    },
    onClose(code, reason, error) {
      console.log('closed', code, reason);
      if (error !== null) console.error(error.message);
      process.exitCode = code === 1000 ? 0 : 1;
    }
  });
}

module.exports = { connect };
