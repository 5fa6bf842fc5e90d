'use strict';

// The bytes of a stream's writes that have left: they tell that its peer reads.

/** The bytes of a piece: a peer that reads 64 KiB in a quarter of a heartbeat is seen to read. */
const PIECE = 64 * 1024;

/**
 * The bytes of a socket that the system has not taken; of TLS, those of the socket below it. These
 * properties of handles are not documented.
 */
function queueOf({ _handle: handle }) {
	return (handle?._parent ?? handle)?.writeQueueSize;
}

/** Tells whether the bytes that a stream has written leave it. */
class Unsent {
	constructor(stream) {
		this._stream = stream;
		this._waiting = 0;
		this._mark = 0;
		this._written = 0;
		if (queueOf(stream) === undefined) this._writeInPieces();
	}

	/** Whether the system has taken bytes since the last call, when some waited. */
	hasSent() {
		const { writableLength } = this._stream;
		const queue = queueOf(this._stream);
		// A handle's queue changes only then; what waits in a stream grows with each write, too.
		const mark = queue ?? this._written - writableLength;
		const hasSent = this._waiting > 0 && mark !== this._mark;
		this._mark = mark;
		this._waiting = queue ?? writableLength;
		return hasSent;
	}

	/**
	 * Has a stream whose queue can't be seen, such as one of HTTP/2, take a long write in pieces, one
	 * after the other: else `writableLength` falls once, at its end.
	 */
	_writeInPieces() {
		const unsent = this;
		const { write } = this._stream;
		// Pieces that wait together would leave together.
		this._stream._writev = null;
		this._stream.write = function (chunk, ...rest) {
			unsent._written += chunk.length;
			let start = 0;
			for (; chunk.length - start > PIECE; start += PIECE) write.call(this, chunk.subarray(start, start + PIECE));
			return write.call(this, start === 0 ? chunk : chunk.subarray(start), ...rest);
		};
	}
}

module.exports = { Unsent };
