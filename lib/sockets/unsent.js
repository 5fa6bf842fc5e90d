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

/** The bytes of a stream that the system has not taken, or else all that waits in the stream. */
const unsentBytes = (stream) => queueOf(stream) ?? stream.writableLength;

/**
 * Whether the system has taken bytes meanwhile. A handle's queue changes only then; a stream's
 * grows with each write.
 */
function hasSent(stream, before, now) {
	return before > 0 && (queueOf(stream) === undefined ? now < before : now !== before);
}

/**
 * Has a stream whose queue can't be seen, such as one of HTTP/2, take a long write in pieces, one
 * after the other: else `writableLength` falls once, at its end.
 */
function writeInPieces(stream) {
	if (queueOf(stream) !== undefined) return;
	const { write } = stream;
	// Pieces that wait together would leave together.
	stream._writev = null;
	stream.write = function (chunk, ...rest) {
		let start = 0;
		for (; chunk.length - start > PIECE; start += PIECE) write.call(this, chunk.subarray(start, start + PIECE));
		return write.call(this, start === 0 ? chunk : chunk.subarray(start), ...rest);
	};
}

module.exports = { hasSent, unsentBytes, writeInPieces };
