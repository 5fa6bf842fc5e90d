'use strict';

const { Buffer, copyOf, join, view } = require('../shared/buffers');
const { detachedError, tooBigError, utf8Error } = require('../shared/errors');
const { isUtf8 } = require('../shared/node-modules').buffer;
const { Pieces } = require('../shared/pieces');
const { completeUntil, decodeText } = require('../shared/utf8');

/**
 * A message whose bytes are not kept as they came: it is compressed, or delivered in parts. `add`
 * takes the unmasked bytes of its frames, `next` returns parts: inflated, and text cut between
 * characters; or the whole, if it has fewer bytes than `from`.
 */
class PartStream {
	/**
	 * @param {'string' | 'buffer' | null} text null for bytes that are not validated
	 * @param {Inflater | null} inflater null if it is not compressed
	 * @param {number} limit the most bytes that it may have
	 * @param {number} from a compressed message of fewer bytes, inflated, is delivered as a whole
	 * @param {boolean} countsFragments whether `lengths` has the inflated length of each frame of
	 *   such a message
	 */
	constructor(firstByte, text, inflater, limit, from, countsFragments) {
		this.firstByte = firstByte;
		/** Whether the last part has been returned. */
		this.hasEnded = false;
		/** Whether it is shorter than `from`: the one part is the message. */
		this.isWhole = false;
		this._text = text;
		this._inflater = inflater;
		this._limit = limit;
		this._from = inflater === null ? 0 : from;
		this.lengths = countsFragments && this._from !== 0 ? [] : undefined;
		// Parts that are joined.
		this._pieces = null;
		this._length = 0;
		// The length up to the current frame.
		this._frameStart = 0;
		// Without compression: the bytes that have not been used up, with their lengths: they may be
		// detached meanwhile.
		this._added = inflater === null ? [] : null;
		// Whether the bytes that were added last end a frame, and the message.
		this._endsFrame = false;
		this._isLast = false;
		// The bytes of a character that is not complete, or null.
		this._rest = null;
	}

	/**
	 * Adds bytes, which must not change until they have been used up; `endsFrame`, `isLast`: they end
	 * a frame, and the message.
	 */
	add(bytes, endsFrame, isLast) {
		this._endsFrame = endsFrame;
		this._isLast = isLast;
		if (this._inflater === null) this._added.push({ bytes, length: bytes.length });
		else this._inflater.add(bytes, isLast);
	}

	/** Whether `next` has more to return, but only after `wait`. */
	get mustWait() {
		return this._inflater?.mustWait === true;
	}

	/** Calls back when `next` may go on: see Inflater. */
	wait(callback) {
		this._inflater.wait(this._limit - this._length, callback);
	}

	/**
	 * @returns {string | Buffer | null} the next part; null when the bytes are used up, or if
	 *   `mustWait`. With `hasEnded` it is the last one, and may be empty
	 * @throws {FrameError} if the message is too long, is not DEFLATE, or not UTF-8
	 */
	next() {
		while (!this._isUsedUp && !this.mustWait) {
			const bytes = this._nextBytes();
			this.hasEnded = this._isLast && this._isUsedUp;
			const part = this._collect(bytes);
			if (part === null) continue;
			const data = this.isWhole ? this._decodeWhole(part) : this._decode(part);
			if (data.length !== 0 || this.hasEnded) return data;
		}
		return null;
	}

	/** Whether pieces of it wait for others. */
	get isCollecting() {
		return this._pieces !== null;
	}

	get _isUsedUp() {
		return this._inflater === null ? this._added.length === 0 : this._inflater.isDone;
	}

	/** @returns {Buffer} maybe memory that is overwritten when something else is inflated */
	_nextBytes() {
		if (this._inflater === null) {
			const { bytes, length } = this._added.shift();
			if (length !== 0 && bytes[0] === undefined) throw detachedError();
			// An empty part can't reveal detachment.
			return length === 0 ? Buffer.allocUnsafeSlow(0) : bytes;
		}
		const piece = this._inflater.next(this._limit - this._length);
		this._length += piece.length;
		if (this._length > this._limit) throw tooBigError();
		if (this._endsFrame && this._inflater.isDone) {
			this.lengths?.push(this._length - this._frameStart);
			this._frameStart = this._length;
		}
		return piece;
	}

	/** Joins the first pieces, until they have `from` bytes, or are the message. */
	_collect(bytes) {
		this.isWhole = this._length < this._from;
		if (this._pieces !== null || (this.isWhole && !this.hasEnded)) {
			this._pieces ??= new Pieces(this._inflater.copyIfShared);
			this._pieces.add(bytes);
		}
		if (this.isWhole && !this.hasEnded) return null;
		if (!this.isWhole) this.lengths = undefined;
		const joined = this._pieces?.join() ?? bytes;
		this._pieces = null;
		return joined;
	}

	_decode(bytes) {
		if (this._text === null) return this._own(bytes);
		const all = this._rest === null ? bytes : join([this._rest, bytes]);
		const end = completeUntil(all, 0, all.length);
		if (end === -1 || (this.hasEnded && end !== all.length)) throw utf8Error();
		this._rest = end === all.length ? null : copyOf(all, end, all.length);
		return this._text === 'string' ? all.utf8Slice(0, end) : view(this._own(all), 0, end);
	}

	_decodeWhole(bytes) {
		const isString = this._text === 'string';
		const data = isString ? decodeText(bytes, 0, bytes.length, false) : this._own(bytes);
		if (data === undefined || (this._text === 'buffer' && !isUtf8(data))) throw utf8Error();
		return data;
	}

	_own(bytes) {
		return this._inflater === null ? bytes : this._inflater.copyIfShared(bytes);
	}
}

module.exports = { PartStream };
