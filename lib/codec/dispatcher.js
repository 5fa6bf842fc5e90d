'use strict';

const { Buffer, rangeOf, view } = require('../shared/buffers');
const { FrameError, detachedError, invalidState, utf8Error } = require('../shared/errors');
const { FIN, NO_STATUS, OPCODE, Opcode, isWhole } = require('../shared/protocol');
const { isTraced, showPayload, traceError, traceFrame, traceMessage } = require('../tracing');
const { readBoolean } = require('../shared/option-names');
const { findCloseError } = require('./close-frame');
const { MessageAssembler } = require('./message-assembler');
const { readHandler, readTrace } = require('./options');

// Handlers are methods of the decoder, their `this`. `handler.call(decoder)` would take 6 ns
// longer.
const kOnMessage = Symbol('onMessage');
const kOnPart = Symbol('onPart');
const kOnFrame = Symbol('onFrame');
const kOnPing = Symbol('onPing');
const kOnPong = Symbol('onPong');
const kOnClose = Symbol('onClose');
const kOnError = Symbol('onError');
const kOnInflated = Symbol('onInflated');

/** The bits of `state`: why nothing is dispatched. */
const PAUSED = 1;
/** A frame is in zlib's thread pool, or waits for another turn of the event loop. */
const INFLATING = 2;
const CLOSED = 4;
/** INFLATING, but `inflateLater` is not called yet. */
const MUST_WAIT = 8;

/**
 * Takes each complete frame to the MessageAssembler, publishes its trace records, and calls the
 * handler. If a subscriber pauses or stops the decoder, the handler is called later, or never.
 */
class Dispatcher {
	/**
	 * @param {object} decoder the `this` of handlers
	 * @param {boolean} [sync] whether zlib works synchronously: for tests
	 */
	constructor(decoder, options, agreement, sync) {
		this.assembler = new MessageAssembler(options);
		/** 0 while frames are dispatched. */
		this.state = 0;
		/** Whether there are subscribers: set by `resume`. */
		this.isTraced = false;
		/** The number of frames so far: of each, the header at least. */
		this.framesRead = 0;
		this._decoder = decoder;
		decoder[kOnMessage] = readHandler(options, 'onMessage');
		decoder[kOnFrame] = readHandler(options, 'onFrame');
		decoder[kOnPing] = readHandler(options, 'onPing');
		decoder[kOnPong] = readHandler(options, 'onPong');
		decoder[kOnClose] = readHandler(options, 'onClose');
		decoder[kOnError] = readHandler(options, 'onError');
		// Few Decoders have these, and the option `trace`: no property for the others.
		const onInflated = readHandler(options, 'onInflated');
		const onPart = readHandler(options, 'onPart');
		if (onInflated !== undefined) decoder[kOnInflated] = onInflated;
		if (onPart !== undefined) decoder[kOnPart] = onPart;
		this._checkHandlers(readBoolean(options, 'rsv1'), agreement);
		if ((decoder[kOnMessage] ?? decoder[kOnPart] ?? decoder[kOnFrame]) === undefined && !hasWarned)
			warnWithoutHandlers(decoder);
		// For tracing: the connection in records.
		const connection = readTrace(options);
		if (connection !== null) this._connection = connection;
		// A step that a pause has interrupted: a PartStream, or the frame or message of `_proceed`.
		this._held = null;
		/** An Inflater; null without compression. */
		this._inflater = null;
		if (agreement !== null) this._inflater = agreement.createInflater(decoder.role, this.hasOnPart, sync);
	}

	get hasOnMessage() {
		return this._decoder[kOnMessage] !== undefined;
	}

	get hasOnFrame() {
		return this._decoder[kOnFrame] !== undefined;
	}

	get hasOnPart() {
		return this._decoder[kOnPart] !== undefined;
	}

	/** onFrame gets the frames of an extension as they are, of which no message is made. */
	_checkHandlers(rsv1, agreement) {
		if (!rsv1 && !this.hasOnFrame) return;
		const excluded = (name, other) => invalidState(`${name} and ${other} exclude each other`);
		for (const [name, isGiven] of [
			['onMessage', this.hasOnMessage],
			['onPart', this.hasOnPart],
			['deflate', agreement !== null]
		]) {
			if (isGiven && this.hasOnFrame) throw excluded(name, 'onFrame');
			if (isGiven && rsv1) throw excluded(name, 'rsv1');
		}
	}

	/**
	 * Whether a handler may see the bytes of a frame: not those of text that becomes a string, and not
	 * those of a fragment, which its message copies.
	 */
	exposes(firstByte) {
		if (this.hasOnPart) return true;
		if (this.assembler.becomesString(firstByte)) return false;
		return isWhole(firstByte) || this.isTraced || this.hasOnFrame || this._deflates(firstByte);
	}

	/** Begins or goes on: first with the step that a pause has interrupted. */
	resume() {
		this.isTraced = isTraced(this._connection);
		const held = this._held;
		if (held === null) return;
		this._held = null;
		this._proceed(held);
	}

	/**
	 * Calls the handlers of a step, or keeps it while nothing is dispatched.
	 *
	 * @param {PartStream | { firstByte: number, data: string | Buffer, length: number }} step
	 *   `length` in bytes
	 */
	_proceed(step) {
		const { firstByte, data, length } = step;
		if (this.state !== 0) {
			if (this.state !== CLOSED) this._held = step;
		} else if (data === undefined) {
			this._giveParts(step);
		} else if (length !== 0 && data[0] === undefined) {
			// A subscriber, or the program during a pause, has transferred the memory.
			this.failDetached();
		} else if (this._isPassed(firstByte)) {
			this._giveFrame(firstByte, data);
		} else {
			this._give(data, firstByte, length);
		}
	}

	/** Whether a frame is not added to a message. */
	_isPassed(firstByte) {
		return this.hasOnFrame || (firstByte & OPCODE) >= Opcode.CLOSE;
	}

	close() {
		this.state = CLOSED;
		this.assembler.message = null;
		this._held = null;
		this._inflater?.close();
	}

	/** Counts a frame, and judges it by its header. Returns false if it breaks a rule. */
	accepts(firstByte, length) {
		this.framesRead++;
		const error = this.assembler.judge(firstByte, length);
		if (error !== null) this.failFrame(error, firstByte, length);
		return error === null;
	}

	failFrame(error, firstByte, length) {
		error.firstByte = firstByte;
		error.length = length;
		this.fail(error);
	}

	/** Ends the dispatching, and reports the FrameError that says why. */
	fail(error) {
		this.close();
		if (this.isTraced) traceError(this._traceSource, error);
		if (this._decoder[kOnError] === undefined) throw error;
		this._decoder[kOnError](error);
	}

	failDetached() {
		this.fail(detachedError());
	}

	/** A message without compression, of one frame, which no subscriber sees. */
	dispatchMessage(data, isBinary) {
		this._decoder[kOnMessage]?.(data, isBinary);
	}

	/** A data frame, which no subscriber sees, for a decoder that has `onFrame`. */
	dispatchFrame(firstByte, bytes, start, end) {
		this._decoder[kOnFrame](firstByte, bytes, start, end);
	}

	/**
	 * A complete frame. `bytes[start]` to `bytes[end - 1]` is its payload, unmasked; `ascii`: known
	 * to be ASCII; `gathered`: the payload is in its message already.
	 */
	dispatch(firstByte, bytes, start, end, ascii, gathered) {
		if (this.isTraced && !this._traceFrame(firstByte, bytes, start, end)) return;
		if (this._isPassed(firstByte)) {
			this._passFrame(firstByte, bytes, start, end, gathered);
		} else {
			this._addFrame(firstByte, bytes, start, end, ascii, gathered);
		}
	}

	/** @returns {boolean} false if a subscriber has stopped the decoder, or transferred the memory */
	_traceFrame(firstByte, bytes, start, end) {
		// A Buffer that is empty can't reveal it.
		const isEmpty = bytes[0] === undefined;
		showPayload(bytes, start, end);
		traceFrame(this._traceSource, firstByte, end - start);
		if (this.state === CLOSED) return false;
		if (isEmpty || bytes[0] !== undefined) return true;
		this.failDetached();
		return false;
	}

	/** The part of `dispatch` for frames that are not added to a message. */
	_passFrame(firstByte, bytes, start, end, gathered) {
		const isControl = (firstByte & OPCODE) >= Opcode.CLOSE;
		const message = isControl ? null : this.assembler.skip(firstByte, end - start, gathered);
		if (!isControl && !this.isTraced) {
			this.dispatchFrame(firstByte, bytes, start, end);
			return;
		}
		const data = rangeOf(bytes, start, end);
		if (this.isTraced && !isControl && (firstByte & FIN) !== 0) {
			traceMessage(this._traceSource, message.firstByte, message.skipped, message.fragments);
		}
		this._proceed({ firstByte, data, length: end - start });
	}

	/**
	 * Gives a frame to `onFrame`, and a control frame to its handler: even if `onFrame` throws or
	 * pauses, so that none is lost.
	 */
	_giveFrame(firstByte, data) {
		const isControl = (firstByte & OPCODE) >= Opcode.CLOSE;
		const { length } = data;
		try {
			// An empty Buffer can't reveal that it has been transferred.
			if (this.hasOnFrame) this.dispatchFrame(firstByte, length === 0 ? Buffer.allocUnsafeSlow(0) : data, 0, length);
		} finally {
			if (isControl && this.state !== CLOSED) {
				if (data.length !== length) this.failDetached();
				else this._dispatchControl(firstByte, data);
			}
		}
	}

	/** Adds a data frame to its message, and dispatches the message that it completes. */
	_addFrame(firstByte, bytes, start, end, ascii, gathered) {
		const { assembler } = this;
		if (assembler.message === null && (firstByte & FIN) !== 0) {
			if (this._deflates(firstByte)) this._addWhole(firstByte, view(bytes, start, end));
			else this._useWhole(firstByte, bytes, start, end, ascii);
		} else if (this._deflates(firstByte) || (!gathered && assembler.comesInParts(firstByte, end - start))) {
			if (!gathered) assembler.beginFrame(firstByte);
			this._addParts(firstByte, view(bytes, start, end), true);
		} else {
			this._take(gathered ? assembler.endFrame(firstByte) : assembler.add(firstByte, bytes, start, end, ascii));
		}
	}

	/** A message of one frame, without compression. */
	_useWhole(firstByte, bytes, start, end, ascii) {
		const data = this.assembler.decode(firstByte, bytes, start, end, ascii);
		if (data === undefined) this.fail(utf8Error());
		else this._dispatchMessage(data, firstByte, end - start, 1);
	}

	get _traceSource() {
		this._connection ??= {};
		return { role: this._decoder.role, isSender: false, sequence: this.framesRead, connection: this._connection };
	}

	/** @param {FrameError | PartialMessage | null} result of the assembler */
	_take(result) {
		if (result instanceof FrameError) this.fail(result);
		else if (result !== null) this._dispatchMessage(result.take(), result.firstByte, result.length, result.fragments);
	}

	_dispatchControl(firstByte, payload) {
		const opcode = firstByte & OPCODE;
		if (opcode === Opcode.CLOSE) this._dispatchClose(payload);
		else if (opcode === Opcode.PING) this._decoder[kOnPing]?.(payload);
		else this._decoder[kOnPong]?.(payload);
	}

	_dispatchClose(payload) {
		const error = findCloseError(payload, this.assembler.validates);
		if (error !== null) {
			this.fail(error);
			return;
		}
		// "After sending a control frame indicating the connection should be closed, ... any further
		// data received" is discarded (RFC 6455 section 1.4).
		this.close();
		const { length } = payload;
		// On Deno utf8Slice(2) of an empty payload throws.
		if (length === 0) this._decoder[kOnClose]?.(NO_STATUS, '', Buffer.allocUnsafeSlow(0));
		else {
			const [code, reason] = [payload.readUInt16BE(0), payload.subarray(2)];
			this._decoder[kOnClose]?.(code, payload.utf8Slice(2, length), reason);
		}
	}

	_dispatchMessage(data, firstByte, length, fragments) {
		if (!this.isTraced) {
			this._give(data, firstByte, length);
			return;
		}
		traceMessage(this._traceSource, firstByte, length, fragments);
		// An empty Buffer can't reveal detachment.
		const own = length === 0 && typeof data !== 'string' ? Buffer.allocUnsafeSlow(0) : data;
		this._proceed({ firstByte, data: own, length });
	}

	_deflates(firstByte) {
		return this._inflater !== null && this.assembler.hasRsv1(firstByte);
	}

	/**
	 * Begins a data frame whose payload comes in pieces. If its message is delivered in parts from
	 * now on, the bytes that have been gathered are the first part.
	 */
	beginFrame(firstByte, length) {
		const { assembler } = this;
		const inParts = assembler.comesInParts(firstByte, length);
		assembler.beginFrame(firstByte);
		if (inParts && assembler.message.stream === null) {
			this._giveParts(this._beginParts(firstByte));
		}
	}

	_beginParts(firstByte) {
		return this.assembler.beginParts(this._deflates(firstByte) ? this._inflater : null);
	}

	/** The next bytes of a frame that is delivered in parts; `endsFrame`: its last ones. */
	dispatchPart(firstByte, bytes, endsFrame) {
		const { message } = this.assembler;
		const { length } = bytes;
		message.frameStart += length;
		if (endsFrame && this.isTraced) traceFrame(this._traceSource, firstByte, message.frameStart);
		if (this.state === CLOSED) return;
		if (length !== 0 && bytes[0] === undefined) this.failDetached();
		else this._addParts(firstByte, bytes, endsFrame);
	}

	_addParts(firstByte, bytes, endsFrame) {
		const { assembler } = this;
		const { message } = assembler;
		const stream = message.stream ?? this._beginParts(firstByte);
		const isLast = endsFrame && (firstByte & FIN) !== 0;
		assembler.countBytes(bytes.length, isLast);
		stream.add(bytes, endsFrame, isLast);
		if (isLast && this.isTraced) {
			traceMessage(this._traceSource, message.firstByte, message.skipped, message.fragments);
		}
		this._proceed(stream);
	}

	/** `_addParts` of a compressed message of one frame: a PartialMessage would take 100 ns. */
	_addWhole(firstByte, bytes) {
		const stream = this.assembler.createStream(firstByte, this._inflater);
		stream.add(bytes, true, true);
		if (this.isTraced) traceMessage(this._traceSource, firstByte, bytes.length, 1);
		this._proceed(stream);
	}

	/** Delivers a stream's bytes, in parts or as a message, unless a handler pauses or stops. */
	_giveParts(stream) {
		while (this.state === 0) {
			let part;
			try {
				part = stream.next();
			} catch (error) {
				this.fail(error);
				return;
			}
			if (part === null) {
				if (!stream.mustWait) return;
				this._held = stream;
				this.state = INFLATING | MUST_WAIT;
				return;
			}
			// If a handler throws, the parts after its own are still delivered.
			this._held = stream;
			this.assembler.lengths = stream.lengths;
			if (stream.isWhole) this._give(part, stream.firstByte, 0);
			else this._decoder[kOnPart](part, (stream.firstByte & OPCODE) === Opcode.BINARY, stream.hasEnded);
			if (this.state === 0) this._held = null;
		}
	}

	/** Has the held stream inflated elsewhere, and then calls back; after `close`, maybe not. */
	inflateLater(callback) {
		this.state &= ~MUST_WAIT;
		this._held.wait(callback);
	}

	/** The stream of the message that is being delivered, or waits. */
	get held() {
		return this._held;
	}

	/** Whether a message has come in pieces and waits again, so that nothing has been delivered. */
	isStillCollecting(stream) {
		return (this.state & INFLATING) !== 0 && this._held === stream && stream.isCollecting;
	}

	/** Tells the program that the inflating that `inflateLater` began has ended. */
	announceInflated() {
		this._decoder[kOnInflated]?.();
	}

	/** @param {number} length in bytes, which decides whether it is a message or its only part */
	_give(data, firstByte, length) {
		const isBinary = (firstByte & OPCODE) === Opcode.BINARY;
		if (length >= this.assembler.partsFrom) {
			this._decoder[kOnPart](data, isBinary, true);
			return;
		}
		try {
			this._decoder[kOnMessage]?.(data, isBinary);
		} finally {
			this.assembler.lengths = undefined;
		}
	}
}

let hasWarned = false;

/** Once: handlers that are assigned to a Decoder, instead of given as options, are never called. */
function warnWithoutHandlers(decoder) {
	if ([kOnPing, kOnPong, kOnClose, kOnError].some((key) => decoder[key] !== undefined) || isTraced()) return;
	hasWarned = true;
	process.emitWarning('A Decoder without handlers delivers nothing: give the constructor onMessage or others');
}

module.exports = { CLOSED, Dispatcher, INFLATING, MUST_WAIT, PAUSED };
