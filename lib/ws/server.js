'use strict';

const { invalidState } = require('../shared/errors');
const { log } = require('../shared/log');
const { checkNames, readBoolean } = require('../shared/option-names');
const { readLimits } = require('./guard');
const { ws } = require('./internals');
const { loadCodec, loadCompression } = require('./parts');
const { connections } = require('./report');
const { WebSocket, noteHandshake, streamFromOf, withoutTakeover } = require('./websocket');

/** Where a server keeps the Promise of `shutDown`. */
const kShutDown = Symbol('shutDown');

/** ws's WebSocketServer, whose connections are framemask's. */
class WebSocketServer extends ws.WebSocketServer {
	constructor(options, callback) {
		checkNames(options, 'WebSocketServer');
		readBoolean(options, 'sharedReads'); // throws
		loadCodec();
		streamFromOf(options);
		readLimits(options ?? {});
		super({ WebSocket, ...withoutTakeover(options) }, callback);
		if (this.options.perMessageDeflate) loadCompression();
	}

	shutDown(options) {
		if (this[kShutDown] !== undefined) return this[kShutDown];
		loadCodec().readShutDown(options); // throws
		if (this.clients === undefined) throw invalidState('shutDown needs a server with the option clientTracking');
		// A server of ws's own stops listening.
		if (!this.options.server && !this.options.noServer) this.close();
		this[kShutDown] = endAll(this, options);
		return this[kShutDown];
	}

	/** ws calls it for a handshake that it accepts: perhaps later than `handleUpgrade`. */
	completeUpgrade(extensions, key, protocols, request, socket, ...rest) {
		if (this[kShutDown] === undefined) super.completeUpgrade(extensions, key, protocols, request, socket, ...rest);
		else loadCodec().refuseUpgrade(socket, 503);
	}

	handleUpgrade(request, socket, head, callback) {
		// ws throws if it is none.
		const isStream = typeof socket?.on === 'function';
		if (isStream) noteHandshake(socket, request, this.options);
		super.handleUpgrade(request, socket, head, callback);
	}
}

async function endAll(server, options) {
	const result = await loadCodec().shutDown(server.clients, options);
	connections.ended.shutDown += result.terminated;
	log('shutDown: %o', result);
	server.close();
	return result;
}

module.exports = { WebSocketServer };
