'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, copyOf, lengthOf } = require('../shared/buffers');
const { goneError, memoryError } = require('../shared/errors');
const { countDeflated } = require('../shared/turn');
const { Context, ContextKind } = require('./contexts');
const { copyOutput, supportsSyncZlib } = require('./zlib-handle');

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
 * The kinds of contexts, of 268 KB at most, by their options: as many as the levels in use times the
 * 7 windows.
 */
const kinds = new Map();

const newKind = (options) => new ContextKind((o) => zlib.createDeflateRaw(o), options, true);

function kindOf(windowBits, { level, memLevel }) {
	const key = `${windowBits} ${level} ${memLevel}`;
	if (!kinds.has(key)) kinds.set(key, newKind({ windowBits, level, memLevel }));
	return kinds.get(key);
}

/**
 * The messages that an endpoint sends compressed, frame by frame, each in a borrowed context. With
 * takeover, or options of zlib of the program's, the connection has its own until that has been
 * idle for a while; the message after that refers to no other, which the peer need not know.
 */
class Deflater {
	constructor({ windowBits, contextTakeover, settings, zlibOptions }) {
		/** Whether messages refer to those before them (RFC 7692: context takeover). */
		this.hasTakeover = contextTakeover;
		/** The same for all that compress a message alike. */
		this.kind = kindOf(Math.max(windowBits, MIN_DEFLATE_BITS), settings);
		const kind = zlibOptions ? newKind({ ...zlibOptions, ...this.kind.options }) : this.kind;
		this._context = new Context(kind, contextTakeover || zlibOptions !== undefined);
		this._isAmidMessage = false;
	}

	/**
	 * @returns {Buffer} the payload of a frame, compressed; pooled memory, as of Buffer.from
	 * @throws {Error} a FrameError without memory: the frame can't be sent
	 */
	deflate(bytes, length, isLast) {
		countDeflated(length);
		const isAlone = isLast && !this._isAmidMessage && !this._context.isOwn && length !== 0;
		this._isAmidMessage = !isLast;
		try {
			this._context.open().compress(bytes, length, isAlone);
			return this._endFrame(copyOutput(), isLast);
		} catch (cause) {
			// The thread pool has it else.
			if (!this._context.isBusy) this._context.release(true);
			throw memoryError(cause);
		}
	}

	/**
	 * `deflate` in the thread pool, as soon as there is room. It calls back with an error, or the
	 * compressed bytes and a copy of the data. Nothing else may be compressed meanwhile.
	 */
	deflateLater(data, length, isLast, callback) {
		this._isAmidMessage = !isLast;
		const end = (error, chunks, bytes) => {
			let deflated;
			let failure = error;
			try {
				if (error === null) deflated = this._endFrame(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), isLast);
			} catch (cause) {
				failure = memoryError(cause);
			}
			if (failure !== null) this._context.release(true);
			callback(failure, deflated, bytes);
		};
		this._context.runLater(() => ownBytes(data, length), Infinity, end);
	}

	/** @returns {Buffer} compressed: a message, or a sample, not empty, that refers to no other */
	deflateAlone(bytes, length, sync = supportsSyncZlib()) {
		if (!sync) return withoutTail(zlib.deflateRawSync(bytes, { ...this.kind.options, finishFlush: Z_SYNC_FLUSH }));
		const handle = this.kind.borrow();
		try {
			handle.compress(bytes, length, true);
			const deflated = withoutTail(copyOutput());
			this.kind.giveBack(handle);
			return deflated;
		} catch (cause) {
			handle.close();
			throw memoryError(cause);
		}
	}

	/** As `takeBack` of Context. */
	takeBack() {
		return this._context.takeBack();
	}

	end() {
		this._context.end();
	}

	_endFrame(deflated, isLast) {
		if (!isLast) return deflated;
		if (!this.hasTakeover) this._context.endMessage();
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

const withoutTail = (deflated) => deflated.subarray(0, deflated.length - TAIL_SIZE);

module.exports = { Deflater, MIN_DEFLATE_BITS };
