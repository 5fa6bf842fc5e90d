'use strict';

const { Decoder } = require('../codec/decoder');
const { shareReads } = require('../sockets/shared-reads');

/** Why the stream is not read, as bits: the program has paused, */
const BY_PROGRAM = 1;
/** the peer does not read our answers, */
const BY_BACKPRESSURE = 2;
/** the Decoder waits for the thread pool, */
const BY_INFLATING = 4;
/** a message is read as a stream, and its reader is behind, */
const BY_READER = 8;
/** the peer does not read, and the rest of a compressed read may be megabytes. */
const BY_EXPANSION = 16;

/** A connection's way in: the chunks of a stream go to a Decoder, unless something holds them. */
class Input {
	/**
	 * @param {(chunk: Buffer) => void} listener of the stream's 'data', which gives each chunk to
	 *   `write`
	 * @param {object} options of the Decoder
	 */
	constructor(stream, listener, options) {
		this._stream = stream;
		this._holds = 0;
		// Sockets share the memory of their reads; other streams give their chunks away.
		options.borrowed = shareReads(stream, listener) === 'shared';
		this.decoder = new Decoder(options);
	}

	get isPaused() {
		return (this._holds & BY_PROGRAM) !== 0;
	}

	/** Whether all that has come has been delivered. */
	get isIdle() {
		return !this.decoder.paused && !this.decoder.inflating;
	}

	write(chunk) {
		this.decoder.write(chunk);
	}

	/** Takes the bytes that a paused stream had when it was closed. */
	writeRest() {
		const { readableLength } = this._stream;
		// Without its argument, Node.js 26 returns the first of several chunks.
		const rest = readableLength > 0 ? this._stream.read(readableLength) : null;
		if (rest !== null) this.decoder.write(rest);
	}

	/** Whether nothing holds back what has been read. */
	get mayDeliver() {
		return (this._holds & (BY_PROGRAM | BY_READER | BY_EXPANSION)) === 0;
	}

	/** Whether the peer may have spoken unheard: the heartbeat's clock stands still. */
	get awaitsProgram() {
		return (this._holds & (BY_PROGRAM | BY_READER)) !== 0;
	}

	/** Stops the reading and the delivery of bytes that have been read. */
	pause(reason) {
		this.hold(reason);
		this.decoder.pause();
	}

	/** Ends a pause; `deliver` and `readOn` follow. */
	resume(reason) {
		this._holds &= ~reason;
	}

	/** Delivers what a pause has held back. */
	deliver() {
		this.decoder.resume();
	}

	readOn() {
		if (this._holds === 0) this._stream.resume();
	}

	hold(reason) {
		if (this._holds === 0) this._stream.pause();
		this._holds |= reason;
	}

	/** Holds the peer; what has been read is still delivered, unless it waits to be inflated. */
	holdPeer() {
		if (this.decoder.inflating) this.pause(BY_EXPANSION);
		else this.hold(BY_BACKPRESSURE);
	}

	/** @returns {boolean} whether what has been read is to be delivered */
	releasePeer() {
		const isHeld = (this._holds & BY_EXPANSION) !== 0;
		if (isHeld) this.resume(BY_EXPANSION);
		this.release(BY_BACKPRESSURE);
		return isHeld;
	}

	release(reason) {
		if ((this._holds & reason) === 0) return;
		this._holds &= ~reason;
		this.readOn();
	}

	/** After a chunk: reads no more while a message is inflated in the thread pool. */
	settle() {
		if (this.decoder.inflating) this.hold(BY_INFLATING);
		else this.release(BY_INFLATING);
	}

	/** Reads the stream up to its end, and delivers nothing of it. */
	discard() {
		this.decoder.stop();
		this._holds = 0;
		this._stream.resume();
	}
}

module.exports = { BY_PROGRAM, BY_READER, Input };
