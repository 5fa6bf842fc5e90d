'use strict';

const { loadTogether } = require('./lib/ws/parts');
const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId, messages } = require('./lib/ws/websocket');

const loadAdded = loadTogether(() => ({
  ...require('./lib/ws/drained'),
  ...require('./lib/ws/send-stream'),
  ...require('./lib/ws/websocket-stream')
}));

/** The exports that ws does not have. */
const ADDED = {
  connectionId,
  drained: (...args) => loadAdded().drained(...args),
  messages,
  report,
  sendStream: (...args) => loadAdded().sendStream(...args)
};

for (const exported of new Set([Exported, WebSocket])) {
  Object.assign(exported, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);
  for (const name of ['WebSocketError', 'WebSocketStream']) {
    const get = () => loadAdded()[name];
    Object.defineProperty(exported, name, { get, enumerable: true, configurable: true });
  }
}

module.exports = Exported;
