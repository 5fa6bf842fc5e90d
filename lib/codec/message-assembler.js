'use strict';

const { buffer } = require('../shared/node-modules');

const { rangeOf, view } = require('../shared/buffers');
const { FrameError, invalidChoice, utf8Error } = require('../shared/errors');
const { readBoolean, readWhole } = require('../shared/option-names');
const { FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { readChoice } = require('./options');
const { PartStream } = require('./part-stream');
const { PartialMessage } = require('./partial-message');
const { decodeText } = require('../shared/utf8');

const { constants, isUtf8 } = buffer;
const { MAX_LENGTH, MAX_STRING_LENGTH: MAX_STRING } = constants;

/**
 * Makes messages of data frames, in their order: the rules of fragmentation, the limits, UTF-8, and
 * the bytes of a message in progress.
 */
class MessageAssembler {
	constructor(options) {
		const limit = readWhole(options, 'maxPayload', 0, Infinity, 100 * 1024 * 1024);
		// Memory holds no more than MAX_LENGTH.
		this.maxPayload = Math.min(limit, MAX_LENGTH);
		const parts = readParts(options, limit);
		// Few Decoders have them: no property for the others.
		if (parts !== null) this._parts = parts;
		this._maxFragments = readWhole(options, 'maxFragments', 1, Infinity, 16 * 1024);
		const text = readText(options);
		this._text = options.onFrame === undefined || text === UNCHECKED ? text : FRAMES;
		this._countsFragments = readBoolean(options, 'fragmentLengths');
		/** The lengths of a message's fragments, if they are wanted, until it has been delivered. */
		this.lengths = undefined;
		this.message = null;
		/** The length of the message that begins next, if all its frames have arrived; otherwise 0. */
		this.arrived = 0;
	}

	/** Whether text must be UTF-8. */
	get validates() {
		return this._text !== UNCHECKED;
	}

	/** Whether text becomes a string. */
	get makesStrings() {
		return this._text === 'string';
	}

	/** The most bytes of a message that becomes a string. */
	get maxString() {
		return Math.min(this.maxPayload, MAX_STRING);
	}

	/** Whether a frame with this first byte, a message of its own, becomes a string. */
	becomesString(firstByte) {
		return this.makesStrings && isText(firstByte);
	}

	/**
	 * Judges a frame by its header, before its payload is kept.
	 *
	 * @returns {FrameError | null} the rule that it breaks
	 */
	judge(firstByte, length) {
		// A message of one frame, as most are, breaks none of the rules if it is short enough.
		const isFirst = this.message === null && (firstByte & OPCODE) !== Opcode.CONTINUATION;
		if (isFirst && length <= this.maxPayload && length <= MAX_STRING) return null;
		if ((firstByte & OPCODE) >= Opcode.CLOSE) return null;
		return this.placeError(firstByte) ?? this._limitError(firstByte, length);
	}

	/**
	 * A continuation frame needs a message in progress, another data frame none (RFC 6455 section
	 * 5.4).
	 *
	 * @returns {FrameError | null} why a data frame can't come now
	 */
	placeError(firstByte) {
		const continues = (firstByte & OPCODE) === Opcode.CONTINUATION;
		if (this.message === null && continues) {
			return new FrameError('CONTINUATION', 1002, 'Unexpected continuation frame');
		}
		if (this.message !== null && !continues) {
			return new FrameError('INTERLEAVED', 1002, 'New message started before the previous one finished');
		}
		return null;
	}

	_limitError(firstByte, length) {
		const { message } = this;
		const isString = message === null ? this.becomesString(firstByte) : message.isString;
		let most = isString ? this.maxString : this.maxPayload;
		if (this.comesInParts(firstByte, length)) most = this._parts.limit;
		if (length > most - (message === null ? 0 : message.length + message.skipped)) {
			return new FrameError('MESSAGE_TOO_BIG', 1009, `A message is longer than ${most} bytes`);
		}
		if (message !== null && message.fragments >= this._maxFragments) {
			return new FrameError('TOO_MANY_FRAGMENTS', 1008, `A message has more than ${this._maxFragments} fragments`);
		}
		return null;
	}

	/** The length in bytes from which a message is delivered in parts. */
	get partsFrom() {
		return this._parts === null ? Infinity : this._parts.from;
	}

	/**
	 * Whether the message in progress, or a new one, is delivered in parts once it has a further
	 * frame of this length. Compressed ones are, because they may inflate to any length.
	 */
	comesInParts(firstByte, length) {
		if (this._parts === null) return false;
		const before = this.message === null ? 0 : this.message.length + this.message.skipped;
		return before + length >= this._parts.from || (this._parts.inflates && this.hasRsv1(firstByte));
	}

	/**
	 * Has the frames of the message in progress go through a PartStream from now on: with the bytes that
	 * have been gathered, if it is not compressed (`inflater` is null).
	 */
	beginParts(inflater) {
		const { message } = this;
		message.stream = this.createStream(message.firstByte, inflater);
		if (inflater !== null) return message.stream;
		if (message.length !== 0) message.stream.add(view(message.buffer, 0, message.length), false, false);
		message.skip(message.length);
		message.frameStart = 0;
		this.lengths = undefined;
		return message.stream;
	}

	/** @returns {PartStream} of a message that begins with this byte */
	createStream(messageByte, inflater) {
		const firstByte = inflater === null ? messageByte : messageByte & ~RSV1;
		const text = this.validates && isText(firstByte) ? this._text : null;
		let limit = this.becomesString(firstByte) ? this.maxString : this.maxPayload;
		if (this._parts !== null) limit = this._parts.limit;
		return new PartStream(firstByte, text, inflater, limit, this.partsFrom, this._countsFragments);
	}

	/** Counts bytes that the message in progress does not keep; `isLast`: they end it. */
	countBytes(length, isLast) {
		this.message.skip(length);
		if (isLast) this.message = null;
	}

	/**
	 * The data of a message in one piece, `bytes[start]` to `bytes[end - 1]`; `ascii` says that it is
	 * known to be ASCII.
	 *
	 * @returns {string | Uint8Array | undefined} undefined if it is text that is not UTF-8
	 */
	decode(firstByte, bytes, start, end, ascii) {
		if (!isText(firstByte)) return rangeOf(bytes, start, end);
		if (this.makesStrings) return decodeText(bytes, start, end, ascii);
		const data = rangeOf(bytes, start, end);
		return ascii || !this.validates || isUtf8(data) ? data : undefined;
	}

	/** Begins a frame whose payload comes in pieces, of the message in progress or of a new one. */
	beginFrame(firstByte) {
		this.message ??= this._createMessage(firstByte);
		this.message.beginFrame();
	}

	/**
	 * Adds a frame, unmasked.
	 *
	 * @returns {FrameError | PartialMessage | null} the message that it completes
	 */
	add(firstByte, bytes, start, end, ascii) {
		this.beginFrame(firstByte);
		return (
			this.message.append(bytes, start, end, (firstByte & FIN) !== 0, ascii, this.maxPayload) ??
			this.endFrame(firstByte)
		);
	}

	/** Adds the next piece of the frame that a FrameReader has begun. */
	addPiece(reader) {
		const error = this.message.appendPiece(reader, this.maxPayload);
		if (error !== null || reader.left === 0 || this.message.validate(false)) return error;
		return utf8Error();
	}

	/**
	 * Whether a data frame belongs to a message with RSV1, which begins with it or is in progress.
	 */
	hasRsv1(firstByte) {
		return ((this.message === null ? firstByte : this.message.firstByte) & RSV1) !== 0;
	}

	/**
	 * Counts a frame whose bytes the caller uses, and forgets those that have been gathered;
	 * `gathered`: `beginFrame` has begun it.
	 *
	 * @returns {PartialMessage} its message, without bytes
	 */
	skip(firstByte, length, gathered) {
		if (!gathered) this.beginFrame(firstByte);
		const { message } = this;
		this.countBytes(length, (firstByte & FIN) !== 0);
		return message;
	}

	/**
	 * Ends a frame whose pieces have been added.
	 *
	 * @returns {FrameError | PartialMessage | null} the message that it completes
	 */
	endFrame(firstByte) {
		const { message } = this;
		const isLast = (firstByte & FIN) !== 0;
		if (!message.validate(isLast)) return utf8Error();
		if (this._countsFragments) {
			this.lengths ??= [];
			this.lengths.push(message.length - message.frameStart);
		}
		if (!isLast) return null;
		this.message = null;
		return message;
	}

	_createMessage(firstByte) {
		const message = new PartialMessage(firstByte, this.arrived);
		this.arrived = 0;
		message.isString = this.becomesString(firstByte);
		message.isValidated = this._text !== FRAMES && this.validates && isText(firstByte);
		return message;
	}
}

/** For messages in parts: null without. */
MessageAssembler.prototype._parts = null;

/** The form of text: 'string', 'buffer', bytes that are not validated, or frames for `onFrame`. */
const UNCHECKED = 'unchecked';
const FRAMES = 'frames';

function readText(options) {
	const text = readChoice(options, 'text', ['string', 'buffer'], 'string');
	if (!readBoolean(options, 'skipUTF8Validation')) return text;
	if (text === 'string') throw invalidChoice('skipUTF8Validation', "text: 'buffer'");
	return UNCHECKED;
}

function readParts(options, limit) {
	const from = readWhole(options, 'partsFrom', 0, Infinity, 0);
	return options.onPart === undefined ? null : { from, limit, inflates: (options.deflate ?? null) !== null };
}

/**
 * Whether a message must be UTF-8, by its first byte. With RSV1 its bytes are those of an
 * extension.
 */
function isText(firstByte) {
	return (firstByte & (OPCODE | RSV1)) === Opcode.TEXT;
}

module.exports = { MessageAssembler };
