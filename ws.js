'use strict';

const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { WebSocket } = require('./lib/ws/websocket');

/** The exports that ws does not have. */
const ADDED = { report };

Object.assign(WebSocket, { WebSocket, WebSocketServer, Server: WebSocketServer }, ADDED);

module.exports = WebSocket;
