'use strict';

const { report } = require('./lib/ws/report');
const { WebSocketServer } = require('./lib/ws/server');
const { WebSocket } = require('./lib/ws/websocket');

// What else ws exports (Receiver, Sender, createWebSocketStream and more) is inherited.
WebSocket.WebSocket = WebSocket;
WebSocket.WebSocketServer = WebSocketServer;
WebSocket.Server = WebSocketServer;
WebSocket.report = report;

module.exports = WebSocket;
