'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, copyOf, lengthOf } = require('../shared/buffers');
const { goneError, memoryError } = require('../shared/errors');
const { countDeflated } = require('../shared/turn');
const zlibHandle = require('./zlib-handle');

const { IdleContexts, copyIfShared, copyOutput, forgetContext } = zlibHandle;
const { noteUse, openHandle, runInPool, supportsSyncZlib } = zlibHandle;

// Compression of messages (RFC 7692 section 7.2.1): "compress all the octets of the payload ...
// remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end".

const { Z_SYNC_FLUSH } = zlib.constants;
const TAIL_SIZE = 4;

/**
 * The smallest window that zlib compresses with. It refers back 262 bytes less, so that the result
 * inflates with a window of 256 bytes, too (RFC 7692 section 7.1.2).
 */
const MIN_DEFLATE_BITS = 9;

/**
 * The contexts that connections borrow, by `Deflater.key`, of 268 KB at most. There are as many kinds
 * as the levels in use times the 7 windows.
 */
const idle = new Map();

/**
 * The messages that an endpoint sends compressed, frame by frame, each in a borrowed context. With
 * takeover, or options of zlib of the program's, the connection has its own until that has been
 * idle for a while; the message after that refers to no other, which the peer need not know.
 */
class Deflater {
	/** @param {DeflateDirection} direction */
	constructor({ windowBits, contextTakeover, settings, zlibOptions }) {
		/** Whether messages refer to those before them (RFC 7692: context takeover). */
		this.hasTakeover = contextTakeover;
		/** Whether the connection's context has been used since `releaseIdle` looked at it last. */
		this.isUsed = false;
		/** Whether the thread pool uses the connection's context. */
		this.isBusy = false;
		const { level, memLevel } = settings;
		this._compression = { ...zlibOptions, windowBits: Math.max(windowBits, MIN_DEFLATE_BITS), level, memLevel };
		/** Whether the context is the connection's alone. */
		this._isOwn = contextTakeover || zlibOptions !== undefined;
		this._handle = null;
		this._isAmidMessage = false;
		this._hasEnded = false;
		/** Takes the job back that waits for the thread pool. */
		this._takeBack = null;
	}

	/** The same for all that compress a message alike. */
	get key() {
		const { windowBits, level, memLevel } = this._compression;
		return `${windowBits} ${level} ${memLevel}`;
	}

	/**
	 * @returns {Buffer} the payload of a frame, compressed; pooled memory, as of Buffer.from
	 * @throws {Error} a FrameError without memory: the frame can't be sent
	 */
	deflate(bytes, length, isLast) {
		countDeflated(length);
		const isAlone = isLast && !this._isAmidMessage && !this._isOwn && length !== 0;
		this._isAmidMessage = !isLast;
		try {
			const handle = this._open();
			if (isAlone) handle.compressAlone(bytes, length);
			else handle.compress(bytes, length);
			return this._endFrame(copyOutput(), isLast);
		} catch (cause) {
			// The thread pool has it else.
			if (!this.isBusy) this._discard();
			throw memoryError(cause);
		}
	}

	/**
	 * `deflate` in the thread pool, as soon as there is room. It calls back with an error, or the
	 * compressed bytes and a copy of the data. Nothing else may be compressed meanwhile.
	 */
	deflateLater(data, length, isLast, callback) {
		this._isAmidMessage = !isLast;
		this.isBusy = true;
		const end = (error, deflated, bytes) => {
			this.isBusy = false;
			this._takeBack = null;
			if (error !== null) this._discard();
			if (this._hasEnded) this.release();
			callback(error === null ? null : memoryError(error), deflated, bytes);
		};
		this._takeBack = runInPool((done) => {
			const bytes = ownBytes(data, length);
			this._open().runStream(bytes, Infinity, (error, chunks) => {
				done();
				let deflated;
				let failure = error;
				try {
					if (error === null)
						deflated = this._endFrame(chunks.length === 1 ? copyIfShared(chunks[0]) : Buffer.concat(chunks), isLast);
				} catch (cause) {
					failure = cause;
				}
				end(failure, deflated, bytes);
			});
		}, end);
	}

	/** @returns {Buffer} compressed: a message, or a sample, not empty, that refers to no other */
	deflateAlone(bytes, length, sync = supportsSyncZlib()) {
		if (!sync) return withoutTail(zlib.deflateRawSync(bytes, { ...this._options, finishFlush: Z_SYNC_FLUSH }));
		const contexts = this._idle;
		const handle = contexts.borrow();
		try {
			handle.compressAlone(bytes, length);
			const deflated = withoutTail(copyOutput());
			contexts.giveBack(handle);
			return deflated;
		} catch (cause) {
			handle.close();
			throw memoryError(cause);
		}
	}

	/** Takes back a frame that waits for the thread pool: nobody is called back. */
	takeBack() {
		if (this._takeBack === null || !this._takeBack()) return false;
		this._takeBack = null;
		this.isBusy = false;
		return true;
	}

	/** Releases the connection's context, as soon as the thread pool does not use it. */
	end() {
		this._hasEnded = true;
		this.takeBack();
		if (!this.isBusy) this.release();
	}

	/** Gives the connection's context back. The next message that needs it begins another. */
	release() {
		forgetContext(this);
		if (this._handle === null) return;
		if (this._isOwn) this._handle.close();
		else this._idle.giveBack(this._handle);
		this._handle = null;
	}

	/** Closes a context that has failed. */
	_discard() {
		forgetContext(this);
		this._handle?.close();
		this._handle = null;
	}

	/** Those of a context that is not the connection's alone: without further options of zlib. */
	get _options() {
		const { windowBits, level, memLevel } = this._compression;
		return { windowBits, level, memLevel };
	}

	get _idle() {
		const { key } = this;
		let contexts = idle.get(key);
		if (contexts === undefined) {
			const options = this._options;
			contexts = new IdleContexts(() => zlib.createDeflateRaw(options));
			idle.set(key, contexts);
		}
		return contexts;
	}

	_open() {
		if (this._isOwn) noteUse(this);
		this._handle ??= this._isOwn ? openHandle(() => zlib.createDeflateRaw(this._compression)) : this._idle.borrow();
		return this._handle;
	}

	_endFrame(deflated, isLast) {
		if (!isLast) return deflated;
		if (!this.hasTakeover) {
			if (this._isOwn) this._handle.reset();
			else this.release();
		}
		return withoutTail(deflated);
	}
}

/**
 * A copy for the thread pool, which may read it while a program changes or transfers its Buffer: made
 * when there is room, so that a broadcast is held once. Throws if the bytes are transferred by then.
 */
function ownBytes(data, length) {
	if (typeof data === 'string') return Buffer.from(data);
	if (lengthOf(data) < length) throw goneError();
	return copyOf(data, 0, length);
}

function withoutTail(deflated) {
	return deflated.subarray(0, deflated.length - TAIL_SIZE);
}

module.exports = { Deflater, MIN_DEFLATE_BITS };
