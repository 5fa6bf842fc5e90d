'use strict';

const { Buffer, copyOf, lengthOf, toBytes, view } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');
const { headerSize, writeHeader } = require('./header');
const { showPublicState } = require('../shared/inspect');
const { FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');

// The content of a PreparedMessage, `{ frame: Buffer, length, deflated: Map | null }`; null for
// other values. `length` is the payload's; `deflated` has the same for each way to compress that a
// connection has asked for, and is null if the message is not to be compressed.
let framedMessage;

/**
 * A message framed once, for any number of connections. Its bytes are in a private field: no other
 * object passes for one. Only sinks and callers of `take` get them, and must not change them.
 */
class PreparedMessage {
	#framed;

	// `message.constructor` is public, so this takes no bytes that are a frame already.
	constructor(data, options) {
		const bytes = typeof data === 'string' ? Buffer.from(data) : toBytes('data', data);
		const length = lengthOf(bytes);
		const binary = options.binary ?? typeof data !== 'string';
		const firstByte = FIN | (options.rsv1 ? RSV1 : 0) | (binary ? Opcode.BINARY : Opcode.TEXT);
		const deflated = options.deflate && !options.rsv1 ? new Map() : null;
		this.#framed = { ...frameBytes(firstByte, bytes, length), deflated };
	}

	static {
		framedMessage = (value) => (typeof value === 'object' && value !== null && #framed in value ? value.#framed : null);
	}

	get frame() {
		return Buffer.from(this.#framed.frame);
	}

	get length() {
		return this.#framed.length;
	}

	/** ws's own `send` asks for it: by its length it would take the message for so many zeros. */
	valueOf() {
		const expected = 'a string or bytes (a message of prepare() is for Connection, Encoder and framemask/ws)';
		throw invalidType('data', expected, this);
	}
}

function frameBytes(firstByte, bytes, length) {
	const frame = Buffer.allocUnsafeSlow(headerSize(length, 0) + length);
	const payload = writeHeader(frame, 0, firstByte, length, 0);
	frame.set(bytes, payload);
	return { frame, length };
}

/**
 * The frame of a message for a connection that compresses: made for the first of those that
 * compress alike. The message as it is if it is not to be compressed, or does not shrink.
 */
function framedFor(framed, compression) {
	const { frame, length, deflated } = framed;
	// A sink may have transferred the memory.
	if (deflated === null || !compression.sharesFrom(length) || frame[0] === undefined) return framed;
	const { deflater } = compression;
	let made = deflated.get(deflater.kind);
	if (made === undefined) {
		const bytes = deflater.deflateAlone(view(frame, headerSize(length, 0), frame.length), length);
		made = bytes.length < length ? { ...frameBytes(frame[0] | RSV1, bytes, bytes.length), deflated: null } : framed;
		deflated.set(deflater.kind, made);
	}
	return made;
}

/** @returns {{ bytes: Buffer, binary: boolean }} a copy of the payload, to be framed anew */
function messageOf(message) {
	const { frame, length } = framedMessage(message);
	return { bytes: copyOf(frame, frame.length - length, frame.length), binary: (frame[0] & OPCODE) === Opcode.BINARY };
}

function prepare(data, options) {
	return new PreparedMessage(data, options ?? {});
}

showPublicState(PreparedMessage, ['length']);

module.exports = { framedFor, framedMessage, messageOf, prepare };
