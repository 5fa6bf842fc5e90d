'use strict';

const { Buffer, REFERENCE_FROM, isBytes, ownBytes, toArrayBuffer } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');
const { checkObject } = require('../shared/option-names');
const { checkSignal, onceOf } = require('./once-of');
const { kClosing, peerOf } = require('./peer');

const OPEN = 1;
/** Received bytes, and UTF-16 units, that wait for the reader before the connection is paused. */
const HIGH_WATER_MARK = 64 * 1024;
/** The code of a connection that was lost before the peer's Close frame. */
const LOST = 1006;
/** The most bytes of a reason (RFC 6455 section 5.5.1). */
const MAX_REASON = 123;

/** See index.d.ts. */
class WebSocketError extends DOMException {
	constructor(message = '', closeInfo = {}) {
		super(message, 'WebSocketError');
		setCloseInfo(this, checkCloseInfo(closeInfo));
	}
}

function setCloseInfo(error, { closeCode = null, reason }) {
	const configurable = true;
	Object.defineProperties(error, {
		closeCode: { value: closeCode, configurable },
		reason: { value: reason, configurable }
	});
}

/** See index.d.ts: a connection as a pair of web streams. */
class WebSocketStream {
	/** @param {string | URL | object} url a Peer: by `from` */
	constructor(url, given) {
		const { protocols = [], signal, ...options } = checkObject(given ?? {});
		checkSignal(signal);
		this._opened = createPromise();
		this._closed = createPromise();
		this._readableController = null;
		this._writableController = null;
		/** The functions of the promise of the write in progress. */
		this._writing = null;
		this._error = undefined;
		if (signal?.aborted) {
			this._url = String(url);
			this._reject(signal.reason);
			return;
		}
		const peer = typeof url?.on === 'function' ? url : this._dial(url, protocols, options);
		this._peer = peer;
		this._url = peer.url;
		peer.binaryType = 'nodebuffer';
		peer.on('error', (error) => {
			this._error = error;
		});
		peer.addEventListener('close', (event) => this._end(event), { once: true });
		if (peer.readyState === OPEN) this._open();
		else this._awaitOpen(signal);
	}

	static from(connection) {
		const peer = peerOf(connection);
		if (peer.readyState > OPEN) throw new DOMException('The WebSocket is closed', 'InvalidStateError');
		return new this(peer);
	}

	get url() {
		return this._url;
	}

	get opened() {
		return this._opened.promise;
	}

	get closed() {
		return this._closed.promise;
	}

	close(closeInfo = {}) {
		const { closeCode, reason } = checkCloseInfo(closeInfo);
		this._close(closeCode, reason);
	}

	/** That of framemask/ws dials; a Connection is dialled by `connect`. */
	_dial() {
		throw new TypeError('Illegal constructor: use WebSocketStream.from(await Connection.connect(url))');
	}

	_awaitOpen(signal) {
		const peer = this._peer;
		peer.once('open', () => this._open());
		if (signal === undefined) return;
		const ignore = onceOf(signal, 'abort', () => {
			this._reject(signal.reason);
			peer.terminate();
		});
		for (const event of ['open', 'close']) peer.once(event, ignore);
	}

	_open() {
		const peer = this._peer;
		const readable = new ReadableStream(
			{
				start: (controller) => {
					this._readableController = controller;
				},
				pull: () => peer.resume(),
				cancel: (reason) => {
					this._readableController = null;
					this._closeBy(reason);
				}
			},
			{ highWaterMark: HIGH_WATER_MARK, size: (chunk) => Math.max(chunk.length, 1) }
		);
		const writable = new WritableStream({
			start: (controller) => {
				this._writableController = controller;
				// `abort` would wait for a write, and that for a peer that does not read.
				controller.signal.addEventListener('abort', () => this._writing?.resolve());
			},
			write: (chunk) => this._write(chunk),
			close: () => {
				this._close();
				return this.closed;
			},
			abort: (reason) => this._closeBy(reason)
		});
		peer.on('message', (data, isBinary) => this._receive(data, isBinary));
		// A peer's Close frame comes after messages that nobody reads now.
		peer.on(kClosing, () => peer.resume());
		const { extensions, protocol } = peer;
		this._opened.resolve({ readable, writable, extensions, protocol });
	}

	_receive(data, isBinary) {
		const peer = this._peer;
		if (peer.readyState !== OPEN || this._readableController === null) return;
		// In memory of their own: a reader may transfer it.
		const chunk = isBinary ? new Uint8Array(toArrayBuffer(data)) : data.toString();
		this._readableController.enqueue(chunk);
		if (this._readableController.desiredSize <= 0) peer.pause();
	}

	/** @returns {Promise<void>} settled when the next chunk may come, or the connection has ended */
	_write(chunk) {
		const peer = this._peer;
		const binary = isBytes(chunk);
		const data = binary ? ownBytes('chunk', chunk) : `${chunk}`;
		// After a Close frame ws sends nothing.
		if (peer.readyState !== OPEN) throw closedError();
		return new Promise((resolve, reject) => {
			// Until the system has the bytes, if they are not copied.
			const mustWait = data.length >= REFERENCE_FROM || peer.bufferedAmount >= HIGH_WATER_MARK;
			this._writing = { resolve, reject };
			const done = (error) => {
				// Otherwise the connection ends, and `_end` tells: Node.js gives no error for a write that
				// a reset has cut.
				if (!error && peer.readyState === OPEN) resolve();
			};
			peer.send(data, { binary }, mustWait ? done : undefined);
			if (!mustWait) resolve();
		});
	}

	_close(code, reason) {
		const peer = this._peer;
		peer?.close(code, reason);
		// The peer's Close frame comes after messages that nobody reads now.
		if (peer?.isPaused) peer.resume();
	}

	/**
	 * Closes with the code and reason of a WebSocketError, or without. Its code may be one that must
	 * not be sent, such as 1006.
	 */
	_closeBy(error) {
		const { closeCode, reason } = error instanceof WebSocketError && isOwnCode(error.closeCode) ? error : {};
		this._close(closeCode ?? undefined, reason);
	}

	_reject(error) {
		this._opened.reject(error);
		this._closed.reject(error);
	}

	_end({ wasClean, code, reason }) {
		if (wasClean) {
			this._readableController?.close();
			// The Close frame has left, and all before it.
			this._writing?.resolve();
			this._failWrites(closedError());
			this._closed.resolve({ closeCode: code, reason });
			return;
		}
		const error = new WebSocketError('The connection was lost, or never opened');
		setCloseInfo(error, { closeCode: code, reason });
		error.cause = this._error;
		this._readableController?.error(error);
		this._failWrites(code === LOST ? error : closedError());
		this._reject(error);
	}

	/** Rejects the write in progress, and those that follow. */
	_failWrites(error) {
		this._writableController?.error(error);
		this._writing?.reject(error);
	}
}

/** For writes after the Close frame of the peer, or the own. */
function closedError() {
	return new DOMException('A closed WebSocketStream can not be written to', 'InvalidStateError');
}

/** A promise with its functions. It handles its own rejection: nobody has to wait for it. */
function createPromise() {
	const made = {};
	made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
	made.promise.catch(() => {});
	return made;
}

/** Whether programs may send a code, or none. */
function isOwnCode(code) {
	return code === undefined || code === null || code === 1000 || (code >= 3000 && code <= 4999);
}

/** @returns {{ closeCode?: number, reason: string }} with the code that a reason needs */
function checkCloseInfo(closeInfo) {
	if (typeof closeInfo !== 'object') throw invalidType('closeInfo', 'an object', closeInfo);
	const { closeCode: given, reason = '' } = closeInfo ?? {};
	// A number, as for browsers.
	const closeCode = given === undefined || given === null ? given : Math.trunc(Number(given));
	if (!isOwnCode(closeCode)) {
		throw new DOMException(`closeCode must be 1000, or 3000 to 4999, not ${closeCode}`, 'InvalidAccessError');
	}
	const text = String(reason);
	if (Buffer.byteLength(text) > MAX_REASON) {
		throw new DOMException(`reason must be at most ${MAX_REASON} bytes long`, 'SyntaxError');
	}
	return { closeCode: closeCode ?? (text === '' ? undefined : 1000), reason: text };
}

module.exports = { WebSocketError, WebSocketStream };
