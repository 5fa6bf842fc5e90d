'use strict';

const { Readable } = require('../shared/node-modules').stream;
const { readWhole } = require('../shared/option-names');
const { nextTick } = require('../shared/ticks');

/**
 * The long messages of a connection as streams, one at a time. A stream keeps one part that its
 * reader has not taken: the connection is held meanwhile, and from the last part until the stream
 * has ended.
 */
class MessageStreams {
	/**
	 * @param {object} handlers `onStream(stream, isBinary)` announces a stream, `onRelease` is called
	 *   in a tick of its own when the connection may deliver again
	 */
	constructor({ onStream, onRelease }) {
		/** Whether the connection must not deliver more. */
		this.isHeld = false;
		this._onStream = onStream;
		this._onRelease = onRelease;
		// The stream of the message in progress, or one that is complete and has not ended.
		this._stream = null;
		this._isComplete = false;
		// Whether the reader has asked for more since the last part was given.
		this._hasDemand = false;
	}

	/** Adds the next part of the message in progress, or the first one of a new message. */
	add(bytes, isBinary, isLast) {
		const isFirst = this._stream === null;
		if (isFirst) this._begin();
		const stream = this._stream;
		this._isComplete = isLast;
		this._hasDemand = false;
		try {
			// A destroyed one discards the rest of its message.
			if (bytes.length !== 0 && !stream.destroyed) stream.push(bytes);
		} finally {
			if (isLast && !stream.destroyed) stream.push(null);
			try {
				if (isFirst) this._onStream(stream, isBinary);
			} finally {
				if (stream.destroyed) this._forgetComplete();
				else this.isHeld = isLast || (stream.readableLength !== 0 && !this._hasDemand);
			}
		}
	}

	/** Ends a stream whose message has not ended: by default, because its connection has. */
	fail(error = incompleteError()) {
		if (!this._isComplete) this._stream?.destroy(error);
	}

	_begin() {
		const stream = new Readable({
			highWaterMark: 1,
			read: () => this._demand(),
			destroy: (error, callback) => {
				this._end(stream);
				// Without a listener the peer could end the process. A reader that comes later sees that
				// the stream has not ended.
				callback(stream.listenerCount('error') === 0 ? null : error);
			}
		});
		// A later listener that throws keeps the stream from being destroyed.
		stream.once('end', () => this._end(stream));
		this._stream = stream;
	}

	/** A stream takes no more: its reader has all of it, or has destroyed it. */
	_end(stream) {
		// The one that it was is destroyed after its end.
		if (stream !== this._stream) return;
		this._release();
		this._forgetComplete();
	}

	_forgetComplete() {
		if (this._isComplete) this._stream = null;
	}

	_demand() {
		this._hasDemand = true;
		if (!this._isComplete) this._release();
	}

	_release() {
		if (!this.isHeld) return;
		this.isHeld = false;
		// The reader may have asked from a handler of the decoder.
		nextTick(this._onRelease);
	}
}

function incompleteError() {
	const error = new Error('The connection ended before the message');
	return Object.assign(error, { code: 'FRAMEMASK_ERR_INCOMPLETE' });
}

/** The option `streamFrom`; see ws.d.ts. */
const readStreamFrom = (options) => readWhole(options, 'streamFrom', 0, Infinity);

module.exports = { MessageStreams, readStreamFrom };
