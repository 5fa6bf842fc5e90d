'use strict';

const { Readable } = require('../shared/node-modules').stream;
const { Buffer, join, sizeOf } = require('../shared/buffers');
const { outOfRange } = require('../shared/errors');
const { checkObject } = require('../shared/option-names');
const { Queue } = require('../shared/queue');
const { setImmediate } = require('../shared/ticks');
const { checkSignal, onceOf } = require('./once-of');
const { kClosing, peerOf } = require('./peer');

const HIGH = { bytes: 256 * 1024, messages: 256 };
/** The low marks by default, as a part of the high ones. */
const LOW_PART = 1 / 4;

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 3;
const DONE = Object.freeze({ value: undefined, done: true });

/** Where a Peer keeps its MessageQueue. */
const kMessages = Symbol('messages');

/**
 * The messages of a connection that its iterators have not taken yet. It pauses the connection at
 * the high marks, and resumes it at the low ones.
 */
class MessageQueue {
	constructor(peer) {
		this._peer = peer;
		this._messages = new Queue();
		this._bytes = 0;
		this._takers = [];
		this._iterators = new Set();
		this._isAttached = false;
		this._hasPaused = false;
		/** Whether the last iterator has left an open connection, which is paused then. */
		this._isLeft = false;
		/** Whether the program has called `close`. */
		this._isClosed = false;
		this._error = null;
		this._high = null;
		this._low = null;
		this._onMessage = (data, isBinary) => this._add(data, isBinary);
		this._onError = (error) => {
			this._error = error;
		};
		this._onClose = () => this._endAll();
		peer.on(kClosing, (isOwn) => isOwn && this._close());
	}

	/** @returns {AsyncIterableIterator<object>} an iterator: the messages that wait come first */
	iterate(options = {}) {
		const { highWaterMark, lowWaterMark, signal, streams = false } = checkObject(options);
		checkSignal(signal);
		const high = readMarks('highWaterMark', highWaterMark, HIGH);
		const least = { bytes: high.bytes * LOW_PART, messages: high.messages * LOW_PART };
		const low = readMarks('lowWaterMark', lowWaterMark, least);
		const iterator = new MessageIterator(this, signal, streams);
		this._dropIfResumed();
		if (!this._isAttached) this._attach();
		this._low = low;
		this._high = high;
		this._isLeft = false;
		this._iterators.add(iterator);
		if (this._iterators.size === 1) this._peer.on('error', this._onError);
		iterator.start();
		return iterator;
	}

	/** @returns {Promise<object>} the next message, or the end */
	take(iterator) {
		if (this._messages.length === 0) {
			if (this._peer.readyState !== CLOSED) {
				// The iterator before has paused it.
				if (this._hasPaused) this._resume();
				return new Promise((resolve) => this._takers.push({ iterator, resolve }));
			}
			return iterator.end(this._error);
		}
		const message = this._messages.shift();
		this._bytes -= message.size;
		const isLow = this._bytes <= this._low.bytes && this._messages.length <= this._low.messages;
		if (this._hasPaused && isLow) this._resume();
		return iterator.toResult(message);
	}

	/**
	 * Keeps the messages that have come for the next iterator, and pauses an open connection, so that
	 * it gets those that follow, too. The handshake of a closing one needs the bytes that follow.
	 */
	leave(iterator) {
		this._iterators.delete(iterator);
		const departing = this._takers.filter((taker) => taker.iterator === iterator);
		this._takers = this._takers.filter((taker) => taker.iterator !== iterator);
		for (const { resolve } of departing) resolve(iterator.next());
		if (this._iterators.size > 0) return;
		const peer = this._peer;
		peer.off('error', this._onError);
		this._isLeft = peer.readyState === OPEN;
		if (this._isClosed || peer.readyState === CONNECTING) this._discard();
		else if (this._isLeft && !peer.isPaused) this._pause();
		else if (!this._isLeft && this._hasPaused) this._resume();
	}

	/** The program closes the connection, and drops the messages, unless iterators are at work. */
	_close() {
		this._isClosed = true;
		if (this._iterators.size === 0) this._discard();
	}

	/**
	 * A program that has resumed the connection after the last iterator wants events alone.
	 *
	 * @returns {boolean} whether it has
	 */
	_dropIfResumed() {
		if (!this._isLeft || this._peer.isPaused) return false;
		this._hasPaused = false;
		this._discard();
		return true;
	}

	/** Drops the messages that no iterator has taken, and lets the connection go on. */
	_discard() {
		if (!this._isAttached) return;
		this._isAttached = this._isLeft = false;
		for (const event of ['message', 'stream']) this._peer.off(event, this._onMessage);
		this._peer.off('close', this._onClose);
		// A stream that nobody reads would hold the connection.
		this._messages.last?.data.destroy?.();
		this._messages = new Queue();
		this._bytes = 0;
		if (this._hasPaused) this._resume();
	}

	_attach() {
		this._isAttached = true;
		for (const event of ['message', 'stream']) this._peer.on(event, this._onMessage);
		this._peer.on('close', this._onClose);
	}

	_add(data, isBinary) {
		const taker = this._takers.shift();
		if (taker !== undefined) {
			taker.resolve(taker.iterator.toResult({ data, isBinary }));
			return;
		}
		if (this._dropIfResumed()) {
			// ws's emit has found a listener: this one.
			if (data instanceof Readable && this._peer.listenerCount('stream') === 0) data.destroy();
			return;
		}
		const size = bytesOf(data);
		this._messages.push({ data, isBinary, size });
		this._bytes += size;
		const isOver = this._bytes >= this._high.bytes || this._messages.length >= this._high.messages;
		if (isOver && !this._peer.isPaused) this._pause();
	}

	_endAll() {
		for (const { iterator, resolve } of this._takers.splice(0)) resolve(iterator.end(this._error));
	}

	_pause() {
		this._hasPaused = true;
		this._peer.pause();
	}

	_resume() {
		this._hasPaused = false;
		this._peer.resume();
	}
}

/** One loop over the messages of a connection. */
class MessageIterator {
	constructor(queue, signal, streams) {
		this._queue = queue;
		this._signal = signal;
		this._takesStreams = streams;
		this._isDone = false;
		this._error = null;
		/** The stream that `next` gathers. */
		this._gathered = null;
		this._ignoreSignal = () => {};
	}

	/** Heeds the signal from now on. */
	start() {
		const signal = this._signal;
		if (signal === undefined) return;
		const abort = () => {
			this._finish(signal.reason);
			this._gathered?.destroy();
		};
		if (signal.aborted) abort();
		else this._ignoreSignal = onceOf(signal, 'abort', abort);
	}

	next() {
		return this._isDone ? this._result() : this._queue.take(this);
	}

	return(value) {
		this._finish(null);
		return Promise.resolve({ value, done: true });
	}

	/** Text as a string and binary data as a Buffer, whatever the `binaryType`; or a stream. */
	async toResult({ data, isBinary }) {
		if (data instanceof Readable && this._takesStreams) return { value: { data, isBinary }, done: false };
		try {
			const whole = data instanceof Readable ? await this._gather(data) : data;
			return { value: { data: isBinary ? await toBuffer(whole) : whole.toString(), isBinary }, done: false };
		} catch (error) {
			if (this._isDone) return this._result();
			this._isDone = true;
			this._ignoreSignal();
			// A loop does not leave an iterator that throws. The connection's 'error' may come in this
			// turn.
			setImmediate(() => this._queue.leave(this));
			throw error;
		}
	}

	async _gather(stream) {
		this._gathered = stream;
		const parts = [];
		try {
			for await (const part of stream) parts.push(part);
		} finally {
			this._gathered = null;
		}
		return join(parts);
	}

	/** Ends the loop, by an error if there is one. */
	end(error) {
		this._finish(error);
		return this._result();
	}

	[Symbol.asyncIterator]() {
		return this;
	}

	_finish(error) {
		if (this._isDone) return;
		this._isDone = true;
		this._error = error;
		this._ignoreSignal();
		this._queue.leave(this);
	}

	/** The error is thrown once. */
	_result() {
		const error = this._error;
		this._error = null;
		return error === null ? Promise.resolve(DONE) : Promise.reject(error);
	}
}

/** @returns {{ bytes: number, messages: number }} marks, of which each may be left out */
function readMarks(name, given, byDefault) {
	const { bytes, messages } = checkObject(given ?? {}, name);
	const marks = { bytes: bytes ?? byDefault.bytes, messages: messages ?? byDefault.messages };
	for (const [unit, mark] of Object.entries(marks)) {
		if (typeof mark !== 'number' || !(mark >= 0)) throw outOfRange(`${name}.${unit}`, 'a number of at least 0', mark);
	}
	return marks;
}

/** A stream holds its bytes itself. */
const bytesOf = (data) =>
	Array.isArray(data) ? data.reduce((sum, { length }) => sum + length, 0) : (sizeOf(data) ?? 0);

function toBuffer(data) {
	// All empty data of ws have one memory.
	if (data.length === 0) return Buffer.alloc(0);
	if (Buffer.isBuffer(data)) return data;
	if (Array.isArray(data)) return Buffer.concat(data);
	return data instanceof Blob ? data.arrayBuffer().then((memory) => Buffer.from(memory)) : Buffer.from(data);
}

/** The messages of a Connection or a WebSocket: see index.d.ts. */
function messages(connection, options) {
	const peer = peerOf(connection);
	peer[kMessages] ??= new MessageQueue(peer);
	return peer[kMessages].iterate(options);
}

module.exports = { messages };
