'use strict';

const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId } = require('./lib/ws/websocket');

/** The exports that ws does not have. */
const ADDED = { connectionId, report };

for (const exported of new Set([Exported, WebSocket])) {
  Object.assign(exported, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);
}

module.exports = Exported;
