'use strict';

const { TOP_BITS, alignedFrom, unmaskBytes, unmaskWords, wordsOf } = require('../masking/fallback');
const { lengthOf } = require('../shared/buffers');
const { LENGTH, MASK, MODE_MASKED, NON_ASCII, OPCODE, Opcode, acceptsFirstByte } = require('../shared/protocol');
const { readUint32 } = require('./header');

/** From this length on, a payload is unmasked by words; one view of them serves the whole chunk. */
const WORDS_FROM = 40;

/**
 * The scan of src/scan.cc in JavaScript: finds the complete frames of a chunk, unmasks their
 * payloads in place and adds three numbers for each to a table: its first byte, with NON_ASCII if a
 * byte of text or of a continuation is 128 or more; where its payload begins; and where it ends.
 * Stops after a Close frame, and before a frame that is incomplete or breaks a rule of RFC 6455
 * section 5. Returns the number of frames.
 *
 * With `readHeader` of header.js it would take 9 to 33 % longer.
 */
function scanChunk(chunk, start, mode, table) {
	const maskBit = mode & MODE_MASKED;
	const keySize = maskBit === 0 ? 0 : 4;
	const capacity = Math.floor(table.length / 3);
	const size = lengthOf(chunk);
	const base = alignedFrom(chunk, start);
	let words = null;
	let position = start;
	let count = 0;
	while (count < capacity && size - position >= 2) {
		const firstByte = chunk[position];
		const secondByte = chunk[position + 1];
		if (!acceptsFirstByte(firstByte, mode) || (secondByte & MASK) !== maskBit) break;

		let length = secondByte & LENGTH;
		let payload = position + 2 + keySize;
		if (length > 125) {
			length = extendedLength(chunk, size, position, firstByte);
			if (length === -1) break;
			payload += (secondByte & LENGTH) === 126 ? 2 : 8;
		}
		const end = payload + length;
		if (end > size || end > 0xffffffff) break;

		const opcode = firstByte & OPCODE;
		let seen = 0;
		if (maskBit !== 0) {
			const k = payload - 4;
			const key = chunk[k] | (chunk[k + 1] << 8) | (chunk[k + 2] << 16) | (chunk[k + 3] << 24);
			if (length < WORDS_FROM) {
				seen = unmaskBytes(chunk, payload, end, key);
			} else {
				words ??= wordsOf(chunk, base, size);
				seen = unmaskWords(chunk, payload, end, key, words, base);
			}
		} else if (opcode <= Opcode.TEXT) {
			seen = bitsIn(chunk, payload, end);
		}
		const entry = count * 3;
		table[entry] = opcode <= Opcode.TEXT && (seen & TOP_BITS) !== 0 ? firstByte | NON_ASCII : firstByte;
		table[entry + 1] = payload;
		table[entry + 2] = end;
		count++;
		position = end;
		if (opcode === Opcode.CLOSE) break;
	}
	return count;
}

/** -1 if it is incomplete or breaks a rule (RFC 6455 sections 5.2 and 5.5). */
function extendedLength(chunk, size, position, firstByte) {
	if ((firstByte & OPCODE) >= Opcode.CLOSE) return -1;
	const p = position + 2;
	if ((chunk[position + 1] & LENGTH) === 126) {
		if (p + 2 > size) return -1;
		const length = (chunk[p] << 8) | chunk[p + 1];
		return length < 126 ? -1 : length;
	}
	if (p + 8 > size) return -1;
	const length = readUint32(chunk, p) * 0x100000000 + readUint32(chunk, p + 4);
	return length < 65536 ? -1 : length;
}

/** The bytes combined by OR, possibly only those up to a byte of 128 or more. */
function bitsIn(bytes, start, end) {
	let seen = 0;
	let i = start;
	for (const last = end - 4; i <= last && seen < 128; i += 4) {
		seen |= bytes[i] | bytes[i + 1] | bytes[i + 2] | bytes[i + 3];
	}
	for (; i < end; i++) seen |= bytes[i];
	return seen;
}

module.exports = { scanChunk };
