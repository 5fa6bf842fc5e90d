'use strict';

const { Buffer, rangeOf, view } = require('../shared/buffers');
const { FrameError } = require('../shared/errors');
const { FIN } = require('../shared/protocol');
const { Pool } = require('../shared/pool');
const { completeUntil } = require('../shared/utf8');

/**
 * The memory for a payload in progress is at most AHEAD times the bytes that have arrived, plus
 * MARGIN. The margin covers the header in the first chunk; without it a message of 16 chunks is
 * copied twice more.
 */
const AHEAD = 4;
const MARGIN = 128;
/** The size of the pooled memory in which text is gathered, once AHEAD allows as much. */
const POOLED_SIZE = 64 * 1024;

/** Text that is shorter is gathered in Node.js's pool: memory of its own takes up to 1 µs more. */
const NODE_POOL_BELOW = 2048;

const pool = new Pool(() => Buffer.allocUnsafeSlow(POOLED_SIZE), 1);

/**
 * Memory for a message of which `needed` bytes have arrived, and `left` bytes of the frame have
 * not. `pooled` memory is returned by `release`, and may hold bytes of an earlier use.
 */
function allocate(needed, left, least, pooled) {
	const size = Math.max(Math.min(needed + left, needed * AHEAD + MARGIN), least);
	if (pooled && size < NODE_POOL_BELOW) return Buffer.allocUnsafe(size);
	if (!pooled || size > POOLED_SIZE || needed * AHEAD < POOLED_SIZE) return Buffer.allocUnsafeSlow(size);
	return pool.acquire();
}

function release(buffer) {
	if (buffer.length === POOLED_SIZE) pool.release(buffer);
}

/**
 * A message in progress: `buffer[0]` to `buffer[length - 1]` has arrived and is unmasked;
 * `frameStart` is where the payload of the current frame begins; of a message in parts, how much of
 * that payload has arrived. Methods that add bytes return a FrameError if they can't, or null.
 */
class PartialMessage {
	constructor(firstByte, arrived) {
		this.firstByte = firstByte;
		/** Its length, if all its frames have arrived already; otherwise 0. */
		this.arrived = arrived;
		this.fragments = 0;
		this.buffer = null;
		this.length = 0;
		this.frameStart = 0;
		/** Whether it becomes a string. Its memory, which nobody else sees, is used again then. */
		this.isString = false;
		/** Whether it must be UTF-8. */
		this.isValidated = false;
		this._isAscii = true;
		this._validatedTo = 0;
	}

	beginFrame() {
		this.fragments++;
		this.frameStart = this.length;
	}

	/** Forgets the bytes that have been gathered, and counts `length` bytes that are not kept. */
	skip(length) {
		this.skipped += length;
		this.buffer = null;
		this.length = 0;
	}

	/**
	 * Adds unmasked bytes. `isLast`: they end the message. `ascii`: they are known to be ASCII.
	 *
	 * @param {number} most how many bytes it may have
	 */
	append(bytes, start, end, isLast, ascii, most) {
		const error = this._reserve(end - start, 0, isLast, most);
		if (error !== null) return error;
		const at = this.length;
		this.buffer.set(view(bytes, start, end), at);
		this._advance(at + end - start, ascii);
		return null;
	}

	/** Adds the next piece of a FrameReader's frame, unmasked while it is copied. */
	appendPiece(reader, most) {
		const length = reader.pieceLength;
		const error = this._reserve(length, reader.left - length, (reader.firstByte & FIN) !== 0, most);
		if (error !== null) return error;
		const at = this.length;
		this._advance(at + length, reader.copyPiece(this.buffer, at));
		return null;
	}

	/** Validates the text since the last call (RFC 6455 section 8.1). False if it is not UTF-8. */
	validate(isLast) {
		if (!this.isValidated || this._validatedTo === this.length) return true;
		this._validatedTo = completeUntil(this.buffer, this._validatedTo, this.length);
		return this._validatedTo !== -1 && !(isLast && this._validatedTo !== this.length);
	}

	/** The data of a complete message: called once, for the memory of a string is used again. */
	take() {
		const { buffer, length } = this;
		if (!this.isString) return rangeOf(buffer, 0, length);
		const text = this._isAscii ? buffer.latin1Slice(0, length) : buffer.utf8Slice(0, length);
		release(buffer);
		return text;
	}

	/** Makes room for a piece of a frame, of which `left` bytes come after it. */
	_reserve(length, left, isLast, most) {
		const { buffer, length: used } = this;
		const needed = used + length;
		if (buffer !== null && buffer.length >= needed) return null;
		// Doubling keeps many small fragments cheap.
		const ahead = this.arrived || Math.max(used * 2, length * AHEAD);
		const least = isLast ? 0 : Math.min(ahead, most);
		try {
			this.buffer = allocate(needed, left, least, this.isString);
		} catch (cause) {
			return new FrameError('MESSAGE_TOO_BIG', 1009, `A message of ${needed + left} bytes does not fit in memory`, {
				cause
			});
		}
		if (used !== 0) buffer.copy(this.buffer, 0, 0, used);
		return null;
	}

	/** Counts a piece, and marks bytes that the kernel found to be ASCII as validated. */
	_advance(end, ascii) {
		if (!ascii) this._isAscii = false;
		else if (this._validatedTo === this.length) this._validatedTo = end;
		this.length = end;
	}
}

/** The bytes of frames that are not kept: an own property of the few messages that have any. */
PartialMessage.prototype.skipped = 0;
/** The PartStream of a message that is delivered in parts: an own property, too. */
PartialMessage.prototype.stream = null;

module.exports = { PartialMessage };
