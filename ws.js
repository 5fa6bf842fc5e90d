'use strict';

const { drained } = require('./lib/streams/drained');
const { messages } = require('./lib/streams/messages');
const { sendStream } = require('./lib/streams/send-stream');
const { WebSocketError } = require('./lib/streams/websocket-stream');
const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { Exported, WebSocket, connectionId } = require('./lib/ws/websocket');
const { WebSocketStream } = require('./lib/ws/websocket-stream');

/** The exports that ws does not have: values, as test runners mock no getters. */
const ADDED = { connectionId, drained, messages, report, sendStream, WebSocketError, WebSocketStream };

for (const exported of new Set([Exported, WebSocket])) {
	Object.assign(exported, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);
}

module.exports = Exported;
