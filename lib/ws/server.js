'use strict';

const { withoutTakeover } = require('./context-takeover');
const { ws } = require('./internals');
const { WebSocket, noteHandshake } = require('./websocket');

/** ws's WebSocketServer, whose connections are framemask's. */
class WebSocketServer extends ws.WebSocketServer {
  /**
   * @param {object} options as of ws; `WebSocket` is framemask's by default, and `sharedReads:
   *   true` has all sockets read into the same memory
   * @param {() => void} [callback]
   */
  constructor(options, callback) {
    super({ WebSocket, ...withoutTakeover(options) }, callback);
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
    noteHandshake(socket, request.headers['sec-websocket-key'], this.options.sharedReads === true);
    super.handleUpgrade(request, socket, head, callback);
  }
}

module.exports = { WebSocketServer };
