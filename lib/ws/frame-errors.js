'use strict';

const { Buffer } = require('../shared/buffers');
const { FIN, MASK, OPCODE, Opcode } = require('../shared/protocol');
const { ws } = require('./internals');

/**
 * Frames that make ws's Receiver emit the error that it has for a FrameError: the bytes, and the
 * options of the Receiver, for each code. The Receiver is a client's by default, and takes no
 * masked frames.
 */
const BAD_FRAMES = {
	RESERVED_BITS: ({ firstByte }) => [[firstByte, 0]],
	OPCODE: ({ firstByte }) => [[firstByte, 0]],
	CONTROL_FRAGMENTED: ({ firstByte }) => [[firstByte, 0]],
	CONTROL_LENGTH: ({ firstByte, length }) => [[firstByte, length]],
	CLOSE_LENGTH: () => [[0x88, 1]],
	LENGTH: () => [[0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]],
	// ws looks at a control frame's length before its mask.
	MASK_MISSING: ({ firstByte, length }) => [[dataless(firstByte), length], { isServer: true }],
	MASK_UNWANTED: ({ firstByte, length }) => [[dataless(firstByte), MASK | length]],
	CONTINUATION: () => [[0x80, 0]],
	INTERLEAVED: ({ firstByte }) => [[0x01, 0, firstByte, 0]],
	MESSAGE_TOO_BIG: ({ length }) =>
		length > Number.MAX_SAFE_INTEGER ? BAD_FRAMES.LENGTH() : [[0x82, 2], { maxPayload: 1 }],
	TOO_MANY_FRAGMENTS: () => [[0x01, 0, 0x80, 0], { maxFragments: 1 }],
	UTF8: () => [[0x81, 1, 255]],
	CLOSE_CODE: ({ receivedCode }) => [[0x88, 2, receivedCode >> 8, receivedCode & 255]]
};

/** Codes that ws has since 8.21. */
const LATER_CODES = { FRAMEMASK_ERR_TOO_MANY_FRAGMENTS: 'WS_ERR_TOO_MANY_BUFFERED_PARTS' };

/** The first byte of a control frame, or of a message of one frame. */
const dataless = (firstByte) => ((firstByte & OPCODE) >= Opcode.CLOSE ? firstByte : FIN | Opcode.BINARY);

/**
 * The error of ws for an error of a Decoder: its class, message and `code`, and the close code.
 * ws itself makes it, from a frame that is wrong in the same way. With `inflates` RSV1 may be set.
 */
function toWsError(error, inflates = false) {
	const badFrame = BAD_FRAMES[error.code.slice('FRAMEMASK_ERR_'.length)];
	if (badFrame === undefined) return likeWs(error);
	const [bytes, options] = badFrame(error);
	// ws before 8.21 does not limit fragments.
	return receiverError(bytes, options, inflates) ?? likeWs(error);
}

/** The error that ws has for these bytes, if any. */
function receiverError(bytes, options = {}, inflates = false) {
	const extensions = inflates ? { 'permessage-deflate': {} } : {};
	let found;
	new ws.Receiver({ isServer: false, extensions, ...options })._write(Buffer.from(bytes), 'buffer', (error) => {
		found = error;
	});
	return found;
}

/** @returns {Error} the error of zlib, or an error that ws does not have, as one of ws */
function likeWs({ cause, code, closeCode, message }) {
	const template = receiverError([0x83, 0]);
	const error = cause ?? template;
	if (error === template) {
		error.message = `Invalid WebSocket frame: ${message}`;
		error.code = LATER_CODES[code] ?? code;
	}
	// ws keeps the close code under a symbol of its own.
	error[Object.getOwnPropertySymbols(template)[0]] = closeCode;
	return error;
}

module.exports = { toWsError };
