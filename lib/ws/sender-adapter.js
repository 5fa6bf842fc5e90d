'use strict';

const { Writable } = require('node:stream');

const { REFERENCE_OWNED_FROM } = require('../codec/slabs');
const { Buffer, isBytes, sizeOf } = require('../shared/buffers');
const { throwLater } = require('../shared/call-in-order');
const { goneError } = require('../shared/errors');
const { keepContext } = require('../shared/keep-context');
const { ABNORMAL, FIN, OPCODE, Opcode } = require('../shared/protocol');
const { nextTick } = require('../shared/ticks');
const { Outgoing, SEND_FROM } = require('../sockets/outgoing');
const { writesAsNode } = require('../sockets/plain-sockets');
const { Watchers } = require('../streams/peer');
const {
	bufferedBytes,
	closeCodeOf,
	deflateOf,
	failSender,
	isFragmenting,
	isServer,
	isShortened,
	mustFrame,
	ws
} = require('./internals');
const { loadCompression, loadCodec } = require('./parts');
const { forgetRepeated, framedIfRepeated, preparedIfRepeated } = require('./repeats');

const OWNED = { owned: true };
// `send` has an option `mask`.
const FRAMED = { anyMask: true };
const FRAMED_OWNED = { anyMask: true, owned: true };

const kSenderAdapter = Symbol('senderAdapter');

/** Whether a frame is added: so much may be held back that the queue is flushed amid the turn. */
let isAdding = false;

/**
 * The WayOut of a WebSocket (lib/streams/peer.js): messages go to an Encoder, and collected frames
 * to the socket in one write at the end of a read, or of the turn. Frames of ws's Sender
 * (fragments, compressed messages, Blobs, Close frames) take the same way, in order.
 */
class SenderAdapter {
	constructor(websocket, sender, socket, key) {
		this.socket = socket;
		this._trace = null;
		this._sender = sender;
		this._role = isServer(websocket) ? 'server' : 'client';
		const deflate = deflateOf(websocket);
		if (deflate !== undefined) this.agreement = loadCompression().agreementOf(deflate);
		this._key = key; // of the handshake
		this._outgoing = new Outgoing(socket, this);
		sender[kSenderAdapter] = this;
		sender.sendFrame = sendFrame;
		sender.dispatch = dispatch;
		socket[kSenderAdapter] = this;
		for (const name of ['end', 'destroy']) flushBefore(socket, name);
	}

	/** Without the bytes that are held back: see Outgoing. */
	get bufferedAmount() {
		return this.queuedAmount + this.heldBytes;
	}

	/** The bytes that wait for the socket or for compression. */
	get queuedAmount() {
		return this.socket.writableLength + bufferedBytes(this._sender);
	}

	/** Whether the next data frame continues a message. */
	get isFragmenting() {
		return isFragmenting(this._sender);
	}

	/** Has a function take the messages, with the arguments of ws's Sender; null: no longer. */
	redirectSends(take) {
		this._isRedirected = take !== null;
		if (take === null) delete this._sender.send;
		else this._sender.send = take;
	}

	/** Checks a message that was redirected, as ws's Sender does. @returns {number} its bytes */
	holdCall(call) {
		checkCallback(call[2]);
		const isData = typeof call[0] === 'string' || isBytes(call[0]) || call[0] instanceof Blob;
		if (!isData) call[0] = Buffer.from(call[0]);
		return sizeOf(call[0]);
	}

	sendHeld(call) {
		Object.getPrototypeOf(this._sender).send.apply(this._sender, call);
	}

	/** Sends no more message: the callbacks of `send` get an error, and the connection ends. */
	fail(error) {
		this.error ??= error;
		const refuse = (callback) => typeof callback === 'function' && nextTick(callback, error);
		this._sender.sendFrame = (_list, callback) => refuse(callback);
		this.redirectSends((_data, _options, callback) => refuse(callback));
		// After those callbacks, as with ws.
		nextTick(nextTick, failSender, this._sender, error);
	}

	get pending() {
		return this._outgoing.encoder?.pending ?? 0;
	}

	/** Whether a message with these options can be framed here and now, and not by ws's Sender. */
	canFrame(options) {
		if (this._isRedirected || mustFrame(this._sender)) return false;
		if (options === undefined) return this.agreement === null;
		if (this.agreement !== null && !(Object.hasOwn(options, 'compress') && options.compress === false)) return false;
		return !('mask' in options) && (options.fin === true || !('fin' in options));
	}

	/** Whether a message can't be sent, because the peer has left too much unread. */
	refuses(callback) {
		return this.guard?.refuses(this.bufferedAmount + this.pending, callback) === true;
	}

	/** @param {PreparedMessage | null} prepared `data`, if it is one */
	send(data, isBinary, callback, prepared) {
		const encoder = this._encoder;
		if (data.length >= SEND_FROM) this._flushCallbacks();
		const isText = typeof data === 'string';
		// A payload that waits is not copied: a broadcast to slow readers is held once. A long Buffer is
		// sent from where it lies.
		const waits = data.length >= REFERENCE_OWNED_FROM && this._role === 'server' && this._isBehind;
		const mayRepeat = (isText || data.length < SEND_FROM) && this._sharesFrames;
		const message = prepared ?? (mayRepeat ? preparedIfRepeated(data, isBinary, isText && waits) : null);
		const payload = isText && message === null && (isBinary || waits) ? Buffer.from(data) : data;
		if (message !== null) encoder.addPrepared(message);
		else if (isBinary) encoder.binary(payload, waits ? OWNED : undefined);
		else encoder.text(payload, waits ? OWNED : undefined);
		if (this.counts !== null) this.counts.sent(data, true);
		this._added(callback, data.length);
	}

	/** Whether others may get the same frame: no reply's, nor where the program's code sees it. */
	get _sharesFrames() {
		return !this._outgoing.isReading && this._outgoing.recycles && this._role === 'server' && writesAsNode(this.socket);
	}

	/** Whether bytes wait in the socket, so that with ws, too, it keeps the program's Buffers. */
	get _isBehind() {
		return this.socket.writableLength > 0;
	}

	/** Sends a frame of ws's Sender: its header, with or without the payload, and the payload. */
	sendFramed(list, callback) {
		checkCallback(callback);
		// Messages that wait in ws's Sender come after this frame. A Close frame always leaves.
		const isClose = (list[0]?.[0] & OPCODE) === Opcode.CLOSE;
		if (!isClose && this.guard?.refuses(this.socket.writableLength + this.pending, callback)) return;
		if (this._watchers !== null) this._watchers.callAll();
		if (list.at(-1)?.length >= SEND_FROM) this._flushCallbacks();
		const pieces = this._addFramed(list);
		if (pieces === null) {
			this.flush();
			ws.Sender.prototype.sendFrame.call(this._sender, list, callback);
		} else {
			if (this.counts !== null) this._countFrame(pieces);
			this._added(callback, pieces.at(-1).length);
		}
	}

	/** For the heartbeat: ws's own takes twice as long. */
	ping() {
		if (this.guard.refuses(this.socket.writableLength + this.pending)) return;
		this._encoder.ping();
		this._added(undefined, 0);
	}

	/** @returns {Buffer[] | null} null for bytes that are not a frame, and after a Close frame */
	_addFramed(list) {
		const encoder = this._encoder;
		if (encoder.closed) return null;
		try {
			const mayRepeat = list.at(-1).length < SEND_FROM && this._sharesFrames;
			const shared = mayRepeat ? framedIfRepeated(list) : null;
			const pieces = shared?.pieces ?? list.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
			encoder.addFramed(pieces, shared ?? (this._isBehind ? FRAMED_OWNED : FRAMED));
			return pieces;
		} catch {
			return null;
		}
	}

	/**
	 * Has a function called once, after ws's Sender has released a frame: its `bufferedAmount` is
	 * less.
	 *
	 * @returns {() => void} withdraws it
	 */
	watchSender(callback) {
		this._watchers ??= new Watchers();
		return this._watchers.add(callback);
	}

	/** Holds frames back until `endRead`: the replies to the messages of one read. */
	beginRead() {
		this._outgoing.beginRead();
	}

	endRead() {
		this._outgoing.endRead();
		this.flush();
	}

	flush() {
		this._outgoing.flush();
	}

	/** Before a long frame: callbacks of shorter ones need not wait until the system has taken it. */
	_flushCallbacks() {
		if (this._outgoing.callbacks !== null) this.flush();
	}

	/**
	 * Flushes outside of this connection's `send`. A stream of the program's own may throw from
	 * `write`: nobody else gets the error.
	 */
	flushThrowingLater() {
		try {
			this.flush();
		} catch (error) {
			throwLater(error);
		}
	}

	/** At the end of the turn, or of the process. */
	flushQueued() {
		if (!isAdding) forgetRepeated();
		this.flushThrowingLater();
	}

	/** @param {number} length of the last message or frame */
	_added(callback, length) {
		if (typeof callback === 'function') this._outgoing.whenWritten(keepContext(callback));
		const isLong = length >= SEND_FROM;
		isAdding = true;
		const mustLeave = this._outgoing.added(isLong);
		isAdding = false;
		if (!mustLeave) return;
		this.flush();
		if (isLong) nextTick(forgetRepeated);
	}

	/** The connection in trace records, for both of its codecs. */
	get trace() {
		this._trace ??= { id: undefined, key: this._key };
		return this._trace;
	}

	/** Publishes the beginning. @param {boolean} decodes whether messages come through a Decoder */
	traceOpen(websocket, url, decodes) {
		this.trace.path = url?.split('?')[0];
		this.counts = loadCodec().traceOpen({ role: this._role, protocol: websocket.protocol }, this.trace);
		if (!decodes && this.counts !== null) this.counts.messagesReceived = this.counts.bytesReceived = null;
	}

	traceClose(websocket) {
		const closeCode = closeCodeOf(websocket);
		const error = this.error ?? (closeCode === ABNORMAL ? this.socket.errored : null) ?? null;
		const { protocol } = websocket;
		loadCodec().traceClose({ role: this._role, protocol, closeCode }, this.trace, this.counts, this.sentCode, error);
	}

	/** Counts a frame of ws's Sender. */
	_countFrame(pieces) {
		const { firstByte, length, opcode } = loadCodec().readFramed(pieces, 0, true);
		if (opcode >= Opcode.CLOSE) return;
		this.counts.bytesSent += length;
		if (firstByte & FIN) this.counts.messagesSent++;
	}

	/** Has messages that a PerMessageDeflate compresses counted with the bytes that the program gave. */
	countUncompressed(deflate) {
		const { compress } = deflate;
		deflate.compress = (data, fin, callback) => {
			compress.call(deflate, data, fin, (error, bytes) => {
				if (!error) this.counts.bytesSent += sizeOf(data) - bytes.length;
				callback(error, bytes);
			});
		};
	}

	get _encoder() {
		const outgoing = this._outgoing;
		if (outgoing.encoder === null) outgoing.createEncoder(loadCodec().Encoder, { role: this._role, trace: this.trace });
		return outgoing.encoder;
	}
}

// Own properties of few:
/** the counts for tracing, @type {import('../tracing').Counts | null} */
SenderAdapter.prototype.counts = null;
/** the code of the Close frame that has been sent, */
SenderAdapter.prototype.sentCode = null;
/** why the connection is lost, */
SenderAdapter.prototype.error = null;
/** the agreement of compression, */
SenderAdapter.prototype.agreement = null;
/** the end of a connection whose peer does not read, @type {import('./guard').Guard | null} */
SenderAdapter.prototype.guard = null;
/** those that wait until ws's Sender has released a frame, */
SenderAdapter.prototype._watchers = null;
/** the bytes of messages that wait for the end of a stream, */
SenderAdapter.prototype.heldBytes = 0;
/** and whether a stream takes the messages. */
SenderAdapter.prototype._isRedirected = false;

/** Throws for a callback of another type, as ws does: the `write` of its socket throws. */
function checkCallback(callback) {
	if (callback && typeof callback !== 'function') new Writable({ write() {} }).write('', callback);
}

function sendFrame(list, callback) {
	this[kSenderAdapter].sendFramed(list, callback);
}

/** Refuses a message whose memory was transferred while it waited; ws would send an empty one. */
function dispatch(data, compress, options, callback) {
	if (typeof data !== 'string' && isShortened(data, options)) {
		this[kSenderAdapter].fail(goneError());
		this.sendFrame([], callback);
	} else {
		ws.Sender.prototype.dispatch.call(this, data, compress, options, callback);
	}
}

const ENDINGS = { end: flushFirst('end'), destroy: flushFirst('destroy') };

/**
 * Has a method of a socket flush first: a program may end a socket that it has kept, in the turn in
 * which it has sent a message.
 */
function flushBefore(socket, name) {
	const value = Object.hasOwn(socket, name) ? flushFirst(name, socket[name]) : ENDINGS[name];
	Object.defineProperty(socket, name, { value, writable: true, configurable: true });
}

/** @param {Function} [own] the socket's own method; default: its prototype's */
function flushFirst(name, own) {
	return function (...args) {
		const adapter = this[kSenderAdapter];
		adapter.flushThrowingLater();
		return (own ?? Object.getPrototypeOf(adapter.socket)[name]).apply(this, args);
	};
}

module.exports = { SenderAdapter };
