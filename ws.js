'use strict';

const { drained } = require('./lib/ws/drained');
const { report } = require('./lib/ws/report');
const { sendStream } = require('./lib/ws/send-stream');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId, messages } = require('./lib/ws/websocket');
const { WebSocketError, WebSocketStream } = require('./lib/ws/websocket-stream');

/** The exports that ws does not have: values, as test runners mock no getters. */
const ADDED = { connectionId, drained, messages, report, sendStream, WebSocketError, WebSocketStream };

for (const exported of new Set([Exported, WebSocket])) {
	Object.assign(exported, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);
}

module.exports = Exported;
