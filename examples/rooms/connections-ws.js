'use strict';

// Connections on framemask/ws. connections-codec.js does the same on the codec.

const { prepare } = require('framemask');
const { WebSocket, WebSocketServer } = require('framemask/ws');

/** A connection whose handshake is done. connections-codec.js has a class of the same shape. */
class Connection {
  constructor(socket) {
    this.isAlive = true;
    this._socket = socket;
  }

  /** The bytes that wait for the client to read them. */
  get pending() {
    return this._socket.bufferedAmount;
  }

  /** Sends a message that has been framed once, for all members of a room. */
  send({ frame }) {
    if (this._socket.readyState !== WebSocket.OPEN) return;
    // ws has no public method for a frame that is made already. socket.io sends its broadcasts in
    // this way, too.
    this._socket._sender.sendFrame([frame]);
  }

  sendText(text) {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.send(text);
  }

  ping() {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.ping();
  }

  /** Starts the closing handshake. ws drops a client that does not answer in time. */
  close(code, reason) {
    this._socket.close(code, reason);
  }

  /** Ends the connection at once. */
  drop() {
    this._socket.terminate();
  }
}

/** Frames a text message once. `prepare` copies the frame at each access, so that one is kept. */
function frameOnce(text) {
  const { frame } = prepare(text);
  return { frame, length: frame.length };
}

/** `open` is called with a Connection, and returns its `onMessage` and `onEnd`. @returns a listener of 'upgrade' */
function createUpgrade({ maxPayload, closeTimeout }, open) {
  const server = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload, closeTimeout });

  function onConnection(socket) {
    const connection = new Connection(socket);
    const handlers = open(connection);
    socket.on('message', (data, isBinary) => {
      connection.isAlive = true;
      handlers.onMessage(isBinary ? data : data.toString(), isBinary);
    });
    socket.on('pong', () => {
      connection.isAlive = true;
    });
    socket.on('error', () => {}); // it broke a rule: ws sends the Close frame, 'close' follows
    socket.on('close', () => handlers.onEnd());
  }

  return (request, socket, head) => server.handleUpgrade(request, socket, head, onConnection);
}

module.exports = { createUpgrade, frameOnce };
