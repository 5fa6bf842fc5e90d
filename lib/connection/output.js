'use strict';

const { Encoder } = require('../codec/encoder');
const { framedMessage } = require('../codec/prepared');
const { Buffer, toBytes } = require('../shared/buffers');
const { callInOrder } = require('../shared/call-in-order');
const { notOpenError } = require('../shared/errors');
const { keepContext } = require('../shared/keep-context');
const { checkObject } = require('../shared/option-names');
const { Queue } = require('../shared/queue');
const { nextTick } = require('../shared/ticks');

/** While so many bytes wait for the thread pool, or a stream, the program should wait, too. */
const MAX_WAITING = 64 * 1024;

/**
 * The messages of a connection, and whether its program should wait. The callback of a message that
 * is being compressed waits until it has been framed.
 */
class Output {
	/** @param {(() => void) | undefined} onDeflated as the Encoder's */
	constructor(socket, outgoing, role, deflate, trace, onDeflated) {
		this._socket = socket;
		this._outgoing = outgoing;
		outgoing.createEncoder(Encoder, { role, deflate, trace, onDeflated });
		this.encoder = outgoing.encoder;
		/** Whether the stream is full: its 'drain' will tell. */
		this._isBlocked = false;
	}

	/** Whether the program should wait until what it has sent has left. */
	get isFull() {
		return this._isBlocked || this._waiting + this.heldBytes >= MAX_WAITING;
	}

	/** Whether messages are being compressed, or wait for that. */
	get isCompressing() {
		return this.encoder.waiting !== 0;
	}

	get bufferedAmount() {
		return this._socket.writableLength + this.encoder.pending + this.heldBytes;
	}

	/** Adds a message, or a fragment of one. */
	send(data, options) {
		const { encoder } = this;
		if (options !== undefined || this.isAmidMessage) this._sendWith(data, checkObject(options ?? {}));
		else if (typeof data === 'string') encoder.text(data);
		// A PreparedMessage lacks the property.
		else if (data?.byteLength === undefined && framedMessage(data) !== null) encoder.addPrepared(data);
		else encoder.binary(toBytes('data', data));
	}

	_sendWith(data, options) {
		const { encoder } = this;
		const { binary = typeof data !== 'string', fin = true, compress, owned } = options;
		// Without options a message takes a shorter way.
		const given = fin && compress === undefined && !owned ? undefined : { fin, compress, owned };
		if (this.isAmidMessage) encoder.continuation(data, given);
		else if (binary) encoder.binary(typeof data === 'string' ? Buffer.from(data) : toBytes('data', data), given);
		else encoder.text(data, given);
		this.isAmidMessage = !fin;
	}

	/** @param {Function | undefined} callback of the frame that has been added last */
	added(callback) {
		const { waiting } = this.encoder;
		if (waiting !== 0) this._waiting = waiting;
		if (callback !== undefined) this.whenLeft(keepContext(callback));
	}

	/**
	 * Calls back when all that has been added has left, or with an error: if it is in the stream
	 * already, after the next write, as 'drain' may come first.
	 */
	whenLeft(callback) {
		const { waiting } = this.encoder;
		if (waiting === 0) {
			this._outgoing.whenWritten(callback);
		} else {
			this._later ??= new Queue();
			this._later.push({ callback, until: this._framed + waiting });
		}
	}

	/** Messages have been compressed: their callbacks belong to the next write. */
	noteFramed() {
		const { waiting } = this.encoder;
		this._framed += this._waiting - waiting;
		this._waiting = waiting;
		while (this._later !== null && this._later.length !== 0 && this._later.first.until <= this._framed) {
			this._outgoing.whenWritten(this._later.shift().callback);
		}
	}

	/** The stream takes bytes again. */
	noteDrained() {
		this._isBlocked = this._socket.writableNeedDrain;
	}

	/** Writes the collected frames. @throws {Error} as Outgoing */
	flush() {
		if (!this._outgoing.flush()) this._isBlocked = this._socket.writableNeedDrain;
	}

	/** Ends with the connection. The callbacks of messages that the stream has not got are told. */
	stop() {
		this.encoder.stop();
		const callbacks = this._outgoing.callbacks ?? [];
		while (this._later !== null && this._later.length !== 0) callbacks.push(this._later.shift().callback);
		this._outgoing.callbacks = null;
		if (callbacks.length !== 0) nextTick(callInOrder, callbacks, notOpenError());
	}
}

// Own properties of few.
/** Whether the last data frame leaves a message unfinished. */
Output.prototype.isAmidMessage = false;
/** The bytes of messages that wait for the end of a stream. */
Output.prototype.heldBytes = 0;
// With compression:
/** The bytes that waited for compression after the last frame was added, */
Output.prototype._waiting = 0;
/** and those that waited and have been framed since the beginning. */
Output.prototype._framed = 0;
/** The callbacks of messages that wait, and how many bytes must be framed before each. */
Output.prototype._later = null;

module.exports = { Output };
