'use strict';

const { nextTick } = require('../shared/ticks');
const { callInTurn } = require('../shared/turn');
const { beginRead, endRead, flushLater, isExiting, listenForExit } = require('./flush-queue');
const { flushInto, isPlain } = require('./plain-sockets');

/**
 * From so many bytes on, frames are sent at once: a program that sends until it is to wait must see
 * them. A payload of that size is not copied.
 */
const SEND_FROM = 16 * 1024;
/**
 * The same in a read of 64 KiB, whose replies leave together: a write amid it makes the echo of 64
 * KiB 13 % slower.
 */
const SEND_REPLIES_FROM = 128 * 1024;

/**
 * When the frames of an Encoder leave: in one write at the end of the turn, or of the read that they
 * answer, with the callbacks of their messages. Both doors hold one.
 */
class Outgoing {
	/** @param {{ flushQueued(): void }} owner flushes at the end of the turn, and does not throw */
	constructor(socket, owner) {
		/** @type {import('../codec/encoder').Encoder | null} */
		this.encoder = null;
		/** Whether the Encoder uses its memory again. */
		this.recycles = false;
		/** Whether a read is being answered, whose end flushes. */
		this.isReading = false;
		this._socket = socket;
		this._owner = owner;
		this._isQueued = false;
		/** Those of the next write; null if there are none. */
		this.callbacks = null;
		listenForExit();
	}

	/** @param {object} options of its own, to which `recycle` is added: a copy would take 20 µs */
	createEncoder(Encoder, options) {
		this.recycles = options.recycle = isPlain(this._socket);
		this.encoder = new Encoder(options);
	}

	/** Calls back when the next write has left, or with its error. */
	whenWritten(callback) {
		// `push` makes room for 17.
		if (this.callbacks === null) this.callbacks = [callback];
		else this.callbacks.push(callback);
	}

	/** A frame has been added. @returns {boolean} whether its owner must flush now */
	added(isLong = false) {
		const { pending } = this.encoder;
		if (isLong || pending >= (this.isReading ? SEND_REPLIES_FROM : SEND_FROM) || isExiting()) return true;
		if (!this.isReading && !this._isQueued) {
			this._isQueued = true;
			flushLater(flushQueued, this, pending);
		}
		return false;
	}

	/** Holds frames back until `endRead`, after which the owner flushes. */
	beginRead() {
		this.isReading = true;
		beginRead(flushQueued, this);
	}

	endRead() {
		this.isReading = false;
		endRead();
	}

	/**
	 * Writes the collected frames.
	 *
	 * @returns {boolean} false if the stream is full
	 * @throws {Error} if the stream's `write` throws, or memory that was to be sent is gone
	 */
	flush() {
		const { encoder } = this;
		if (encoder === null || encoder.pending === encoder.waiting) return true;
		const callback = this.callbacks === null ? undefined : callOnce(this.callbacks);
		this.callbacks = null;
		try {
			return this.recycles ? flushInto(this._socket, encoder, callback) : encoder.flush(this._socket, callback);
		} catch (error) {
			if (callback !== undefined) nextTick(callback, error);
			throw error;
		}
	}
}

/** A stream of the program's own may call it twice. */
function callOnce(callbacks) {
	let due = callbacks;
	return (error) => {
		const list = due;
		due = null;
		if (list !== null) callInTurn(list, error);
	};
}

function flushQueued(outgoing) {
	outgoing._isQueued = false;
	outgoing._owner.flushQueued();
}

module.exports = { Outgoing, SEND_FROM };
