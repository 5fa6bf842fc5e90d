'use strict';

const { Buffer, FastBuffer, copyOf } = require('../shared/buffers');
const { warnOfVariable } = require('../shared/errors');
const modules = require('../shared/node-modules');

// Node.js allocates 64 KiB for each read of a socket. With the option `onread` of net.Socket it
// reads into given memory, but only a socket that the program creates can have that. For others,
// such as those that an HTTP server has upgraded, this module does the same, by undocumented parts
// of net.Socket: two properties, found by the values that the option puts there, and a method of
// the handle. Events and flow control stay.

/** As much as Node.js reads at a time, and as much as it decrypts. */
const SIZE = 64 * 1024;
const TLS_SIZE = 16 * 1024;

/** A read of so many bytes or more that leaves the memory as it was did not go there. */
const MIN_PROOF = 8;

const kListener = Symbol('listener');

/**
 * The memory that all sockets of this thread are read into. It must not reach a program's code. A
 * chunk lies here while its listener runs (`isLent`).
 */
let memory = null;
let isLent = false;

/**
 * The memory that TLS is read into. Its chunks are moved to `memory`: TLS decrypts the next record
 * whenever it is used, such as by `write('')` or `renegotiate()` in a listener.
 */
let tlsMemory = null;

/** Random bytes with which both begin, until a read has been seen to go there. */
let before = null;

/** The names of the two properties, and Node.js's own `emit`; null if reads are not shared. */
let parts;

/**
 * Has a socket read into memory that all sockets of the thread share, for one of its listeners of
 * 'data', which must not keep a chunk, nor give it away. If other listeners see a chunk, it is a
 * copy.
 *
 * @returns {'shared' | 'events'} 'events' if the socket can't, and reads as ever
 */
function shareReads(socket, listener) {
	if (!canShareReads()) return 'events';
	if (socket[kListener] !== listener) {
		if (!isUnchanged(socket)) return 'events';
		if (memory === null) createMemories();
		const target = memoryFor(socket._handle.constructor.name);
		if (target === null) return 'events';
		socket[kListener] = listener;
		socket._handle.useUserBuffer(target);
		socket[parts.buffer] = target;
		socket[parts.callback] = onRead;
		Object.defineProperty(socket, 'pause', { value: pauseStream, writable: true, configurable: true });
	}
	return 'shared';
}

function canShareReads() {
	if (parts === undefined) parts = findParts();
	return parts !== null;
}

function isShared(chunk) {
	return memory !== null && chunk.buffer === memory.buffer;
}

/** Finds the properties of a socket in which net.Socket keeps its option `onread`. */
function findParts() {
	const { versions, env } = process;
	const { FRAMEMASK_READS: wanted = '' } = env;
	// Bun and Deno have a net.Socket of their own.
	if (versions.bun !== undefined || versions.deno !== undefined || wanted === 'events') return null;
	if (wanted !== '' && wanted !== 'shared') warnOfVariable('FRAMEMASK_READS', wanted, '"events" or "shared"');
	const option = { buffer: Buffer.alloc(1), callback: onRead };
	const socket = new modules.net.Socket({ onread: option });
	const keys = Object.getOwnPropertySymbols(socket);
	const buffer = keys.find((key) => socket[key] === option.buffer);
	const callback = keys.find((key) => socket[key] === option.callback);
	const { emit } = socket;
	// Node.js's is emit(type, ...args). One in its place, such as node:domain's, shall see events.
	return buffer === undefined || callback === undefined || emit.length !== 1 ? null : { buffer, callback, emit };
}

/**
 * Whether it is a net.Socket or TLSSocket that is open, reads as Node.js made it, without an
 * `onread` of its own.
 */
function isUnchanged(socket) {
	const { Socket } = modules.net;
	return (
		socket instanceof Socket &&
		['emit', 'pause', 'push', 'read', 'resume'].every((name) => socket[name] === Socket.prototype[name]) &&
		socket[parts.buffer] === null &&
		socket[parts.callback] === null &&
		typeof socket._handle?.useUserBuffer === 'function'
	);
}

/** The memory for handles of a class; null if it is not known how they are read. */
function memoryFor(name) {
	if (name === 'TLSWrap') return tlsMemory;
	return name === 'TCP' || name === 'Pipe' ? memory : null;
}

function createMemories() {
	before = modules.crypto.randomBytes(SIZE);
	memory = createMemory(SIZE);
	tlsMemory = createMemory(TLS_SIZE);
}

function createMemory(size) {
	const created = copyOf(before, 0, size);
	// A socket shows its properties in logs, which shall not show another socket's bytes.
	// Defined, as a program may have frozen the prototype.
	Object.defineProperty(created, modules.util.inspect.custom, { value: () => '<shared memory>' });
	return created;
}

/**
 * `pause` of a socket with shared reads: of the stream, as without `onread`. It reads on until its
 * buffer is full, so that a paused socket sees a lost peer. With `onread`, Node.js's stops reading.
 */
function pauseStream() {
	return modules.stream.Duplex.prototype.pause.call(this);
}

/** Pauses a stream, and stops reading at once if it is a socket with shared reads. */
function stopReading(stream) {
	if (stream[kListener] === undefined) stream.pause();
	else modules.net.Socket.prototype.pause.call(stream);
}

/** The callback of `onread`: a read has put so many bytes there. False stops reading. */
function onRead(length, bytes) {
	if (parts === null || (before !== null && !prove(bytes, length))) {
		this.destroy(new Error('This Node.js does not read into shared memory. Set FRAMEMASK_READS=events'));
		return false;
	}
	// A read within a listener is TLS: `memory` has the chunk of that listener.
	if (isLent || !isAlone(this)) return this.push(copyOf(bytes, 0, length));
	if (bytes !== memory) memory.set(new FastBuffer(bytes.buffer, 0, length));
	isLent = true;
	try {
		this[kListener](new FastBuffer(memory.buffer, 0, length)); // not `emit`, which could be replaced
	} finally {
		isLent = false;
	}
	return true;
}

/**
 * Looks whether the first read has gone into the memory. If Node.js has changed so that it does
 * not, no other socket shares its reads.
 */
function prove(bytes, length) {
	if (bytes.compare(before, 0, length, 0, length) !== 0) before = null;
	else if (length >= MIN_PROOF) parts = null;
	return parts !== null;
}

/** Whether only the listener would see a chunk, and at once. */
function isAlone(socket) {
	const listeners = socket.listeners('data');
	return (
		listeners.length === 1 &&
		listeners[0] === socket[kListener] &&
		socket.emit === parts.emit &&
		socket.readableDidRead && // which the first chunk sets in the stream
		socket.readableFlowing === true &&
		socket.readableLength === 0 &&
		socket.readableEncoding === null
	);
}

module.exports = { canShareReads, isShared, shareReads, stopReading };
