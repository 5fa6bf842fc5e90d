'use strict';

const { ws } = require('./internals');
const { WebSocket } = require('./websocket');

/** ws's WebSocketServer, whose connections are framemask's. */
class WebSocketServer extends ws.WebSocketServer {
  /**
   * @param {object} options as of ws; `WebSocket` is framemask's by default
   * @param {() => void} [callback]
   */
  constructor(options, callback) {
    super({ WebSocket, ...options }, callback);
  }
}

module.exports = { WebSocketServer };
