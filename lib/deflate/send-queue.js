'use strict';

const { REFERENCE_FROM, copyOf, view } = require('../shared/buffers');
const { goneError } = require('../shared/errors');
const { CONTROL } = require('../shared/protocol');
const { Queue } = require('../shared/queue');
const { Compression, PLAIN, beginsFragments, isLast, sizeOf } = require('./compression');

/**
 * The order in which the frames of a connection with compression leave. While one is in the thread
 * pool the others wait, but for Ping and Pong frames, which do not come here.
 */
class SendQueue {
	/**
	 * @param {DeflateDirection} direction
	 * @param {boolean} refers whether a large payload of the caller's may wait without a copy
	 * @param {(() => void) | undefined} onDeflated the Encoder's handler
	 */
	constructor(direction, refers, onDeflated) {
		this.onDeflated = onDeflated;
		this.compression = new Compression(direction);
		/** Whether a record is in the thread pool, or others still wait after it. */
		this.isBusy = false;
		/** Whether the last record that waits, or is being compressed, leaves a message unfinished. */
		this.isAmidMessage = false;
		/** The bytes of the records that wait, and of the one in the thread pool. */
		this.waiting = 0;
		this._refers = refers;
		/** Whether that message's fragments are compressed; true if it is not decided yet. */
		this._mayDeflateFragments = false;
		this._records = new Queue();
		this._forPool = null;
		this._isDeflating = false;
		this._deflated = null;
		this.isStopped = false;
	}

	createRecord(firstByte, data, compress) {
		return this.compression.createRecord(firstByte, data, compress, this.isBusy);
	}

	/** @returns {SendRecord | null} the record as it is sent; null if it must wait */
	add(record) {
		if (!this.isBusy) return this._send(record);
		if (record.pieces === null) record.data = this._keep(record.data, record.length);
		this.waiting += record.length;
		this._records.push(record);
		this._noteEnd(record);
		return null;
	}

	/** Adds a frame as it is, while the queue is busy. `pieces`: the whole frame, or null. */
	addPlain(firstByte, length, data, pieces) {
		this.add({ firstByte, data, length, way: PLAIN, owned: pieces !== null, pieces });
	}

	/**
	 * @returns {SendRecord | null} null if the queue is empty, or if the next goes to the thread pool
	 * @throws {Error} if that in the thread pool has failed, or the next one's memory is transferred
	 */
	next() {
		const deflated = this.isStopped ? null : this._deflated;
		this._deflated = null;
		if (deflated instanceof Error) throw deflated;
		if (deflated !== null || this._forPool !== null) return deflated;
		const record = this._records.shift();
		if (record === null) {
			this.isBusy = false;
			return null;
		}
		this.waiting -= record.length;
		if (isGone(record)) throw goneError();
		return this._send(record);
	}

	/** Whether a message has begun that is compressed, or may be. */
	get isAmidDeflated() {
		return this.isBusy ? this.isAmidMessage && this._mayDeflateFragments : this.compression.deflatesFragments;
	}

	/** Whether a record waits for `deflateLater`. */
	get hasPoolWork() {
		return this._forPool !== null && !this._isDeflating;
	}

	/** Compresses that record in the thread pool; `next` then returns it. */
	deflateLater(callback) {
		const { length } = this._forPool;
		this._isDeflating = true;
		this.compression.deflateLater(this._forPool, (error, record) => {
			this._isDeflating = false;
			this._forPool = null;
			if (!this.isStopped) this.waiting -= length;
			this._deflated = error ?? record;
			callback();
		});
	}

	/** Releases the context of the connection when nothing more is sent. */
	end() {
		if (!this.isBusy) this.compression.deflater.end();
	}

	/**
	 * Forgets the records that wait, also for room in the thread pool. The one that is in it is dropped
	 * when it comes back.
	 */
	stop() {
		this._records = new Queue();
		this.isStopped = true;
		if (this.compression.deflater.takeBack()) {
			this._forPool = null;
			this._isDeflating = false;
		}
		this.isBusy = this._forPool !== null;
		this.waiting = 0;
		this.end();
	}

	/** @returns {SendRecord | null} the record as it is sent; null if it goes to the thread pool */
	_send(record) {
		const { compression } = this;
		if (!compression.begin(record)) return record;
		if (!compression.isForPool(record)) return compression.deflate(record);
		if (!this.isBusy) {
			this._noteEnd(record);
			this._mayDeflateFragments = true;
		}
		this.isBusy = true;
		this.waiting += record.length;
		record.data = this._keep(record.data, record.length);
		this._forPool = record;
		return null;
	}

	/** The data of a record that waits: a copy, unless it is a string or its memory may be kept. */
	_keep(data, length) {
		if (typeof data === 'string') return data;
		// The caller's own view may grow with its memory.
		return length >= REFERENCE_FROM && this._refers ? view(data, 0, length) : copyOf(data, 0, length);
	}

	_noteEnd(record) {
		if ((record.firstByte & CONTROL) !== 0) return;
		this.isAmidMessage = !isLast(record);
		if (beginsFragments(record.firstByte)) this._mayDeflateFragments = record.way !== PLAIN;
	}
}

/** Whether the memory of a record that waits has been transferred, or has shrunk. */
function isGone({ data, length, pieces }) {
	return pieces === null ? sizeOf(data) !== length : pieces[0][0] === undefined;
}

module.exports = { SendQueue };
