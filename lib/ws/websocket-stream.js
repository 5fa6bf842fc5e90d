'use strict';

const streams = require('../streams/websocket-stream');
const { WebSocket } = require('./websocket');

/** See ws.d.ts: its constructor dials. */
class WebSocketStream extends streams.WebSocketStream {
	_dial(url, protocols, options) {
		return new WebSocket(url, protocols, options);
	}
}

module.exports = { WebSocketStream };
