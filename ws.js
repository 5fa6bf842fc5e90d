'use strict';

const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId, messages } = require('./lib/ws/websocket');

/** The exports that ws does not have. Those that few programs need are loaded when they are called. */
const ADDED = {
  connectionId,
  drained: (...args) => require('./lib/ws/drained').drained(...args),
  messages,
  report,
  sendStream: (...args) => require('./lib/ws/send-stream').sendStream(...args)
};

for (const exported of new Set([Exported, WebSocket])) {
  Object.assign(exported, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);
  for (const name of ['WebSocketError', 'WebSocketStream']) {
    const get = () => require('./lib/ws/websocket-stream')[name];
    Object.defineProperty(exported, name, { get, enumerable: true, configurable: true });
  }
}

module.exports = Exported;
