'use strict';

const { lengthOf, memoryOf, offsetOf } = require('../shared/buffers');

/**
 * Masking in JavaScript, as src/ does it: for machines where the addon does not load, and for
 * payloads that are too short for a call into it. Callers must have checked the arguments. A key is
 * that for the first byte masked: see backend.js. Functions that mask return whether all bytes
 * written are ASCII, or those bytes combined by OR.
 */

// From this length on, masking 32-bit words is faster than bytes, although it must create a view:
// from 88 bytes on with Node 24 and 26, from 96 with Node 22, from 125 with Node 20.
const WORDS_FROM = 96;

/** The top bit of each byte in a word: 0 in ASCII. */
const TOP_BITS = 0x80808080 | 0;

// A word in this machine's byte order, and its bytes.
const scratch = new Int32Array(1);
const scratchBytes = new Uint8Array(scratch.buffer);

/** The key from byte `bytes` of the payload on, as an unsigned number. */
function advanceKey(key, bytes) {
	const shift = (bytes & 3) << 3;
	return ((key >>> shift) | (key << (32 - shift))) >>> 0;
}

/** Masks `buffer[start]` to `buffer[end - 1]` in place, a byte at a time. */
function unmaskBytes(buffer, start, end, key) {
	const k1 = key >>> 8;
	const k2 = key >>> 16;
	const k3 = key >>> 24;
	let seen = 0;
	let i = start;
	// Four bytes an iteration take half the time of one with `key[i & 3]`. Eight would save 1 ns for
	// 32 bytes, but V8 would no longer inline this function, which costs 5 ns.
	for (const last = end - 4; i <= last; i += 4) {
		seen |= buffer[i] ^= key;
		seen |= buffer[i + 1] ^= k1;
		seen |= buffer[i + 2] ^= k2;
		seen |= buffer[i + 3] ^= k3;
	}
	for (let rest = key; i < end; i++) {
		seen |= buffer[i] ^= rest;
		rest >>>= 8;
	}
	return seen & 255;
}

/**
 * Masks `buffer[start]` to `buffer[end - 1]`, at least 8 bytes, in place, most of it four bytes at
 * a time: by `words` of the same memory, whose first is at `buffer[base]`, at most `start` + 3.
 */
function unmaskWords(buffer, start, end, key, words, base) {
	const head = (base - start) & 3;
	const wordKey = advanceKey(key, head);
	// No shifts: from 2 GiB on they would give a negative number.
	const last = Math.floor((end - base) / 4);
	let seen = unmaskBytes(buffer, start, start + head, key) | unmaskBytes(buffer, base + last * 4, end, wordKey);

	scratchBytes[0] = wordKey;
	scratchBytes[1] = wordKey >>> 8;
	scratchBytes[2] = wordKey >>> 16;
	scratchBytes[3] = wordKey >>> 24;
	const k = scratch[0];
	let i = (start + head - base) / 4;
	for (const stop = last - 8; i <= stop; i += 8) {
		seen |= words[i] ^= k;
		seen |= words[i + 1] ^= k;
		seen |= words[i + 2] ^= k;
		seen |= words[i + 3] ^= k;
		seen |= words[i + 4] ^= k;
		seen |= words[i + 5] ^= k;
		seen |= words[i + 6] ^= k;
		seen |= words[i + 7] ^= k;
	}
	for (; i < last; i++) seen |= words[i] ^= k;
	return seen;
}

/** The index of the first aligned word of `buffer` from `start` on. */
function alignedFrom(buffer, start) {
	return start + (-(offsetOf(buffer) + start) & 3);
}

/** The words from `base`, which `alignedFrom` returned, to `end`. */
function wordsOf(buffer, base, end) {
	return new Int32Array(memoryOf(buffer), offsetOf(buffer) + base, Math.floor((end - base) / 4));
}

/** Masks `length` bytes of `buffer` from `start` on in place. */
function maskInPlace(buffer, start, length, key) {
	const end = start + length;
	if (length < WORDS_FROM) return (unmaskBytes(buffer, start, end, key) & 0x80) === 0;
	const base = alignedFrom(buffer, start);
	return (unmaskWords(buffer, start, end, key, wordsOf(buffer, base, end), base) & TOP_BITS) === 0;
}

/**
 * Masks `length` bytes of `source` from `start` on into `output` from `offset` on. They may overlap
 * in any way: TypedArray.prototype.set copies like memmove. Returns false, too, if the bytes were
 * not checked for ASCII.
 */
function maskInto(source, start, output, offset, length, key) {
	// set() would throw for a view that a resized ArrayBuffer no longer contains.
	if (length === 0) return true;
	// Avoid subarray(): it would call a subclass's Symbol.species constructor.
	const range =
		lengthOf(source) === length ? source : new Uint8Array(memoryOf(source), offsetOf(source) + start, length);
	output.set(range, offset);
	// A key of 0 changes nothing.
	return key !== 0 && maskInPlace(output, offset, length, key);
}

/**
 * `maskInto` for a few bytes and no shared memory, where a call of TypedArray.prototype.set would
 * take longer.
 */
function copyMasked(source, start, output, offset, length, key) {
	const k1 = key >>> 8;
	const k2 = key >>> 16;
	const k3 = key >>> 24;
	let seen = 0;
	let i = 0;
	let to = offset;
	for (const last = length - 4; i <= last; i += 4, to += 4) {
		const from = start + i;
		seen |= output[to] = source[from] ^ key;
		seen |= output[to + 1] = source[from + 1] ^ k1;
		seen |= output[to + 2] = source[from + 2] ^ k2;
		seen |= output[to + 3] = source[from + 3] ^ k3;
	}
	for (let rest = key; i < length; i++, to++) {
		seen |= output[to] = source[start + i] ^ rest;
		rest >>>= 8;
	}
	return (seen & 0x80) === 0;
}

module.exports = {
	TOP_BITS,
	advanceKey,
	alignedFrom,
	copyMasked,
	maskInto,
	unmaskBytes,
	maskInPlace,
	unmaskWords,
	wordsOf
};
