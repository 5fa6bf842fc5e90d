'use strict';

// The numbers of RFC 6455.

/** The first byte of a frame (section 5.2). */
const FIN = 0x80;
const RSV1 = 0x40;
const RSV = 0x70;
const OPCODE = 0x0f;
/** The bit of an opcode that control frames have. */
const CONTROL = 0x08;

/** The second byte of a frame (section 5.2). */
const MASK = 0x80;
const LENGTH = 0x7f;

/** Opcodes (section 5.2); control frames are those from 8 on. */
const Opcode = { CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 };

/** The first bytes of messages of one frame. */
const TEXT_MESSAGE = FIN | Opcode.TEXT;
const BINARY_MESSAGE = FIN | Opcode.BINARY;

/** The longest payload of a control frame (section 5.5), and without an extended length. */
const MAX_SHORT = 125;

/** The longest header: two bytes, eight of length, four of key. */
const MAX_HEADER = 14;

/** The mode of a scan, and its flags beside a frame's first byte; src/scan.h has the same. */
const MODE_MASKED = 0x80;
const MODE_RSV1 = 0x40;
const NON_ASCII = 0x100;

/** The code of a Close frame without a code (section 7.1.5); it is never sent. */
const NO_STATUS = 1005;
/**
 * "If ... no Close control frame was received by the endpoint ..., _The WebSocket Connection Close
 * Code_ is considered to be 1006" (section 7.1.5).
 */
const ABNORMAL = 1006;

/**
 * Whether a frame can begin with this byte: a known opcode, no fragmented control frame, RSV bits as
 * negotiated (sections 5.2, 5.4, 5.5). lib/codec/header.js tells which rule is broken.
 *
 * @param {number} mode MODE_RSV1 if an extension that uses the bit has been negotiated
 */
function acceptsFirstByte(byte, mode) {
	const opcode = byte & OPCODE;
	if (((0x0707 >> opcode) & 1) === 0) return false;
	if (opcode >= Opcode.CLOSE) return (byte & (FIN | RSV)) === FIN;
	if ((byte & RSV) === 0) return true;
	return (byte & RSV) === RSV1 && opcode !== Opcode.CONTINUATION && (mode & MODE_RSV1) !== 0;
}

/**
 * Whether an endpoint may send a close code (section 7.4; IANA has registered 1012 to 1014 since).
 */
function isSendableCloseCode(code) {
	if (!Number.isInteger(code) || code < 1000 || code > 4999) return false;
	if (code < 3000) return code <= 1014 && (code < 1004 || code > 1006);
	return true;
}

/** Whether a frame is not a fragment. */
const isWhole = (firstByte) => (firstByte & FIN) !== 0 && (firstByte & OPCODE) !== Opcode.CONTINUATION;

module.exports = {
	ABNORMAL,
	BINARY_MESSAGE,
	CONTROL,
	FIN,
	LENGTH,
	MASK,
	MAX_HEADER,
	MAX_SHORT,
	MODE_MASKED,
	MODE_RSV1,
	NON_ASCII,
	NO_STATUS,
	OPCODE,
	Opcode,
	RSV,
	RSV1,
	TEXT_MESSAGE,
	acceptsFirstByte,
	isSendableCloseCode,
	isWhole
};
