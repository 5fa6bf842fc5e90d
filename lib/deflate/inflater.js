'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, EMPTY, view } = require('../shared/buffers');
const { FrameError, detachedError, memoryError } = require('../shared/errors');
const { nextTick } = require('../shared/ticks');
const { countWork, inLaterTurn, isTurnOver } = require('../shared/turn');
const { Context, ContextKind } = require('./contexts');
const zlibHandle = require('./zlib-handle');

const { OUTPUT_SIZE, copyIfShared, dropOutput, lendOutput, outputLength, supportsSyncZlib } = zlibHandle;

// Decompression of messages (RFC 7692 section 7.2.2): "append 4 octets of 0x00 0x00 0xff 0xff to
// the tail end of the payload ... decompress the resulting data". Truncated input yields the bytes
// decoded so far, as with ws.

const TAIL = Buffer.from('0000ffff', 'hex');

/**
 * Inflating takes a sixth of the time of compressing, or less: 0.2 to 0.4 ms for 128 KiB of JSON.
 * At most this times `threadPoolFrom` comes out of a frame on the event loop.
 */
const INFLATES_FASTER = 4;
/**
 * And at most this part of that limit goes in: empty blocks take 84 to 125 µs per KiB, and put out
 * nothing.
 */
const INPUT_PART = 1 / 8;
/** A frame up to this size waits for another turn: the thread pool would cost it 60 to 150 µs. */
const WAITS_TO = 4 * 1024;
/** The input of one run of a message in parts: 2 ms of empty blocks. */
const INPUT_OF_PART = 16 * 1024;

/** The kinds of contexts, of 40 KB at most, by their window. */
const kinds = [];
/** The peer relies on a connection's own, which is never released. */
const newKind = (options) => new ContextKind((o) => zlib.createInflateRaw(o), options, false);

/**
 * Inflates messages piece by piece: `add` bytes, then `next` until `isDone`. A message that refers
 * to no other borrows a context. With takeover, or options of zlib of its own, a connection has its
 * own until it ends, because the peer relies on it.
 *
 * Work that is too much for a turn of the event loop waits: small frames and messages in parts for
 * another turn, the others for the thread pool.
 */
class Inflater {
	/**
	 * @param {DeflateDirection} direction
	 * @param {boolean} inParts whether messages come in parts: of 64 KiB, so that one that inflates
	 *   to gigabytes takes no more memory, and never from the thread pool
	 */
	constructor({ windowBits, contextTakeover, settings, zlibOptions }, inParts = false, sync = supportsSyncZlib()) {
		this._hasTakeover = contextTakeover;
		// The most bytes of a frame that come out on the event loop; null if messages come in parts.
		this._turnLimit = inParts ? null : settings.threadPoolFrom * INFLATES_FASTER;
		this._sync = sync;
		kinds[windowBits] ??= newKind({ windowBits });
		const kind = zlibOptions ? newKind({ ...zlibOptions, windowBits }) : kinds[windowBits];
		this._context = new Context(kind, contextTakeover || zlibOptions !== undefined || !sync);
		this._isAmidMessage = false;
		this._work = null;
	}

	/**
	 * Adds the bytes of a frame, or some of them, when those before are done. They must not change.
	 *
	 * @param {boolean} isLast whether they end the message
	 */
	add(bytes, isLast) {
		const isWhole = isLast && !this._isAmidMessage;
		const { length } = bytes;
		this._isAmidMessage = !isLast;
		this._work = {
			input: bytes,
			// The length of the input: 0 where the memory has been transferred.
			length,
			// An empty payload is not valid DEFLATE, but taken as an empty message, as in ws.
			tail: isLast && !(isWhole && length === 0) ? TAIL : EMPTY,
			isLast,
			isAlone: isWhole && !this._context.isOwn && this._turnLimit !== null,
			// Whether zlib has taken nothing.
			isFresh: true,
			// Whether the rest waits for another turn, as more comes out than one may have.
			isForTurn: false,
			isForPool: false,
			// What the thread pool has put out, or its error.
			pieces: null,
			error: null
		};
	}

	get isDone() {
		return this._work === null;
	}

	/** Whether `wait` must come before `next`. */
	get mustWait() {
		const work = this._work;
		return work !== null && (work.isForPool || work.isForTurn || (isTurnOver() && this._waitsForTurn(work)));
	}

	/**
	 * Inflates the next piece, which may be empty, and which the next run of zlib may overwrite.
	 *
	 * @param {number} limit the most bytes of the rest of the message: a longer piece exceeds it
	 * @throws {FrameError} if the input is not DEFLATE or has been transferred, or exceeds the limit
	 *   in the thread pool
	 */
	next(limit) {
		const work = this._work;
		if (work.error !== null) throw work.error;
		if (work.pieces !== null) {
			if (work.pieces.length <= 1) this._work = null;
			return work.pieces.shift() ?? EMPTY;
		}
		if (work.length !== 0 && work.input[0] === undefined) throw detachedError();
		// An empty message.
		if (work.isLast && work.tail.length === 0 && work.isFresh) {
			this._work = null;
			return EMPTY;
		}
		const fits = this._fitsTurn(work.length);
		// Without handles that work, as on Deno, the thread pool has all.
		work.isForPool = !this._sync || (work.isAlone && !fits);
		return work.isForPool ? EMPTY : this._run(work, fits, limit);
	}

	/**
	 * Calls back when `next`, with this limit, may go on: in another turn, or after the thread pool.
	 * After `close` the pool does not call back.
	 */
	wait(limit, callback) {
		const work = this._work;
		if (!work.isForPool) {
			inLaterTurn(() => {
				work.isForTurn = false;
				callback();
			});
			return;
		}
		const end = (error, pieces) => {
			if (this._work !== work) return;
			work.isForPool = false;
			work.error = error === null ? null : inflateError(error);
			work.pieces = pieces;
			if (error === null) this._endFrame(work);
			callback();
		};
		let rest;
		try {
			// A copy, which nobody can change or transfer meanwhile.
			rest = Buffer.concat([work.input, work.tail]);
		} catch (error) {
			nextTick(end, error);
			return;
		}
		work.input = EMPTY;
		work.length = 0;
		this._context.runLater(() => rest, limit, end);
	}

	close() {
		this._work = null;
		this._context.end();
	}

	/** Whether a frame of this length is inflated on the event loop now. */
	_fitsTurn(length) {
		const limit = this._turnLimit;
		return limit === null || limit === Infinity || (length <= limit * INPUT_PART && !isTurnOver());
	}

	/** Whether the work waits for another turn, when this one has seen enough. */
	_waitsForTurn({ isFresh, length }) {
		const limit = this._turnLimit;
		return limit === null || (isFresh && limit !== Infinity && length <= Math.min(limit * INPUT_PART, WAITS_TO));
	}

	/** Runs zlib for the bytes if they fit this turn, else for one, to see whether it takes any. */
	_run(work, fits, limit) {
		const { length, isFresh } = work;
		const inParts = this._turnLimit === null;
		const most = inParts ? OUTPUT_SIZE - 1 : this._turnLimit;
		const size = Math.min(length, fits ? (inParts ? INPUT_OF_PART : length) : 1);
		const tail = fits && size === length ? work.tail : EMPTY;
		try {
			const left = runWithTail(this._context.open(), work, size, tail, Math.min(most, limit));
			// There may be more to come out.
			const isCut = outputLength() > most;
			if (isCut || !fits || (left === 0 && size !== length)) {
				advance(work, size + tail.length - left);
				// The way to the thread pool and back takes longer than what mostly is left.
				if (isCut && isFresh && fits) work.isForTurn = !inParts;
				else work.isForPool = !inParts;
			} else {
				this._endFrame(work);
				this._work = null;
			}
			return lendOutput();
		} catch (error) {
			throw memoryError(error);
		}
	}

	_endFrame({ isLast }) {
		if (isLast && !this._hasTakeover) this._context.endMessage();
	}
}

/** For the pieces that `next` returns: the codec loads no part of lib/deflate. */
Inflater.prototype.copyIfShared = copyIfShared;

/**
 * Runs the first bytes of work and then a tail, until the output is above `bound`.
 *
 * @returns {number} how many bytes are left of both together
 * @throws {FrameError} if they are not DEFLATE
 */
function runWithTail(handle, work, size, tail, bound) {
	dropOutput();
	let left = handle.run(work.input, size, bound);
	if (work.isFresh && left === size && size !== 0 && handle.error === null) {
		// After a final block in the frame before zlib takes nothing more (RFC 7692 section 7.2.3.4).
		handle.reset();
		left = handle.run(work.input, size, bound);
	}
	work.isFresh = false;
	left += tail.length;
	if (left === tail.length && left !== 0 && handle.error === null && outputLength() <= bound) {
		left = handle.run(tail, left, bound);
	}
	countWork(size, outputLength());
	if (handle.error !== null) throw inflateError(handle.error);
	return left;
}

/** Counts bytes of work that zlib has taken, of the input and then of the tail. */
function advance(work, taken) {
	const ofInput = Math.min(taken, work.length);
	work.input = view(work.input, ofInput, work.length);
	work.length -= ofInput;
	work.tail = work.tail.subarray(taken - ofInput);
}

/**
 * The error of zlib: of memory that has failed here, of what framemask itself has found, or of bytes
 * that are not DEFLATE: ws closes with 1007, too.
 */
function inflateError(cause) {
	const error = memoryError(cause);
	// Node.js's own lack it.
	if (error instanceof FrameError || error.errno === undefined) return error;
	return new FrameError('DEFLATE', 1007, 'A compressed message is not DEFLATE', { cause });
}

module.exports = { Inflater };
