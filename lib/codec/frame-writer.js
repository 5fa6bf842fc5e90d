'use strict';

const { Buffer, REFERENCE_FROM, lengthOf, toBytes, view } = require('../shared/buffers');
const { SLAB_LOOP_TO, copyMasking } = require('./backend');
const { headerSize, writeHeader } = require('./header');
const { nextMaskingKey } = require('./masking-key');
const { MAX_HEADER, OPCODE, Opcode } = require('../shared/protocol');
const { LARGE_SLAB, REFERENCE_OWNED_FROM } = require('./slabs');

/** Strings of at most this many characters are written before their length in bytes is known. */
const SHORT_STRING = 4096;

/**
 * Writes the frames of one role, for all its Encoders, into a WriteBuffer. By its length a payload is
 * copied into the slab or memory of its own, and masked meanwhile, or sent from where it lies.
 */
class FrameWriter {
	/** @param {number} mode MODE_MASKED for a client, 0 for a server @param {CodecBackend} backend */
	constructor(mode, backend) {
		this.mode = mode;
		this._backend = backend;
	}

	/** Adds a data frame, and returns the length of its payload. */
	write(buffer, firstByte, data, owned) {
		if (typeof data === 'string') {
			return data.length <= SHORT_STRING
				? this._shortString(buffer, firstByte, data)
				: this._longString(buffer, firstByte, data);
		}
		const bytes = toBytes('data', data, (firstByte & OPCODE) !== Opcode.BINARY);
		const length = lengthOf(bytes);
		if (length < REFERENCE_OWNED_FROM) this.writeBytes(buffer, firstByte, bytes, length);
		else this._writeLong(buffer, firstByte, bytes, length, owned);
		return length;
	}

	/** The part of `write` for payloads that may be sent without a copy. So V8 inlines the rest. */
	_writeLong(buffer, firstByte, bytes, length, owned) {
		if (length < referenceFrom(buffer, owned)) this.writeBytes(buffer, firstByte, bytes, length);
		else if (this.mode === 0 || owned) this._referBytes(buffer, firstByte, bytes, length);
		else if (fitsSlab(buffer, length)) this.writeBytes(buffer, firstByte, bytes, length);
		else this._ownBytes(buffer, firstByte, bytes, length);
	}

	/** Writes a string after a header of the size for ASCII, and moves it if that is too small. */
	_shortString(buffer, firstByte, text) {
		const at = buffer.reserve(MAX_HEADER + text.length * 3);
		const { slab } = buffer;
		const guess = at + headerSize(text.length, this.mode);
		const length = slab.utf8Write(text, guess, text.length * 3);
		const payload = length === text.length ? guess : at + headerSize(length, this.mode);
		if (payload !== guess) slab.copyWithin(payload, guess, guess + length);
		const key = this._nextKey();
		writeHeader(slab, at, firstByte, length, key);
		if (key !== 0) this._backend.maskInPlace(slab, payload, length, key);
		buffer.advance(payload + length);
		return length;
	}

	_longString(buffer, firstByte, text) {
		const length = Buffer.byteLength(text);
		const own = !fitsSlab(buffer, length);
		const at = own ? 0 : buffer.reserve(MAX_HEADER + length);
		const target = own ? Buffer.allocUnsafeSlow(headerSize(length, this.mode) + length) : buffer.slab;
		const key = this._nextKey();
		const payload = writeHeader(target, at, firstByte, length, key);
		// The string is ASCII. For 32 KiB latin1Write takes 0.75 µs, utf8Write 1.5 µs.
		if (length === text.length) target.latin1Write(text, payload, length);
		else target.utf8Write(text, payload, length);
		if (key !== 0) this._backend.maskInPlace(target, payload, length, key);
		if (own) buffer.push(target);
		else buffer.advance(payload + length);
		return length;
	}

	/** Adds a frame that has been framed already, in pieces. */
	writePieces(buffer, pieces, owned) {
		const from = referenceFrom(buffer, owned);
		for (const piece of pieces) {
			const size = lengthOf(piece);
			if (size >= from) buffer.push(view(piece, 0, size));
			else if (size !== 0) buffer.copy(piece, size);
		}
	}

	writeBytes(buffer, firstByte, bytes, length) {
		const at = buffer.reserve(MAX_HEADER + length);
		const key = this._nextKey();
		const payload = writeHeader(buffer.slab, at, firstByte, length, key);
		if (key === 0) buffer.slab.set(bytes, payload);
		else copyMasking(this._backend, bytes, 0, buffer.slab, payload, length, key, SLAB_LOOP_TO);
		buffer.advance(payload + length);
	}

	_ownBytes(buffer, firstByte, bytes, length) {
		const frame = Buffer.allocUnsafeSlow(headerSize(length, this.mode) + length);
		const key = this._nextKey();
		const payload = writeHeader(frame, 0, firstByte, length, key);
		this._backend.maskInto(bytes, 0, frame, payload, length, key);
		buffer.push(frame);
	}

	/** The next frame's masking key; 0 for a server, which masks nothing. */
	_nextKey() {
		return this.mode === 0 ? 0 : nextMaskingKey();
	}

	/** Adds a payload that is sent from where it lies. A client masks it there: it is `owned`. */
	_referBytes(buffer, firstByte, bytes, length) {
		const at = buffer.reserve(MAX_HEADER);
		const key = this._nextKey();
		buffer.advance(writeHeader(buffer.slab, at, firstByte, length, key));
		if (key !== 0) this._backend.maskInPlace(bytes, 0, length, key);
		buffer.push(view(bytes, 0, length));
	}
}

function referenceFrom(buffer, owned) {
	return owned && buffer.isBehind ? REFERENCE_OWNED_FROM : REFERENCE_FROM;
}

/**
 * Whether a payload that must be copied goes into the slab. A reused slab is in the cache and saves
 * malloc and page faults: a client's messages of up to 64 KiB take 1.9 µs, else 5.2 µs.
 */
function fitsSlab(buffer, length) {
	return length < REFERENCE_FROM || (buffer.recycles && length <= LARGE_SLAB - MAX_HEADER);
}

module.exports = { FrameWriter };
