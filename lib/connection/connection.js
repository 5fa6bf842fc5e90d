'use strict';

const { openClient } = require('../client-handshake');
const { readChoice, readTrace } = require('../codec/options');
const { acceptUpgrade } = require('../handshake');
const { invalidType } = require('../shared/errors');
const { showPublicState } = require('../shared/inspect');
const { checkOptions, readBoolean } = require('../shared/option-names');
const { messages } = require('../streams/messages');
const { kClosing, kPeer } = require('../streams/peer');
const { UNTRACED } = require('../tracing');
const { CLOSED, CLOSING, OPEN } = require('./closing');
const { Endpoint } = require('./endpoint');
const { ConnectionPeer } = require('./peer');
const { ownOf, settingsOf } = require('./settings');

/** The connection of a handshake in trace records, with the id that a program has given. */
const traceOf = (given, handshake) => (given === UNTRACED ? UNTRACED : { id: given?.id, ...handshake });

/** A WebSocket on a stream, as programs see it: see index.d.ts. */
class Connection {
	static OPEN = OPEN;
	static CLOSING = CLOSING;
	static CLOSED = CLOSED;

	static accept(request, socket, head, options = {}, own = {}) {
		// What can be wrong in a program throws before an answer is written.
		settingsOf(options);
		const all = ownOf(options, own);
		readBoolean(all, 'paused');
		const { protocol, headers, deflate } = all;
		const given = readTrace(all);
		const upgrade = acceptUpgrade(request, socket, head, { protocol, headers, deflate });
		if (upgrade === null) return null;
		const [path] = (request.url ?? '').split('?');
		const trace = traceOf(given, { key: request.headers['sec-websocket-key'], path });
		return new this(socket, 'server', options, { ...all, ...upgrade, trace });
	}

	/** Node.js's streams deliver in ticks, which come after the code that awaits the promise. */
	static async connect(url, options = {}) {
		settingsOf(options);
		const { context } = options;
		const paused = readBoolean(options, 'paused');
		const given = readTrace(options);
		const { socket, trace, ...upgrade } = await openClient(url, options);
		return new this(socket, 'client', options, { ...upgrade, context, paused, trace: traceOf(given, trace) });
	}

	constructor(socket, role, options = {}, own = options) {
		if (typeof socket?.write !== 'function' || typeof socket.on !== 'function') {
			throw invalidType('socket', 'a stream.Duplex', socket);
		}
		readChoice({ role }, 'role', ['server', 'client']);
		const settings = settingsOf(options);
		const { context, protocol = '', deflate = null } = checkOptions(own, 'Connection');
		const trace = readTrace(own) ?? {};
		const isPaused = readBoolean(own, 'paused');
		this.context = context;
		this.protocol = protocol;
		this.deflate = deflate;
		this._endpoint = new Endpoint(this, socket, role, settings, deflate, trace);
		this._endpoint.start(isPaused);
	}

	get socket() {
		return this._endpoint.socket;
	}

	get role() {
		return this._endpoint.input.decoder.role;
	}

	get readyState() {
		return this._endpoint.closing.readyState;
	}

	get paused() {
		return this._endpoint.input.isPaused;
	}

	get bufferedAmount() {
		return this._endpoint.output.bufferedAmount;
	}

	get framesRead() {
		return this._endpoint.input.decoder.framesRead;
	}

	/** Null until the connection is closed. */
	get closeCode() {
		const { closing } = this._endpoint;
		return closing.isOver ? closing.code : null;
	}

	get closeReason() {
		const { closing } = this._endpoint;
		return closing.isOver ? closing.reason : '';
	}

	send(data, options, callback) {
		if (typeof options === 'function') return this.send(data, undefined, options);
		const endpoint = this._endpoint;
		if (!endpoint.maySend(callback)) return false;
		if (endpoint.redirect === null) return endpoint.send(data, options, callback);
		endpoint.redirect(data, options, callback);
		return !endpoint.output.isFull;
	}

	ping(data, callback) {
		const endpoint = this._endpoint;
		if (!endpoint.maySend(callback)) return false;
		endpoint.output.encoder.ping(data);
		return endpoint.added(callback);
	}

	pong(data, callback) {
		const endpoint = this._endpoint;
		if (!endpoint.maySend(callback)) return false;
		endpoint.output.encoder.pong(data);
		return endpoint.added(callback);
	}

	close(code, reason) {
		this._endpoint.close(code, reason);
		this._endpoint.peer?.emit(kClosing, true);
	}

	terminate() {
		this._endpoint.terminate();
	}

	pause() {
		this._endpoint.pause();
	}

	resume() {
		this._endpoint.resume();
	}

	[Symbol.asyncIterator]() {
		return messages(this);
	}

	get [kPeer]() {
		this._endpoint.peer ??= new ConnectionPeer(this, this._endpoint);
		return this._endpoint.peer;
	}
}

showPublicState(Connection, ['role', 'readyState', 'bufferedAmount']);

module.exports = { Connection };
