'use strict';

const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId, messages } = require('./lib/ws/websocket');

/** The exports that ws does not have. Those that few programs need are loaded when they are called. */
const ADDED = {
  connectionId,
  messages,
  ready: (...args) => require('./lib/ws/ready').ready(...args),
  received: (websocket) => require('./lib/ws/received').received(websocket),
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
