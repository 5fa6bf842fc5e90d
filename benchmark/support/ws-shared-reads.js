'use strict';

// framemask/ws with the option sharedReads:
// `node benchmark/ws.js --candidate ./benchmark/support/ws-shared-reads.js` measures it against ws.

const WebSocket = require('../../ws.js');

class WebSocketServer extends WebSocket.WebSocketServer {
  constructor(options, listening) {
    super({ ...options, sharedReads: true }, listening);
  }
}

module.exports = { ...WebSocket, WebSocketServer };
