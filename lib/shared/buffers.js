'use strict';

const { buffer, util } = require('./node-modules');

// The global `Buffer` is a getter that takes 10 ns. Hot code uses this one.
const { Buffer } = buffer;

/** Loads their module for the first error: to load one takes 0.4 ms. */
const errors = () => require('./errors');

// The getters of internal slots, which no own property or subclass can fake, and which V8 compiles
// to a check of the map. As functions: Node.js 20 looks the getters of a Buffer up each time (a
// view takes 47 ns, not 27).
const getterOf = (prototype, key) => Object.getOwnPropertyDescriptor(prototype, key).get;
const viewGetters = (prototype) => ({
	buffer: getterOf(prototype, 'buffer'),
	byteOffset: getterOf(prototype, 'byteOffset'),
	byteLength: getterOf(prototype, 'byteLength')
});
const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
const typedArrayName = getterOf(TypedArrayPrototype, Symbol.toStringTag);
const getBuffer = getterOf(TypedArrayPrototype, 'buffer');
const getByteOffset = getterOf(TypedArrayPrototype, 'byteOffset');
const getLength = getterOf(TypedArrayPrototype, 'length');
const typedArrayGetters = viewGetters(TypedArrayPrototype);
const dataViewGetters = viewGetters(DataView.prototype);

/** The memory that a view is of. */
const memoryOf = (bytes) => getBuffer.call(bytes);

/** Where a view begins in its memory. */
const offsetOf = (bytes) => getByteOffset.call(bytes);

/**
 * The length of a view, whatever its property `length` says. The getter takes 10 ns where V8 does
 * not know the class; that the last byte exists and none after it proves a length in 1 ns.
 */
function lengthOf(bytes) {
	const { length } = bytes;
	const proven = typeof length === 'number' && bytes[length - 1] !== undefined && bytes[length] === undefined;
	return proven ? length : getLength.call(bytes);
}

/** Whether a value is a Uint8Array, such as a Buffer, of any realm. */
function isUint8Array(value) {
	return typedArrayName.call(value) === 'Uint8Array';
}

/** Node.js's own class of Buffers. Its constructor skips the checks of `Buffer.from`. */
const FastBuffer = Buffer[Symbol.species];

/**
 * From this many bytes on, a payload is sent from where it lies, or from memory of its own: a
 * second entry of writev is cheaper than copying it.
 */
const REFERENCE_FROM = 16 * 1024;

/** For zlib: an empty Buffer that a user gets could be detached. */
const EMPTY = Buffer.alloc(0);

/** `bytes.subarray(start, end)` in 27 ns, not 50 (Node 20); 16 for many views of one buffer. */
function view(bytes, start, end) {
	return new FastBuffer(getBuffer.call(bytes), getByteOffset.call(bytes) + start, end - start);
}

/** A view, or `bytes` itself where it is all of it. */
function rangeOf(bytes, start, end) {
	return start === 0 && end === bytes.length ? bytes : view(bytes, start, end);
}

/** A copy, in memory of its own. Of nothing, `bytes` may be detached. */
function copyOf(bytes, start, end) {
	const copy = Buffer.allocUnsafeSlow(end - start);
	if (end !== start) copy.set(view(bytes, start, end));
	return copy;
}

/** Joins parts in memory of their own: a handler can't transfer that of Node.js's pool. */
function join(parts) {
	const joined = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + part.length, 0));
	let at = 0;
	for (const part of parts) {
		joined.set(part, at);
		at += part.length;
	}
	return joined;
}

/** @returns {ArrayBuffer} the memory of the data if it holds nothing else, or a copy */
function toArrayBuffer(data) {
	// All empty data of ws have one memory.
	if (data.length === 0) return new ArrayBuffer(0);
	const memory = memoryOf(data);
	if (memory.byteLength === data.length) return memory;
	const start = offsetOf(data);
	return memory.slice(start, start + data.length);
}

/** Throws a TypeError if the argument `name` is not a Uint8Array, or its memory is detached. */
function checkBytes(name, value) {
	// Test byte 0, not `length`: up to Node.js 22, optimized code that has also met resizable
	// ArrayBuffers may see a stale `length` of a detached view.
	if (!isUint8Array(value) || value[0] === undefined) checkUnusual(name, value);
}

/** The part of `checkBytes` that throws, unless `value` is empty. So V8 inlines the rest. */
function checkUnusual(name, value) {
	if (!isUint8Array(value)) throw errors().invalidType(name, 'a Buffer or Uint8Array', value);
	checkAttached(name, memoryOf(value), value);
}

/** Throws a TypeError if `memory` is detached; `value` is it or a view of it. */
function checkAttached(name, memory, value) {
	if (memory.byteLength !== 0) return;
	try {
		// Throws if detached. Node.js 20 lacks ArrayBuffer.prototype.detached.
		new Uint8Array(memory);
	} catch {
		const error = errors().invalidType(name, 'a Buffer or Uint8Array', value);
		error.message += ' whose memory is detached';
		throw error;
	}
}

/** The bytes of what may be sent: of a string, bytes, a Blob, a PreparedMessage. */
const sizeOf = (data) =>
	typeof data === 'string' ? Buffer.byteLength(data) : (data.byteLength ?? data.size ?? data.length);

/** The bytes of data: a copy of short ones, which the caller may change before they have left. */
function ownBytes(name, data) {
	const bytes = toBytes(name, data);
	return bytes.length < REFERENCE_FROM ? Buffer.from(bytes) : bytes;
}

/** Whether `toBytes` takes a value. */
function isBytes(value) {
	return ArrayBuffer.isView(value) || util.types.isAnyArrayBuffer(value);
}

/**
 * A Uint8Array of the memory of `data`, any ArrayBuffer or view of one that is not detached.
 *
 * @param {boolean} [orString] whether the error says that a string is accepted, too
 */
function toBytes(name, data, orString = true) {
	return isUint8Array(data) && data[0] !== undefined ? data : toUnusualBytes(name, data, orString);
}

/** `toBytes` of another view, of an ArrayBuffer, or of nothing. So V8 inlines the rest. */
function toUnusualBytes(name, data, orString) {
	if (isUint8Array(data)) {
		checkUnusual(name, data);
		return data;
	}
	if (util.types.isAnyArrayBuffer(data)) {
		checkAttached(name, data, data);
		return new FastBuffer(data);
	}
	if (!ArrayBuffer.isView(data)) {
		throw errors().invalidType(name, orString ? 'a string, a Buffer or other bytes' : 'a Buffer or other bytes', data);
	}
	const getters = util.types.isDataView(data) ? dataViewGetters : typedArrayGetters;
	const memory = getters.buffer.call(data);
	checkAttached(name, memory, data);
	return new FastBuffer(memory, getters.byteOffset.call(data), getters.byteLength.call(data));
}

/** Throws unless `value` is a whole number from `least` to `most`, which may be Infinity. */
function checkWhole(name, value, least, most) {
	const isWhole = Number.isSafeInteger(value) || value === Infinity;
	if (!(isWhole && value >= least && value <= most)) refuseNumber(name, value, least, most);
}

/** The part of `checkWhole` that throws. So V8 inlines the rest. */
function refuseNumber(name, value, least, most) {
	if (typeof value !== 'number') throw errors().invalidType(name, 'a number', value);
	const range = most === Infinity ? `from ${least} on, or Infinity` : `from ${least} to ${most}`;
	throw errors().outOfRange(name, `a whole number ${range}`, value);
}

module.exports = {
	Buffer,
	EMPTY,
	FastBuffer,
	REFERENCE_FROM,
	checkBytes,
	checkWhole,
	copyOf,
	isBytes,
	isUint8Array,
	join,
	lengthOf,
	memoryOf,
	offsetOf,
	ownBytes,
	rangeOf,
	sizeOf,
	toArrayBuffer,
	toBytes,
	view
};
