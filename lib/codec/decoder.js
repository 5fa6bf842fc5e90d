'use strict';

const { Buffer, checkBytes, copyOf, lengthOf, view } = require('../shared/buffers');
const { showPublicState } = require('../shared/inspect');
const { checkOptions, readBoolean } = require('../shared/option-names');
const { MODE_MASKED, MODE_RSV1, OPCODE, Opcode, TEXT_MESSAGE } = require('../shared/protocol');
const { Queue } = require('../shared/queue');
const { codecBackend } = require('./backend');
const { CLOSED, Dispatcher, INFLATING, MUST_WAIT, PAUSED } = require('./dispatcher');
const { Found, FrameReader } = require('./frame-reader');
const { header } = require('./header');
const { readAgreement, readChoice } = require('./options');
const { dispatchScanned } = require('./scanned-frames');

/**
 * RFC 6455 from bytes to messages: see index.d.ts. A queue of chunks, and the loop: the FrameReader
 * finds a frame in the current chunk, the Dispatcher judges it and calls the handlers.
 *
 * Two options are internal. With `borrowed` a chunk is the caller's again when `write` returns:
 * bytes that a handler gets, or that are left then, are copied. `fragmentLengths` has a getter of
 * that name: the inflated length of each frame, while `onMessage` gets a message of several.
 */
class Decoder {
	/** @param {CodecBackend} [backend] for tests */
	constructor(options, backend = codecBackend) {
		const role = readChoice(checkOptions(options, 'Decoder'), 'role', ['server', 'client']);
		const agreement = readAgreement(options);
		const rsv1 = readBoolean(options, 'rsv1') || agreement !== null;
		const mode = (role === 'server' ? MODE_MASKED : 0) | (rsv1 ? MODE_RSV1 : 0);
		this._reader = new FrameReader(mode, backend);
		this._dispatcher = new Dispatcher(this, options, agreement);
		this._borrowed = readBoolean(options, 'borrowed');
		// For handlers: their `this` is the decoder.
		this.context = options.context;
		this._isRunning = false;
		// The chunks after the current one.
		this._queue = null;
	}

	get role() {
		return (this._reader.mode & MODE_MASKED) === 0 ? 'client' : 'server';
	}

	get closed() {
		return this._dispatcher.state === CLOSED;
	}

	get paused() {
		return (this._dispatcher.state & PAUSED) !== 0;
	}

	get framesRead() {
		return this._dispatcher.framesRead;
	}

	get inflating() {
		return (this._dispatcher.state & INFLATING) !== 0;
	}

	get fragmentLengths() {
		const { lengths } = this._dispatcher.assembler;
		return lengths?.length > 1 ? lengths : undefined;
	}

	write(chunk) {
		checkBytes('chunk', chunk);
		const { _reader: reader, _dispatcher: dispatcher } = this;
		if (dispatcher.state === CLOSED) return true;
		const length = lengthOf(chunk);
		if (length !== 0) {
			const isBuffer = typeof chunk.latin1Slice === 'function' && chunk.length === length;
			const bytes = isBuffer ? chunk : view(chunk, 0, length);
			const waits = reader.chunk !== null || this._isRunning;
			if (this._borrowed && !waits) return this._writeBorrowed(bytes, length);
			this._addChunk(this._borrowed ? copyOf(bytes, 0, length) : bytes, length);
		}
		this._run();
		return this._wantsMore;
	}

	get _wantsMore() {
		return this._dispatcher.state === 0 || this._dispatcher.state === CLOSED;
	}

	/** The part of `write` for a chunk that is the caller's again when it returns. */
	_writeBorrowed(chunk, length) {
		const reader = this._reader;
		reader.begin(chunk, length);
		try {
			this._run();
		} finally {
			if (reader.chunk === chunk) reader.keepRest();
		}
		return this._wantsMore;
	}

	pause() {
		const dispatcher = this._dispatcher;
		if (dispatcher.state !== CLOSED) dispatcher.state |= PAUSED;
	}

	resume() {
		const dispatcher = this._dispatcher;
		if (dispatcher.state !== CLOSED) dispatcher.state &= ~PAUSED;
		this._run();
	}

	stop() {
		this._dispatcher.close();
		this._forget();
	}

	/** Decodes the current chunk and those after it, unless a handler pauses or stops. */
	_run() {
		// `write` or `resume` in a handler: the loop below sees the change.
		if (this._isRunning) return;
		const { _reader: reader, _dispatcher: dispatcher } = this;
		this._isRunning = true;
		try {
			dispatcher.resume();
			while (reader.chunk !== null && dispatcher.state === 0) {
				if (reader.isDone) this._nextChunk();
				else this._decode(reader, dispatcher);
			}
		} finally {
			this._isRunning = false;
			if (dispatcher.state === CLOSED) this._forget();
			else if ((dispatcher.state & MUST_WAIT) !== 0) dispatcher.inflateLater(() => this._resumeAfterInflate());
		}
	}

	_decode(reader, dispatcher) {
		let found = reader.next();
		if (found === Found.FRAMES) {
			if (dispatchScanned(reader, dispatcher, this._borrowed)) return;
			found = reader.readFrame();
		}
		if (found === Found.FRAME) this._decodeFrame(reader, dispatcher);
		else if (found !== Found.NOTHING) this._decodePart(reader, dispatcher, found);
	}

	/** The part of `_decode` for a frame that the end of a chunk has cut, and for errors. */
	_decodePart(reader, dispatcher, found) {
		if (found === Found.PIECE) this._decodePiece(reader, dispatcher);
		else if (found === Found.HEADER) this._beginFrame(reader, dispatcher);
		else if (found === Found.CONTROL) this._decodeControl(reader, dispatcher);
		else if (found === Found.ERROR) this._failHeader(dispatcher);
		else dispatcher.failDetached();
	}

	_decodeFrame(reader, dispatcher) {
		const { firstByte, length } = header;
		if (!dispatcher.accepts(firstByte, length)) return;
		const isExposed = dispatcher.exposes(firstByte);
		if (isExposed && this._borrowed) {
			const own = Buffer.allocUnsafeSlow(length);
			dispatcher.dispatch(firstByte, own, 0, length, reader.copyPayload(own), false);
			return;
		}
		let ascii = false;
		if (isExposed || dispatcher.isTraced || firstByte !== TEXT_MESSAGE) {
			ascii = reader.unmaskPayload();
		} else {
			// One call unmasks and makes the string. Two would take 1.8 times as long.
			const text = reader.takeText();
			if (text !== undefined) {
				dispatcher.dispatchMessage(text, false);
				return;
			}
		}
		dispatcher.dispatch(firstByte, reader.chunk, reader.position - length, reader.position, ascii, false);
	}

	_beginFrame(reader, dispatcher) {
		const { firstByte, length } = header;
		if (!dispatcher.accepts(firstByte, length)) return;
		if ((firstByte & OPCODE) < Opcode.CLOSE) dispatcher.beginFrame(firstByte, length);
		if (length === 0 && dispatcher.state !== CLOSED) this._decodePart(reader, dispatcher, reader.nextPiece());
	}

	_decodePiece(reader, dispatcher) {
		const { assembler } = dispatcher;
		const { firstByte } = reader;
		if (assembler.message.stream !== null) {
			this._decodeInParts(reader, dispatcher);
			return;
		}
		const error = assembler.addPiece(reader);
		if (error !== null) {
			dispatcher.fail(error);
		} else if (reader.left === 0) {
			reader.endFrame();
			const { buffer, frameStart, length } = assembler.message;
			dispatcher.dispatch(firstByte, buffer, frameStart, length, false, true);
		}
	}

	/** The part of `_decodePiece` for a message that is delivered as its bytes arrive. */
	_decodeInParts(reader, dispatcher) {
		const { chunk, firstByte, pieceLength: length, position } = reader;
		let bytes;
		if (this._borrowed) {
			bytes = Buffer.allocUnsafeSlow(length);
			reader.copyPiece(bytes, 0);
		} else {
			bytes = view(chunk, position, position + length);
			reader.unmaskPiece();
		}
		const endsFrame = reader.left === 0;
		if (endsFrame) reader.endFrame();
		if (endsFrame || length !== 0) dispatcher.dispatchPart(firstByte, bytes, endsFrame);
	}

	_decodeControl(reader, dispatcher) {
		const { firstByte } = reader;
		const payload = reader.endFrame();
		dispatcher.dispatch(firstByte, payload, 0, payload.length, false, false);
	}

	_failHeader(dispatcher) {
		dispatcher.framesRead++;
		const { error, firstByte, length } = header;
		// The stack of an error keeps the decoder that it was made in, and its context.
		header.error = null;
		// A frame that must not come at all is a broken protocol, whatever its length.
		const place = error.closeCode === 1009 ? dispatcher.assembler.placeError(firstByte) : null;
		dispatcher.failFrame(place ?? error, firstByte, length);
	}

	_resumeAfterInflate() {
		const dispatcher = this._dispatcher;
		if (dispatcher.state === CLOSED) return;
		dispatcher.state &= ~INFLATING;
		const { held } = dispatcher;
		try {
			this._run();
		} finally {
			if (!dispatcher.isStillCollecting(held)) dispatcher.announceInflated();
		}
	}

	_forget() {
		this._reader.forget();
		this._queue = null;
	}

	_addChunk(chunk, length) {
		if (this._reader.chunk === null) {
			this._reader.begin(chunk, length);
		} else {
			this._queue ??= new Queue();
			this._queue.push(chunk);
		}
	}

	_nextChunk() {
		const next = this._queue === null ? null : this._queue.shift();
		// A chunk that was detached in the queue is empty. A length of 1 makes the reader notice.
		if (next !== null) this._reader.begin(next, Math.max(lengthOf(next), 1));
		else this._reader.chunk = this._queue = null;
	}
}

showPublicState(Decoder, ['role', 'closed', 'paused', 'framesRead']);

module.exports = { Decoder };
