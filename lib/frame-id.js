'use strict';

const modules = require('./shared/node-modules');
const { checkWhole, isUint8Array } = require('./shared/buffers');
const { invalidType, outOfRange } = require('./shared/errors');
const { beforeSnapshot } = require('./shared/snapshot');

// Read once, so that later changes to String don't affect ids.
const { fromCharCode } = String;
const { inspect } = modules.util;

const ID_BYTES = 16;
const ID_CHARACTERS = 36;
const HYPHEN = 0x2d;

// 256 ids a batch. With 1 KiB an id takes 8 to 19 % longer, with 2 KiB 5 to 7 %; 16 KiB would save
// 0 to 5 %, but take four times as long to fill (measured on Node 20 and 26).
const BATCH_BYTES = 4096;
const BATCH_WORDS = BATCH_BYTES / 4;

// Version 7: the counter has 18 bits, 12 in rand_a and 6 at the beginning of rand_b.
const COUNTER_MAX = 0x3ffff;

// The ASCII codes of the two hex digits of each byte, and back: the value of each ASCII code, or
// -1. Created when the first id is made, formatted or parsed.
let highDigit;
let lowDigit;
let digitValue;

// A Uint32Array. Unused entropy is in `batch[cursor]` and after; the rest is zeros.
let batch;
let cursor = BATCH_WORDS;

// Version 7: unix_ts_ms and counter of the last id.
let time = 0;
let counter = 0;

function makeTables() {
	const digits = '0123456789abcdef';
	lowDigit = new Uint8Array(256);
	digitValue = new Int8Array(128).fill(-1);
	const high = new Uint8Array(256);
	for (let byte = 0; byte < 256; byte++) {
		high[byte] = digits.charCodeAt(byte >>> 4);
		lowDigit[byte] = digits.charCodeAt(byte & 15);
	}
	for (let value = 0; value < 16; value++) {
		digitValue[digits.charCodeAt(value)] = value;
		digitValue[digits.toUpperCase().charCodeAt(value)] = value;
	}
	// Assigned last: it tells whether the tables exist.
	highDigit = high;
}

function refill() {
	if (batch === undefined) {
		if (highDigit === undefined) makeTables();
		beforeSnapshot(forgetBatch);
		batch = new Uint32Array(BATCH_WORDS);
	}
	// If this throws, the cursor is still at the end, and the next call tries again.
	modules.crypto.randomFillSync(batch);
	cursor = 0;
}

function forgetBatch() {
	batch.fill(0);
	cursor = BATCH_WORDS;
}

/**
 * The 36 characters of four big-endian words.
 *
 * One call of `fromCharCode` makes a flat string. Sixteen strings joined by `+` make a rope, which
 * must be flattened to be a key: 1.5 to 2.5 times the time.
 */
function formatWords(a, b, c, d) {
	// biome-ignore format: one line for each word
	return fromCharCode(
    highDigit[a >>> 24], lowDigit[a >>> 24], highDigit[(a >>> 16) & 255], lowDigit[(a >>> 16) & 255],
    highDigit[(a >>> 8) & 255], lowDigit[(a >>> 8) & 255], highDigit[a & 255], lowDigit[a & 255], HYPHEN,
    highDigit[b >>> 24], lowDigit[b >>> 24], highDigit[(b >>> 16) & 255], lowDigit[(b >>> 16) & 255], HYPHEN,
    highDigit[(b >>> 8) & 255], lowDigit[(b >>> 8) & 255], highDigit[b & 255], lowDigit[b & 255], HYPHEN,
    highDigit[c >>> 24], lowDigit[c >>> 24], highDigit[(c >>> 16) & 255], lowDigit[(c >>> 16) & 255], HYPHEN,
    highDigit[(c >>> 8) & 255], lowDigit[(c >>> 8) & 255], highDigit[c & 255], lowDigit[c & 255],
    highDigit[d >>> 24], lowDigit[d >>> 24], highDigit[(d >>> 16) & 255], lowDigit[(d >>> 16) & 255],
    highDigit[(d >>> 8) & 255], lowDigit[(d >>> 8) & 255], highDigit[d & 255], lowDigit[d & 255]
  );
}

/** Version 4 (RFC 9562 section 5.4): 122 random bits. */
function randomId() {
	if (cursor === BATCH_WORDS) refill();
	const at = cursor;
	cursor += 4;
	const a = batch[at];
	const b = (batch[at + 1] & 0xffff0fff) | 0x4000;
	const c = (batch[at + 2] & 0x3fffffff) | 0x80000000;
	const d = batch[at + 3];
	batch[at] = batch[at + 1] = batch[at + 2] = batch[at + 3] = 0;
	return formatWords(a, b, c, d);
}

/**
 * Version 7 (RFC 9562 section 5.7): 48 bits of unix_ts_ms, a counter of 18 bits (section 6.2,
 * method 1), 56 random bits. The counter starts each millisecond at a random value with its top bit
 * 0: room for at least 131,072 ids. If it is full, unix_ts_ms is incremented; if the clock stands
 * still or steps back, unix_ts_ms stays.
 */
function timeOrderedId() {
	// A clock may have fractions, such as one that a test has installed.
	const now = Math.floor(Date.now());
	if (cursor === BATCH_WORDS) refill();
	const at = cursor;
	cursor += 4;
	if (now > time) {
		time = now;
		counter = batch[at] >>> 15;
	} else if (counter === COUNTER_MAX) {
		time += 1;
		counter = batch[at] >>> 15;
	} else {
		counter += 1;
	}
	const c = 0x80000000 | ((counter & 0x3f) << 24) | (batch[at + 2] & 0xffffff);
	const d = batch[at + 3];
	batch[at] = batch[at + 1] = batch[at + 2] = batch[at + 3] = 0;
	return formatWords((time / 0x10000) >>> 0, ((time & 0xffff) << 16) | 0x7000 | (counter >>> 6), c, d);
}

function versionOf(options) {
	if (typeof options !== 'object' || options === null) throw invalidType('options', 'an object', options);
	const { version = 4 } = options;
	if (version === 4 || version === 7) return version;
	if (typeof version !== 'number') throw invalidType('options.version', 'the number 4 or 7', version);
	throw outOfRange('options.version', '4 or 7', version);
}

/** Throws if `array`, the argument `name`, does not contain 16 bytes at `offset`. */
function checkBytes(name, array, offset) {
	// By internal slot: arrays of other realms (node:vm, jsdom) are valid.
	if (!isUint8Array(array)) throw invalidType(name, 'a Buffer or Uint8Array', array);
	const last = array.length - ID_BYTES;
	if (last < 0) throw outOfRange(name, `${ID_BYTES} bytes or longer`, `${array.length} bytes`);
	checkWhole('offset', offset, 0, last);
}

function readWord(bytes, at) {
	return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
}

function writePair(bytes, at, pair) {
	bytes[at] = pair >>> 8;
	bytes[at + 1] = pair;
}

/** The value of four hex digits; negative if one is not a hex digit. */
function readDigits(string, at) {
	const a = string.charCodeAt(at);
	const b = string.charCodeAt(at + 1);
	const c = string.charCodeAt(at + 2);
	const d = string.charCodeAt(at + 3);
	if ((a | b | c | d) > 0x7f) return -1;
	return (digitValue[a] << 12) | (digitValue[b] << 8) | (digitValue[c] << 4) | digitValue[d];
}

function notAnId(string) {
	const shown =
		string.length > 40 ? `${inspect(string.slice(0, 40))}... (${string.length} characters)` : inspect(string);
	return outOfRange('string', 'a UUID: 32 hex digits in groups of 8-4-4-4-12', shown);
}

function frameId(options) {
	return options !== undefined && versionOf(options) === 7 ? timeOrderedId() : randomId();
}

function formatFrameId(bytes, offset = 0) {
	checkBytes('bytes', bytes, offset);
	if (highDigit === undefined) makeTables();
	return formatWords(
		readWord(bytes, offset),
		readWord(bytes, offset + 4),
		readWord(bytes, offset + 8),
		readWord(bytes, offset + 12)
	);
}

function parseFrameId(string, target, offset = 0) {
	if (typeof string !== 'string') throw invalidType('string', 'a string', string);
	// Also refuses an offset without a target.
	if (target !== undefined || offset !== 0) checkBytes('target', target, offset);
	if (
		string.length !== ID_CHARACTERS ||
		string[8] !== '-' ||
		string[13] !== '-' ||
		string[18] !== '-' ||
		string[23] !== '-'
	) {
		throw notAnId(string);
	}
	if (highDigit === undefined) makeTables();
	const a = readDigits(string, 0);
	const b = readDigits(string, 4);
	const c = readDigits(string, 9);
	const d = readDigits(string, 14);
	const e = readDigits(string, 19);
	const f = readDigits(string, 24);
	const g = readDigits(string, 28);
	const h = readDigits(string, 32);
	if ((a | b | c | d | e | f | g | h) < 0) throw notAnId(string);

	const bytes = target === undefined ? Buffer.allocUnsafeSlow(ID_BYTES) : target;
	writePair(bytes, offset, a);
	writePair(bytes, offset + 2, b);
	writePair(bytes, offset + 4, c);
	writePair(bytes, offset + 6, d);
	writePair(bytes, offset + 8, e);
	writePair(bytes, offset + 10, f);
	writePair(bytes, offset + 12, g);
	writePair(bytes, offset + 14, h);
	return bytes;
}

module.exports = { frameId, formatFrameId, parseFrameId };
