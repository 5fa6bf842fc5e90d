'use strict';

const { ws } = require('./internals');
const { WebSocket, noteKey } = require('./websocket');

/** ws's WebSocketServer, whose connections are framemask's. */
class WebSocketServer extends ws.WebSocketServer {
  /**
   * @param {object} options as of ws; `WebSocket` is framemask's by default
   * @param {() => void} [callback]
   */
  constructor(options, callback) {
    super({ WebSocket, ...options }, callback);
  }

  /**
   * Answers an opening handshake, as ws does.
   *
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:stream').Duplex} socket
   * @param {Buffer} head
   * @param {(websocket: object, request: object) => void} callback
   */
  handleUpgrade(request, socket, head, callback) {
    noteKey(socket, request.headers['sec-websocket-key']);
    super.handleUpgrade(request, socket, head, callback);
  }
}

module.exports = { WebSocketServer };
