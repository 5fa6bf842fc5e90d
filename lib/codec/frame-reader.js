'use strict';

const { advanceKey } = require('../masking/fallback');
const { Buffer, copyOf } = require('../shared/buffers');
const { LENGTH, MAX_HEADER, MODE_MASKED, OPCODE, Opcode } = require('../shared/protocol');
const { copyMasking } = require('./backend');
const { ENTRY, moveEntries } = require('./frame-table');
const { header, readHeader } = require('./header');

/** The kinds of things that `next` finds in a chunk. */
const Found = {
	/** Nothing yet: the chunk is used up. */
	NOTHING: 0,
	/** A frame that lies in the chunk as a whole; `header` has its header. Take its payload. */
	FRAME: 1,
	/**
	 * Probably several frames. They are in `entries`, if the caller has kept those; otherwise `scan`,
	 * and `readFrame` if that finds none.
	 */
	FRAMES: 2,
	/** The header of a data frame, in `header`. Its payload comes in pieces. */
	HEADER: 3,
	/** A piece of that payload: `copyPiece` or `unmaskPiece`. */
	PIECE: 4,
	/** A control frame that came in pieces; `endFrame` returns its payload. */
	CONTROL: 5,
	/** A header that breaks a rule: `header.error`. */
	ERROR: 6,
	/** The memory of the chunk has been transferred. */
	DETACHED: 7
};

/** The bytes that must follow the first frame of a chunk to be worth a scan. */
const SCAN_FROM = 8;

/**
 * Finds the frames of a chunk and unmasks their payloads (RFC 6455 section 5.2). It keeps a frame
 * that the end of a chunk cut, and those of a scan that are not used yet. `position` is past a frame
 * before the caller sees it, who may stop at any time.
 */
class FrameReader {
	/** @param {number} mode MODE_MASKED and MODE_RSV1 @param {CodecBackend} backend */
	constructor(mode, backend) {
		this.mode = mode;
		this.chunk = null;
		this.position = 0;
		this.end = 0;
		/** Entries of a scan, see frame-table.js, that the caller has kept; or null. */
		this.entries = null;
		this._frame = null;
		this._backend = backend;
	}

	begin(chunk, length) {
		this.chunk = chunk;
		this.position = 0;
		this.end = length;
	}

	/** Forgets the chunk and the frame in progress. */
	forget() {
		this.chunk = null;
		this.entries = null;
		this.piece = null;
		this._frame = null;
	}

	get isDone() {
		return this.position === this.end && this.entries === null;
	}

	/** Replaces a borrowed chunk by a copy of the bytes that have not been used. */
	keepRest() {
		const { chunk, entries, position, end } = this;
		// Its caller has transferred it: `next` reports that.
		if (chunk[end - 1] === undefined) return;
		// One byte before the first payload, which may be empty: an empty Buffer can't reveal
		// detachment.
		const from = entries === null ? position : entries[1] - 1;
		if (entries !== null) moveEntries(entries, from);
		if (this.piece !== null) {
			this.piece.from -= from;
			this.piece.to -= from;
		}
		this.begin(copyOf(chunk, from, end), end - from);
		this.position = position - from;
	}

	/** @returns {number} one of Found. Something of the chunk must be left */
	next() {
		const { chunk, position, end } = this;
		if (this.entries !== null) return Found.FRAMES;
		if (chunk[end - 1] === undefined) return Found.DETACHED;
		if (this._frame !== null) return this._frame.header === null ? this.nextPiece() : this._resumeHeader(this._frame);
		// Most chunks hold one small frame, for which a scan takes 2 to 2.8 times as long as
		// `readFrame`.
		const frameEnd = position + 2 + (chunk[position + 1] & LENGTH) + ((this.mode & MODE_MASKED) === 0 ? 0 : 4);
		return end - frameEnd >= SCAN_FROM ? Found.FRAMES : this.readFrame();
	}

	readFrame() {
		const { chunk, position, end } = this;
		if (!readHeader(chunk, position, end, this.mode)) return this._resumeHeader(new PartialFrame());
		const payload = position + header.size;
		if (header.length <= end - payload) {
			this.position = payload + header.length;
			return Found.FRAME;
		}
		this.position = payload;
		return this._beginPayload(new PartialFrame());
	}

	/**
	 * Fills a table with the frames from `position` on, and unmasks them.
	 *
	 * @returns {number} where the entries end; 0 if there are none
	 */
	scan(table) {
		const end = this._backend.scan(this.chunk, this.position, this.mode, table) * ENTRY;
		if (end !== 0) this.position = table[end - 1];
		return end;
	}

	/**
	 * Unmasks the payload of a FRAME and makes a string of it.
	 *
	 * @returns {string | undefined} undefined unless it is known to be ASCII
	 */
	takeText() {
		const { length, key } = header;
		if ((this.mode & MODE_MASKED) === 0) return undefined;
		return this._backend.unmaskText(this.chunk, this.position - length, length, key);
	}

	/** Unmasks the payload of a FRAME where it lies, before `position`; true if known to be ASCII. */
	unmaskPayload() {
		const { length, key } = header;
		if ((this.mode & MODE_MASKED) === 0) return false;
		return this._backend.maskInPlace(this.chunk, this.position - length, length, key);
	}

	/** Copies and unmasks the payload of a FRAME; returns whether it is known to be ASCII. */
	copyPayload(target) {
		const { length, key } = header;
		return copyMasking(this._backend, this.chunk, this.position - length, target, 0, length, key);
	}

	/** The part of `next` for a frame whose payload comes in pieces; the piece may be empty. */
	nextPiece() {
		const frame = this._frame;
		if ((frame.firstByte & OPCODE) < Opcode.CLOSE) return Found.PIECE;
		frame.payload ??= Buffer.allocUnsafeSlow(frame.left);
		this.copyPiece(frame.payload, frame.payload.length - frame.left);
		return frame.left === 0 ? Found.CONTROL : Found.NOTHING;
	}

	get firstByte() {
		return this._frame.firstByte;
	}

	/** The bytes of the next piece. */
	get pieceLength() {
		return Math.min(this._frame.left, this.end - this.position);
	}

	/** The bytes of the frame's payload that have not been taken. */
	get left() {
		return this._frame.left;
	}

	/** Copies the next piece to `target[at]` while it is unmasked; true if known to be ASCII. */
	copyPiece(target, at) {
		const { position: start, pieceLength: length } = this;
		return copyMasking(this._backend, this.chunk, start, target, at, length, this._takePiece(length));
	}

	/** Unmasks the next piece where it lies, before `position`. */
	unmaskPiece() {
		const { position: start, pieceLength: length } = this;
		const key = this._takePiece(length);
		if (key !== 0) this._backend.maskInPlace(this.chunk, start, length, key);
	}

	/** Moves past a piece; returns the key for its first byte. */
	_takePiece(length) {
		const frame = this._frame;
		const { key } = frame;
		this.position += length;
		frame.left -= length;
		frame.key = advanceKey(key, length) | 0;
		return key;
	}

	/** Forgets the frame whose payload has been taken. Returns the payload of a CONTROL frame. */
	endFrame() {
		const { payload } = this._frame;
		this._frame = null;
		return payload;
	}

	_resumeHeader(frame) {
		const had = frame.headerLength;
		frame.addToHeader(this.chunk, this.position, this.end);
		if (readHeader(frame.header, 0, frame.headerLength, this.mode)) {
			this.position += header.size - had;
			return this._beginPayload(frame);
		}
		if (header.error !== null) return Found.ERROR;
		this._frame = frame;
		this.position = this.end;
		return Found.NOTHING;
	}

	_beginPayload(frame) {
		frame.beginPayload(header);
		this._frame = frame;
		return Found.HEADER;
	}
}

/** A frame that the end of a chunk cut, in its header or in its payload. */
class PartialFrame {
	constructor() {
		// The header's bytes so far; null once it is read.
		this.header = null;
		this.headerLength = 0;
		this.firstByte = 0;
		// Bytes of the payload that have not arrived.
		this.left = 0;
		// The masking key for the next byte of the payload; 0 if it is not masked.
		this.key = 0;
		// A control frame's payload so far. A data frame's is in its message.
		this.payload = null;
	}

	/** Adds the bytes of a chunk, which may go beyond the header. */
	addToHeader(chunk, start, end) {
		this.header ??= new Uint8Array(MAX_HEADER);
		const had = this.headerLength;
		const count = Math.min(MAX_HEADER - had, end - start);
		// For so few bytes a loop costs less than Buffer.prototype.copy.
		for (let i = 0; i < count; i++) this.header[had + i] = chunk[start + i];
		this.headerLength = had + count;
	}

	/** Ends the header, which has been read. */
	beginPayload({ firstByte, length, key }) {
		this.header = null;
		this.firstByte = firstByte;
		this.left = length;
		this.key = key;
	}
}

/**
 * The copy of a part of the chunk that handlers get views of, `from` to before `to`, while a pause
 * keeps entries. An own property of few.
 *
 * @type {{ bytes: Buffer, from: number, to: number } | null}
 */
FrameReader.prototype.piece = null;

module.exports = { Found, FrameReader };
