'use strict';

// Connections on framemask/ws. connections-codec.js does the same on the codec.

const { prepare } = require('framemask');
const { WebSocket, WebSocketServer } = require('framemask/ws');

/** A connection whose handshake is done: the part of framemask's Connection that the chat needs. */
class Connection {
  constructor(socket, { maxPending, heartbeat }, open) {
    this._socket = socket;
    this._maxPending = maxPending;
    this._isAlive = true;
    const timer = setInterval(() => this._beat(), heartbeat);
    this._handlers = open(this);
    socket.on('message', (data, isBinary) => {
      this._isAlive = true;
      this._handlers.onMessage(isBinary ? data : data.toString(), isBinary);
    });
    socket.on('pong', () => {
      this._isAlive = true;
    });
    socket.on('error', (error) => this._handlers.onError(error)); // 'close' follows
    socket.on('close', () => {
      clearInterval(timer);
      this._handlers.onClose();
    });
  }

  /** 1 while it is open. */
  get readyState() {
    return this._socket.readyState;
  }

  /** Sends text, or a message of `frameOnce`. A client that leaves too much unread is dropped. */
  send(message) {
    if (this.readyState !== WebSocket.OPEN) return;
    if (this._socket.bufferedAmount > this._maxPending) this._drop('FRAMEMASK_ERR_BACKPRESSURE');
    else if (typeof message === 'string') this._socket.send(message);
    // ws has no public method for a frame that is made already. socket.io sends its broadcasts in
    // this way, too.
    else this._socket._sender.sendFrame([message.frame]);
  }

  /** Starts the closing handshake. ws drops a client that does not answer in time. */
  close(code, reason) {
    this._socket.close(code, reason);
  }

  /** Ends the connection at once. */
  terminate() {
    this._socket.terminate();
  }

  /** Sends a Ping, or drops a client from which nothing has come since the last one. */
  _beat() {
    if (this.readyState !== WebSocket.OPEN) return;
    if (!this._isAlive) this._drop('FRAMEMASK_ERR_HEARTBEAT');
    else this._socket.ping();
    this._isAlive = false;
  }

  _drop(code) {
    this._handlers.onError(Object.assign(new Error('The client is dropped'), { code }));
    this.terminate();
  }
}

/** Frames a text message once. `prepare` copies the frame at each access, so that one is kept. */
function frameOnce(text) {
  const { frame } = prepare(text);
  return { frame, length: frame.length };
}

/**
 * `open` is called with a Connection, and returns its `onMessage`, `onError` and `onClose`, which are those of
 * framemask's ConnectionOptions. @returns a listener of 'upgrade'
 */
function createUpgrade(limits, open) {
  const { maxPayload, closeTimeout } = limits;
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload, closeTimeout });
  return (request, socket, head) =>
    server.handleUpgrade(request, socket, head, (websocket) => new Connection(websocket, limits, open));
}

module.exports = { createUpgrade, frameOnce };
