'use strict';

const { checkBytes, lengthOf } = require('../shared/buffers');
const { FrameError, invalidType, outOfRange } = require('../shared/errors');
const protocol = require('../shared/protocol');

const { LENGTH, MASK, MAX_SHORT, MODE_MASKED, MODE_RSV1, OPCODE, Opcode, RSV, acceptsFirstByte } = protocol;

/**
 * The header read last, in one object for all calls. `key` is signed, its first byte in the lowest
 * eight bits, 0 for none; `size` is the header's size in bytes; `error` is a FrameError or null.
 * `length` is null before its first byte, and 126 or 127 before the bytes that it announces.
 */
const header = { firstByte: 0, length: 0, key: 0, size: 0, error: null };

/**
 * Reads a frame's header into `header`, and checks each part as soon as it is there. `end` is
 * greater than `position`; `mode` has MODE_MASKED and MODE_RSV1. Returns whether it is complete and
 * valid; if it is incomplete, `header.error` is null.
 */
function readHeader(bytes, position, end, mode) {
	header.error = null;
	const firstByte = bytes[position];
	header.firstByte = firstByte;
	header.length = null;
	if (!acceptsFirstByte(firstByte, mode)) return refuse(firstByteError(firstByte, bytes, position, end));
	if (end - position < 2) return false;

	const secondByte = bytes[position + 1];
	const maskBit = mode & MODE_MASKED;
	let length = secondByte & LENGTH;
	let size = 2;
	header.length = length;
	if ((secondByte & MASK) !== maskBit) return refuse(maskError(maskBit));
	if (length > MAX_SHORT) {
		// "All control frames MUST have a payload length of 125 bytes or less" (RFC 6455 section 5.5).
		if ((firstByte & OPCODE) >= Opcode.CLOSE) {
			return refuse(new FrameError('CONTROL_LENGTH', 1002, 'A control frame has a payload of more than 125 bytes'));
		}
		size = length === 126 ? 4 : 10;
		if (end - position < size) return false;
		length = size === 4 ? (bytes[position + 2] << 8) | bytes[position + 3] : readLength64(bytes, position + 2);
		header.length = length;
		if (header.error !== null) return false;
		// "The minimal number of bytes MUST be used to encode the length" (section 5.2).
		if (length < (size === 4 ? 126 : 65536)) {
			return refuse(new FrameError('LENGTH_NOT_MINIMAL', 1002, `The length ${length} takes more bytes than it needs`));
		}
	}
	header.size = size + (maskBit === 0 ? 0 : 4);
	if (end - position < header.size) return false;
	const k = position + size;
	header.key = maskBit === 0 ? 0 : bytes[k] | (bytes[k + 1] << 8) | (bytes[k + 2] << 16) | (bytes[k + 3] << 24);
	return true;
}

function refuse(error) {
	header.error = error;
	return false;
}

/** Why `acceptsFirstByte` refuses the first byte of a header. */
function firstByteError(firstByte, bytes, position, end) {
	const opcode = firstByte & OPCODE;
	// "MUST be 0 unless an extension ... defines meanings for non-zero values" (section 5.2).
	if ((firstByte & RSV) !== 0) {
		const message = 'A frame has a reserved bit set that no extension has given a meaning';
		return new FrameError('RESERVED_BITS', 1002, message + protocolHint(bytes, position, end));
	}
	// "All control frames ... MUST NOT be fragmented" (section 5.5).
	if (opcode >= Opcode.CLOSE && opcode <= Opcode.PONG) {
		return new FrameError('CONTROL_FRAGMENTED', 1002, 'A control frame is a fragment');
	}
	// "If an unknown opcode is received, ... MUST _Fail the WebSocket Connection_" (section 5.2).
	return new FrameError('OPCODE', 1002, `A frame has the reserved opcode ${opcode}`);
}

/** The beginnings of other protocols, each of whose first bytes has a reserved bit. */
const METHOD = /^([A-Z]{3,4} |CONNE|DELET|OPTIO|PATCH|TRACE)/;
const TLS_HANDSHAKE = '\x16\x03';

/** Says if a program has written other bytes than frames to a Decoder, such as the handshake. */
function protocolHint(bytes, position, end) {
	const start = String.fromCharCode(...bytes.subarray(position, Math.min(end, position + 5)));
	if (start.startsWith(TLS_HANDSHAKE)) return '. It looks like TLS: give a Decoder the bytes of a tls.TLSSocket';
	if (start === 'PRI *') return '. It looks like HTTP/2: see acceptHttp2';
	const sender = start === 'HTTP/' ? "a server's answer" : METHOD.test(start) ? "a client's request" : null;
	if (sender === null) return '';
	return `. It looks like the HTTP of ${sender}: give a Decoder only the bytes after the handshake`;
}

/** `maskBit` is the value that the bit should have. */
function maskError(maskBit) {
	// "The server MUST close the connection upon receiving a frame that is not masked. ... A client
	// MUST close a connection if it detects a masked frame" (section 5.1).
	return maskBit === 0
		? new FrameError('MASK_UNWANTED', 1002, "A frame from a server is masked, or the Decoder's role should be 'server'")
		: new FrameError(
				'MASK_MISSING',
				1002,
				"A frame from a client is not masked, or the Decoder's role should be 'client'"
			);
}

/** Meaningless if it sets `header.error`. */
function readLength64(bytes, p) {
	const high = readUint32(bytes, p);
	if (high > 0x7fffffff) {
		// "The most significant bit MUST be 0" (section 5.2).
		refuse(new FrameError('LENGTH', 1002, 'A payload length has its most significant bit set'));
	} else if (high > 0x1fffff) {
		refuse(new FrameError('MESSAGE_TOO_BIG', 1009, 'A payload is longer than 2^53 - 1 bytes'));
	}
	return high * 0x100000000 + readUint32(bytes, p + 4);
}

function readUint32(bytes, p) {
	return ((bytes[p] << 24) | (bytes[p + 1] << 16) | (bytes[p + 2] << 8) | bytes[p + 3]) >>> 0;
}

function headerSize(length, maskBit) {
	const key = maskBit === 0 ? 0 : 4;
	if (length <= MAX_SHORT) return 2 + key;
	return (length <= 0xffff ? 4 : 10) + key;
}

/** Writes a header (RFC 6455 section 5.2), unmasked if `key` is 0; returns its payload's place. */
function writeHeader(target, at, firstByte, length, key) {
	const maskBit = key === 0 ? 0 : MASK;
	let p = at + 2;
	target[at] = firstByte;
	if (length <= MAX_SHORT) target[at + 1] = maskBit | length;
	else p = writeLength(target, p, length, maskBit);
	if (key === 0) return p;
	target[p] = key;
	target[p + 1] = key >>> 8;
	target[p + 2] = key >>> 16;
	target[p + 3] = key >>> 24;
	return p + 4;
}

/** Writes a length of more than MAX_SHORT to `p` and the byte before. Returns where it ends. */
function writeLength(target, p, length, maskBit) {
	if (length <= 0xffff) {
		target[p - 1] = maskBit | 126;
		target[p] = length >>> 8;
		target[p + 1] = length;
		return p + 2;
	}
	target[p - 1] = maskBit | 127;
	target.writeUInt32BE(Math.floor(length / 0x100000000), p);
	target.writeUInt32BE(length >>> 0, p + 4);
	return p + 8;
}

/**
 * Reads the header of a frame that has been framed already. `mode` is MODE_MASKED for a client's, 0
 * for a server's; with `anyMask` it may be either. Throws unless this role may send it.
 */
function readFramed(pieces, mode, anyMask) {
	if (!Array.isArray(pieces) || pieces.length === 0) throw invalidType('pieces', 'an array of Buffers', pieces);
	let size = 0;
	for (const piece of pieces) {
		checkBytes('pieces', piece);
		size += lengthOf(piece);
	}
	const maskBit = anyMask ? pieces[0][1] & MODE_MASKED : mode;
	const complete = size !== 0 && readHeader(pieces[0], 0, lengthOf(pieces[0]), maskBit | MODE_RSV1);
	if (!complete || header.size + header.length !== size) {
		const role = (mode & MODE_MASKED) !== 0 ? 'client' : 'server';
		throw outOfRange('pieces', `one frame of a ${role}, its header in the first piece`, `${size} other bytes`);
	}
	const { firstByte, length } = header;
	return { firstByte, length, opcode: firstByte & OPCODE };
}

module.exports = { header, headerSize, readFramed, readHeader, readUint32, writeHeader };
