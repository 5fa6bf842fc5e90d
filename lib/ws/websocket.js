'use strict';

const { isAnyArrayBuffer } = require('node:util/types');
const { Buffer, isUint8Array } = require('../shared/buffers');
const { invalidType, invalidValue } = require('../shared/errors');
const { checkNames, readBoolean } = require('../shared/option-names');
const { shareReads } = require('../sockets/shared-reads');
const { messages } = require('../streams/messages');
const { NO_STATUS } = require('../shared/protocol');
const { kClosing, kWayOut, peerOf } = require('../streams/peer');
const { createGuard } = require('./guard');
const { attachDecoder, borrowChunks, endDecoding, hasDecoder, terminateStreams } = require('./receiver-adapter');
const { deflateOf, isEndedByPeer, isServer, plainSend, ws } = require('./internals');
const { loadCodec, loadCompression, loadHttp2 } = require('./parts');
const { SenderAdapter } = require('./sender-adapter');
const { connections, noteOpened } = require('./report');

const { OPEN } = ws.WebSocket;

/** Where a client, or a server's socket, keeps the `key` and `url` of its handshake. */
const kHandshake = Symbol('handshake');
/** Where a client keeps the request of its handshake, while it lasts. */
const kRequest = Symbol('request');
/** Where a WebSocket keeps its option `streamFrom`, if it has it. */
const kStreamFrom = Symbol('streamFrom');
/** Where a client that has `sharedReads: false` says so. */
const kReadsAlone = Symbol('readsAlone');
/** Where a server's socket has the server's options. */
const kServerOptions = Symbol('serverOptions');

/**
 * ws's WebSocket with framemask's codec. ws does the handshakes and the timeouts. A ReceiverAdapter
 * decodes for ws's Receiver, and a SenderAdapter encodes instead of ws's Sender.
 *
 * @param {typeof ws.WebSocket} Base ws's, or the class that a tracer exports in its place
 */
function extend(Base) {
	const base = Base.prototype;
	return class WebSocket extends Base {
		constructor(address, protocols, options) {
			if (address === null) {
				// A server's: its options have been read.
				super(address, protocols, options);
				if (options?.streamFrom !== undefined) this[kStreamFrom] = options.streamFrom;
				return;
			}
			const streamFrom = streamFromOf(options) ?? streamFromOf(protocols);
			// ws takes options for protocols, too.
			super(address, Array.isArray(protocols) ? protocols : clientOptions(protocols), clientOptions(options));
			loadCodec();
			// ws offers it unless it is switched off.
			if ((options ?? protocols)?.perMessageDeflate !== false) loadCompression();
			if (streamFrom !== undefined) this[kStreamFrom] = streamFrom;
			if ((options ?? protocols)?.sharedReads === false) this[kReadsAlone] = true;
		}

		/**
		 * ws assigns the socket after the handshake, `_receiver` and `_sender`. A read of it sends the
		 * frames that are held back: the program may write to the socket next, or end it.
		 */
		get _socket() {
			const adapter = this[kWayOut];
			if (adapter === null) return null;
			adapter.flushThrowingLater();
			return adapter.socket;
		}

		set _socket(socket) {
			if (socket === null) {
				this[kWayOut] = null;
				return;
			}
			const { key, url } = takeHandshake(this) ?? takeHandshake(socket) ?? {};
			const adapter = new SenderAdapter(this, this._sender, socket, key);
			const receiver = this._receiver;
			const streamFrom = this[kStreamFrom];
			const { agreement } = adapter;
			const compression = agreement === null ? null : loadCompression();
			// Where ws inflates, its Receiver takes the chunks; but it can't give streams.
			const decodes = streamFrom !== undefined || compression?.isLeftToWs() !== true;
			if (decodes) attachDecoder(this, receiver, adapter, streamFrom);
			this[kWayOut] = adapter;
			noteOpened(isServer(this));
			if (loadCodec().isLifeTraced()) adapter.traceOpen(this, url, decodes);
			if (compression === null) return;
			connections.compressed++;
			const direction = agreement.sending(isServer(this) ? 'server' : 'client');
			const onError = (error) => adapter.fail(error);
			compression.attachCompressor(deflateOf(this), direction, onError, () => endDecoding(receiver));
			if (adapter.counts !== null) adapter.countUncompressed(deflateOf(this));
		}

		/** ws calls it after the handshake: it listens to the socket's data, and emits 'open'. */
		setSocket(socket, ...rest) {
			super.setSocket(socket, ...rest);
			const options = socket[kServerOptions];
			const guard = options === undefined ? null : createGuard(this, socket, options);
			if (guard !== null) this[kWayOut].guard = guard;
			const readsAlone = options === undefined ? this[kReadsAlone] : options.sharedReads === false;
			if (readsAlone || !hasDecoder(this._receiver)) return;
			const [listener, another] = socket.listeners('data');
			const isAlone = listener !== undefined && another === undefined;
			if (!isAlone || shareReads(socket, listener) === 'events') return;
			borrowChunks(this._receiver);
			connections.shared++;
		}

		/** ws assigns the request of a client's handshake, and null afterwards. */
		get _req() {
			return this[kRequest];
		}

		set _req(request) {
			if (request !== null) this[kHandshake] = { key: request.getHeader('Sec-WebSocket-Key'), url: request.path };
			this[kRequest] = request;
		}

		get bufferedAmount() {
			const adapter = this[kWayOut];
			return adapter === null ? super.bufferedAmount : adapter.bufferedAmount;
		}

		send(data, options, callback) {
			const isShort = typeof options === 'function';
			const done = isShort ? options : callback;
			// As with ws, which spreads the options, only an object has an effect.
			const given = typeof options === 'object' && options !== null ? options : undefined;
			const adapter = this[kWayOut];
			// ws converts other types, and sends a detached Buffer as an empty message.
			const isBytes = isUint8Array(data) && data[0] !== undefined;
			const prepared = isBytes || typeof data === 'string' ? null : preparedOf(data);
			if (adapter !== null && this.readyState === OPEN && adapter.refuses(done)) return;
			if (
				adapter !== null &&
				base.send === plainSend &&
				this.readyState === OPEN &&
				(isBytes || typeof data === 'string' || (prepared !== null && isServer(this))) &&
				// ws gives any other to `write`, which takes it for an encoding.
				(!done || typeof done === 'function') &&
				adapter.canFrame(given)
			) {
				adapter.send(data, given === undefined ? isBytes : isBinary(given, isBytes), done, prepared);
			} else if (prepared !== null) {
				// Framed for this connection: masked, compressed, or after others.
				const { bytes, binary } = loadCodec().messageOf(prepared);
				super.send(bytes, { ...given, binary }, done);
			} else {
				super.send(safeToMask(data), options, callback);
			}
		}

		ping(data, mask, callback) {
			super.ping(safeToMask(data), mask, callback);
		}

		pong(data, mask, callback) {
			super.pong(safeToMask(data), mask, callback);
		}

		close(...args) {
			const isOpen = this.readyState === OPEN;
			const isOwn = !isOpen || !isEndedByPeer(this);
			super.close(...args);
			if (isOpen) this[kWayOut].sentCode = args[0] ?? NO_STATUS;
			this.emit(kClosing, isOwn);
		}

		/** ws calls it once, at the end. */
		emitClose() {
			const adapter = this[kWayOut];
			if (adapter !== null && loadCodec().isLifeTraced()) adapter.traceClose(this);
			super.emitClose();
		}

		terminate() {
			super.terminate();
			terminateStreams(this._receiver);
		}

		[Symbol.asyncIterator]() {
			return messages(this);
		}

		// `withOwnKeys` copies enumerable methods of ws. These also see a later replacement of ws's.
		addEventListener(...args) {
			super.addEventListener(...args);
		}

		removeEventListener(...args) {
			super.removeEventListener(...args);
		}
	};
}

/**
 * Gives a class its properties. ws has these, and its exports, as own, enumerable ones: libraries
 * that wrap a WebSocket look for them; `import * as ws` of TypeScript and `{ ...require('ws') }`
 * copy no others.
 */
function withOwnKeys(WebSocket) {
	for (const [own, inherited] of [
		[WebSocket, ws.WebSocket],
		[WebSocket.prototype, ws.WebSocket.prototype]
	]) {
		for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(inherited))) {
			if (!descriptor.enumerable) continue;
			const { [name]: ours = descriptor } = Object.getOwnPropertyDescriptors(own);
			Object.defineProperty(own, name, { ...ours, enumerable: true });
		}
	}
	return WebSocket;
}

/**
 * A client's Sender takes a SharedArrayBuffer, and an ArrayBuffer of another realm, for memory of
 * its own, and masks it in place. Of a Buffer it masks a copy.
 */
function safeToMask(data) {
	return isAnyArrayBuffer(data) && !(data instanceof ArrayBuffer) ? Buffer.from(data) : data;
}

const preparedOf = (data) => (loadCodec().framedMessage(data) === null ? null : data);

/** @returns {boolean} the option `binary` of `send`, if it is an own property */
function isBinary(options, otherwise) {
	const { binary } = options;
	return binary === otherwise || !hasOwnBinary(options, binary) ? otherwise : Boolean(binary);
}

/** Object.hasOwn takes 9 ns. A literal inherits from Object.prototype alone. */
function hasOwnBinary(options, binary) {
	const isLiteral = Object.getPrototypeOf(options) === Object.prototype;
	return (
		(isLiteral && binary !== undefined && Object.prototype.binary === undefined) || Object.hasOwn(options, 'binary')
	);
}

/** @returns {object} options in which ws's two flags replace `contextTakeover: false` */
function withoutTakeover(options) {
	const deflate = options?.perMessageDeflate;
	checkNames(deflate, 'perMessageDeflate');
	readBoolean(deflate, 'contextTakeover'); // throws
	if (deflate?.contextTakeover !== false) return options;
	const flags = { serverNoContextTakeover: true, clientNoContextTakeover: true };
	return { ...options, perMessageDeflate: { ...deflate, ...flags } };
}

/** @returns {object} a client's options in which `createConnection` replaces `http2`, too */
function clientOptions(options) {
	// It may be protocols, a string.
	if (typeof options === 'object') {
		checkNames(options, 'WebSocket');
		readBoolean(options ?? {}, 'sharedReads'); // throws
	}
	const given = withoutTakeover(options);
	const http2 = given?.http2 ?? false;
	if (http2 === false) return given;
	const fallback = http2 === 'preferred';
	const isShared = http2 === true || fallback;
	if (!isShared && typeof http2.request !== 'function') {
		throw invalidType('options.http2', "a boolean, 'preferred' or a session of http2.connect()", http2);
	}
	// Either would be ignored, or have Node.js ignore `http2`.
	for (const name of ['agent', 'createConnection']) {
		if ((given[name] ?? null) !== null) throw invalidValue(`The options http2 and ${name} exclude each other`);
	}
	const { overHttp2 } = loadHttp2();
	return { ...given, createConnection: overHttp2(isShared ? null : http2, { fallback }) };
}

/** @returns {number | undefined} a client's or server's option `streamFrom`, checked */
function streamFromOf(options) {
	return options?.streamFrom === undefined ? undefined : loadCodec().readStreamFrom(options);
}

/** Keeps a server's part of a connection, before ws makes the WebSocket. */
function noteHandshake(socket, { headers, url }, options) {
	socket[kHandshake] = { key: headers['sec-websocket-key'], url };
	socket[kServerOptions] = options;
}

function takeHandshake(holder) {
	const handshake = holder[kHandshake];
	if (handshake !== undefined) holder[kHandshake] = undefined;
	return handshake;
}

const WebSocket = withOwnKeys(extend(ws.WebSocket));
/** The export. If a tracer has replaced ws's export, servers make WebSockets of the class above. */
const Exported = ws === ws.WebSocket ? WebSocket : withOwnKeys(extend(ws));

/** The name of a connection in trace records: see ws.d.ts. */
function connectionId(websocket) {
	const trace = peerOf(websocket)[kWayOut]?.trace;
	if (trace === undefined) return null;
	trace.id ??= loadCodec().frameId();
	return trace.id;
}

module.exports = {
	Exported,
	WebSocket,
	connectionId,
	noteHandshake,
	streamFromOf,
	withoutTakeover
};
