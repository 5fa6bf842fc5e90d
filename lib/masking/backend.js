'use strict';

const fallback = require('./fallback');
const { Param, load } = require('./native');

const { KEY, START, OFFSET, LENGTH, NON_ASCII } = Param;

/**
 * Masks payloads in the addon or in JavaScript, whichever is faster for the length. Callers must
 * have checked the arguments (the addon checks them again). A key is a number, signed or not, with
 * the key's first byte in the lowest eight bits.
 *
 * @typedef {object} Backend
 * @property {MaskInto} maskInto masks `length` bytes of `source` from `start` on into `output`
 *   from `offset` on; they may overlap. Returns true only if all bytes written are ASCII
 * @property {(buffer: Uint8Array, start: number, length: number, key: number) => boolean}
 *   maskInPlace masks in place; returns whether all bytes written are ASCII
 * @property {(buffer: Uint8Array, start: number, length: number, key: number) => string |
 *   undefined} unmaskText masks in place; may return the bytes written as a string if all are ASCII
 *
 * @typedef {(source: Uint8Array, start: number, output: Uint8Array, offset: number,
 *   length: number, key: number) => boolean} MaskInto
 */

// Below these lengths, a loop in JavaScript takes less time than a call into the addon (Node 20,
// AVX-512, benchmark/masking.js). Unmask: 27 ns against 29 for 48 bytes, 18 against 29 for 32.
// Mask, which also copies: 39 ns against 48 for 48 bytes, 47 against 50 for 64.
const UNMASK_NATIVE_FROM = 48;
const MASK_NATIVE_FROM = 64;

/** @param {import('./native').Native | null} native null for JavaScript only */
function createBackend(native) {
	if (native === null) {
		const { maskInto, maskInPlace } = fallback;
		return { maskInto, maskInPlace, unmaskText: unmaskLatin1 };
	}
	const { params } = native;

	function maskInto(source, start, output, offset, length, key) {
		if (length < MASK_NATIVE_FROM) {
			return fallback.maskInto(source, start, output, offset, length, key);
		}
		params[KEY] = key >>> 0;
		params[START] = start;
		params[OFFSET] = offset;
		params[LENGTH] = length;
		native.mask(source, output);
		return params[NON_ASCII] === 0;
	}

	function maskInPlace(buffer, start, length, key) {
		if (length < UNMASK_NATIVE_FROM) {
			return fallback.maskInPlace(buffer, start, length, key);
		}
		params[KEY] = key >>> 0;
		params[START] = start;
		params[LENGTH] = length;
		native.unmask(buffer);
		return params[NON_ASCII] === 0;
	}

	function unmaskText(buffer, start, length, key) {
		params[KEY] = key >>> 0;
		params[START] = start;
		params[LENGTH] = length;
		return native.unmaskText(buffer);
	}

	return { maskInto, maskInPlace, unmaskText };
}

/** `unmaskText` in JavaScript. */
function unmaskLatin1(buffer, start, length, key) {
	return fallback.maskInPlace(buffer, start, length, key) ? buffer.latin1Slice(start, start + length) : undefined;
}

const { kernel, native, nativeError } = load(process.env);

module.exports = { backend: createBackend(native), createBackend, kernel, native, nativeError };
