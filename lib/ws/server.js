'use strict';

const { checkNames, readBoolean } = require('../shared/option-names');
const { ws } = require('./internals');
const { loadCodec, loadCompression } = require('./parts');
const { WebSocket, noteHandshake, streamFromOf, withoutTakeover } = require('./websocket');

/** ws's WebSocketServer, whose connections are framemask's. */
class WebSocketServer extends ws.WebSocketServer {
  constructor(options, callback) {
    checkNames(options, 'WebSocketServer');
    readBoolean(options, 'sharedReads'); // throws
    loadCodec();
    streamFromOf(options);
    super({ WebSocket, ...withoutTakeover(options) }, callback);
    if (this.options.perMessageDeflate) loadCompression();
  }

  handleUpgrade(request, socket, head, callback) {
    // ws throws if it is none.
    const isStream = typeof socket?.on === 'function';
    if (isStream) noteHandshake(socket, request.headers['sec-websocket-key'], this.options);
    super.handleUpgrade(request, socket, head, callback);
  }
}

module.exports = { WebSocketServer };
