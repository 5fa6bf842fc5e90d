'use strict';

// Connections on framemask/ws. connections-codec.js does the same on framemask's Connection.

const { prepare } = require('framemask');
const { WebSocket, WebSocketServer } = require('framemask/ws');

/** The part of framemask's Connection that the chat needs. */
class Connection {
  constructor(socket) {
    this._socket = socket;
  }

  /** 1 while it is open. */
  get readyState() {
    return this._socket.readyState;
  }

  /** Sends text, or a message of `frameOnce`. */
  send(message) {
    if (this.readyState === WebSocket.OPEN) this._socket.send(message);
  }

  close(code, reason) {
    this._socket.close(code, reason);
  }

  terminate() {
    this._socket.terminate();
  }
}

/**
 * `open` is called with a Connection, and returns its `onMessage`, `onError` and `onClose`, which
 * are those of framemask's ConnectionOptions.
 *
 * @returns {{ upgrade: Function, shutDown: Function }} a listener of 'upgrade', and the method of
 *   the server
 */
function createConnections({ maxPayload, maxPending, closeTimeout, heartbeat }, open) {
  const options = { noServer: true, maxPayload, maxBackpressure: maxPending, closeTimeout, heartbeat };
  const server = new WebSocketServer(options);
  const accept = (socket) => {
    const handlers = open(new Connection(socket));
    socket.on('message', (data, isBinary) => handlers.onMessage(isBinary ? data : data.toString(), isBinary));
    socket.on('error', (error) => handlers.onError(error)); // 'close' follows
    socket.on('close', () => handlers.onClose());
  };
  return {
    upgrade: (request, socket, head) => server.handleUpgrade(request, socket, head, accept),
    shutDown: (options) => server.shutDown(options)
  };
}

module.exports = { createConnections, frameOnce: prepare };
