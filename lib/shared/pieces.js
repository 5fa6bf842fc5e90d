'use strict';

const { Buffer, EMPTY, join, view } = require('./buffers');

/** Smaller pieces are joined: `add` copies them. */
const SMALL = 4 * 1024;
/** The memory for small pieces has twice the bytes so far, from 1 to 16 KiB. */
const LEAST_ROOM = 1024;
const MOST_ROOM = 16 * 1024;

/**
 * Bytes that come in pieces, until `join`. Small ones are joined as they come: a Buffer takes 200
 * bytes and more, and keeps 8 KiB if it is of Node.js's pool.
 */
class Pieces {
	/** @param {(bytes: Buffer) => Buffer} own a larger piece in memory that nothing else is in */
	constructor(own) {
		this._own = own;
		this._length = 0;
		this._pieces = [];
		// Memory for small pieces: those in `_room[_start]` to `_room[_end - 1]` come after `_pieces`.
		this._room = EMPTY;
		this._start = 0;
		this._end = 0;
	}

	/** Adds bytes, whose memory is the caller's again. */
	add(bytes) {
		const { length } = bytes;
		this._length += length;
		if (length >= SMALL) {
			this._seal();
			this._pieces.push(this._own(bytes));
			return;
		}
		if (length > this._room.length - this._end) {
			this._seal();
			this._room = Buffer.allocUnsafeSlow(Math.min(Math.max(this._length * 2, LEAST_ROOM), MOST_ROOM));
			this._start = this._end = 0;
		}
		this._room.set(bytes, this._end);
		this._end += length;
	}

	/** @returns {Buffer} all bytes, in memory of their own */
	join() {
		// One that is not small is in memory of its own.
		if (this._pieces.length === 1 && this._room === EMPTY) return this._pieces[0];
		this._seal();
		return join(this._pieces);
	}

	_seal() {
		if (this._start === this._end) return;
		this._pieces.push(view(this._room, this._start, this._end));
		this._start = this._end;
	}
}

module.exports = { Pieces };
