'use strict';

const { Buffer, lengthOf, toBytes, view } = require('../shared/buffers');
const { CONTROL, FIN, OPCODE, Opcode, RSV1, isWhole } = require('../shared/protocol');
const { Deflater } = require('./deflater');
const { supportsSyncZlib } = require('./zlib-handle');

/**
 * Binary messages from this size on are sampled, in 25 µs: to compress a picture, which does not
 * shrink, takes 160 µs and more. Text shrinks: UTF-8 has at most 7 bits of information in 8.
 */
const SAMPLE_FROM = 16 * 1024;
const SAMPLE_SIZE = 2 * 1024;
/** A sample that keeps more than this part of its size is not worth it. */
const WORTH_IT = 0.95;

/** How a record is sent: as it is. */
const PLAIN = 0;
/** It is compressed if that saves bytes. */
const WORTHWHILE = 1;
/** It is compressed. */
const DEFLATED = 2;
/** It is sent as the fragment before it. */
const CONTINUED = 3;

/**
 * A frame on its way. Its payload is `data`, unless `pieces` are the whole frame.
 *
 * @typedef {{ firstByte: number, data: string | Uint8Array, length: number, way: number,
 *   owned: boolean, pieces: Buffer[] | null }} SendRecord
 */

/**
 * Which of the frames that an Encoder sends are compressed, and where. The caller asks in the order
 * in which they leave.
 */
class Compression {
	constructor(direction) {
		/** Whether a message has begun whose fragments are compressed. */
		this.deflatesFragments = false;
		this.deflater = new Deflater(direction);
		this._threshold = Math.max(direction.settings.threshold, 1);
		this._threadPoolFrom = direction.settings.threadPoolFrom;
	}

	/**
	 * A record of a data frame, or null if the Encoder can add the frame at once as it is.
	 *
	 * @param {boolean | undefined} compress the caller's option
	 * @param {boolean} waits whether it waits for others: it can't be added at once then
	 * @throws {TypeError} for other data
	 */
	createRecord(firstByte, data, compress, waits) {
		const way = wayOf(firstByte, compress);
		const least = way === WORTHWHILE ? this._threshold : 0;
		// A character has up to 3 bytes.
		const isShort = typeof data === 'string' && data.length * 3 < least;
		const isPlain = way === PLAIN || isShort || (way === CONTINUED && !this.deflatesFragments);
		if (!waits && isPlain) return null;
		let content = data;
		if (typeof data !== 'string') content = toBytes('data', data, (firstByte & OPCODE) !== Opcode.BINARY);
		// A longer one stays a string: if it waits, many Encoders share one string.
		else if (data.length < SAMPLE_FROM) content = Buffer.from(data);
		const length = sizeOf(content);
		if (!waits && length < least) return null;
		return { firstByte, data: content, length, way: length < least ? PLAIN : way, owned: false, pieces: null };
	}

	/** Begins a record. Returns whether it is compressed. */
	begin(record) {
		const isCompressed = this._isCompressed(record);
		// False after a message's end: `addFramed` begins the next one unseen.
		if (!isWhole(record.firstByte)) this.deflatesFragments = isCompressed && !isLast(record);
		return isCompressed;
	}

	/** Whether a record is compressed in the thread pool. An empty one, which ends a message, is not. */
	isForPool({ length }) {
		return length >= this._threadPoolFrom && length !== 0;
	}

	/** @returns {SendRecord} the record as it is sent, compressed */
	deflate(record) {
		const { data, length } = record;
		const bytes = typeof data === 'string' ? Buffer.from(data) : data;
		return this._shorter(record, this.deflater.deflate(bytes, length, isLast(record)));
	}

	/**
	 * Compresses a record in the thread pool. Calls back with an error or null, and the record as it
	 * is sent.
	 */
	deflateLater(record, callback) {
		this.deflater.deflateLater(record.data, record.length, isLast(record), (error, deflated, bytes) => {
			if (error !== null) callback(error, null);
			else callback(null, this._shorter({ ...record, data: bytes, owned: true }, deflated));
		});
	}

	/**
	 * Whether a prepared message of this length is compressed. With takeover it is not: the context
	 * of each connection would have to have it in its window.
	 */
	sharesFrom(length) {
		return !this.deflater.hasTakeover && length >= this._threshold;
	}

	/** A record as it is sent: compressed, unless it may be sent as it is, and is not longer so. */
	_shorter(record, deflated) {
		// With takeover the connection's window has the message now, so the peer's must get it, too.
		const mustSend = this.deflater.hasTakeover || !isWhole(record.firstByte);
		return mustSend || deflated.length < record.length ? withPayload(record, deflated) : record;
	}

	_isCompressed({ firstByte, data, length, way }) {
		if (way === PLAIN || (length === 0 && isWhole(firstByte))) return false;
		if (way === CONTINUED) return this.deflatesFragments;
		if (way === DEFLATED || length < SAMPLE_FROM) return true;
		return (firstByte & OPCODE) === Opcode.TEXT || this._isWorthIt(data, length);
	}

	_isWorthIt(data, length) {
		const start = (length - SAMPLE_SIZE) >> 1;
		const sample = view(data, start, start + SAMPLE_SIZE);
		return this.deflater.deflateAlone(sample, SAMPLE_SIZE).length < SAMPLE_SIZE * WORTH_IT;
	}
}

const isLast = ({ firstByte }) => (firstByte & FIN) !== 0;
const continues = (firstByte) => (firstByte & OPCODE) === Opcode.CONTINUATION;
const beginsFragments = (firstByte) => (firstByte & FIN) === 0 && !continues(firstByte);

function wayOf(firstByte, compress) {
	if (continues(firstByte)) return CONTINUED;
	// RSV1 is the caller's. Without synchronous zlib, no context lasts from one fragment to the next.
	if (compress === false || (firstByte & (RSV1 | CONTROL)) !== 0) return PLAIN;
	if (beginsFragments(firstByte) && !supportsSyncZlib()) return PLAIN;
	return compress ? DEFLATED : WORTHWHILE;
}

/** The record, compressed. RSV1 is "set ... on the first fragment" (RFC 7692 section 6.1). */
function withPayload(record, deflated) {
	if (!continues(record.firstByte)) record.firstByte |= RSV1;
	record.data = deflated;
	record.owned = true;
	return record;
}

const sizeOf = (data) => (typeof data === 'string' ? Buffer.byteLength(data) : lengthOf(data));

module.exports = { Compression, PLAIN, beginsFragments, isLast, sizeOf };
