'use strict';

const { loadCodec } = require('./lib/ws/parts');
const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId, messages } = require('./lib/ws/websocket');

/** The exports that ws does not have. */
const ADDED = {
  connectionId,
  drained: (...args) => loadCodec().drained(...args),
  messages,
  report,
  sendStream: (...args) => loadCodec().sendStream(...args)
};

for (const exported of new Set([Exported, WebSocket])) {
  Object.assign(exported, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);
  for (const name of ['WebSocketError', 'WebSocketStream']) {
    const get = () => loadCodec()[name];
    Object.defineProperty(exported, name, { get, enumerable: true, configurable: true });
  }
}

module.exports = Exported;
