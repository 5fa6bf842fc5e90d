'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, EMPTY: NOTHING, copyOf, view } = require('../shared/buffers');
const { invalidState, tooBigError } = require('../shared/errors');
const { nextTick } = require('../shared/ticks');

// Every undocumented part of Node's zlib in use, since Node.js 9, as by pngjs. `_handle` is the binding
// below a stream; `_writeState` has the rest of `writeSync`: output room, then input. `_outBuffer`,
// from `_outOffset` to `_chunkSize`: where the thread pool, which works while
// `_writableState.writing`, puts the output.

const { Z_NO_FLUSH, Z_SYNC_FLUSH } = zlib.constants;

/** Output goes here first. It is never given away: results are used at once, or copied. */
let scratch = null;
const OUTPUT_SIZE = 64 * 1024;

/** The same for the thread pool, one for each job at a time: new memory takes 20 µs. */
const rooms = [];

/** The output of a run: full scratches, copied, and then the bytes in the scratch. */
const chunks = [];
let chunkBytes = 0;
let used = 0;

/** A zlib stream, used without its JavaScript: 4 µs for a small message instead of 11 to 29. */
class ZlibHandle {
	constructor(stream) {
		/** The stream itself, for the thread pool. */
		this.stream = stream;
		/** Why the last run ended early; null if it did not. */
		this.error = null;
		this._handle = stream._handle;
		this._state = stream._writeState;
		this._onStreamError = this._handle?.onerror;
		this._onError = (message, errno, code) => {
			this.error = Object.assign(new Error(message), { errno, code });
		};
		this._setRoom(NOTHING);
	}

	/**
	 * Compresses or decompresses bytes, and adds the result to the output of this thread.
	 *
	 * @returns {number} how many bytes zlib has not taken: it has ended, or put out more than `limit`
	 * @throws {Error} if the stream is closed, or in the thread pool: Node.js would abort the process
	 */
	run(bytes, length, limit, flush = Z_SYNC_FLUSH) {
		this._checkIdle();
		scratch ??= Buffer.allocUnsafeSlow(OUTPUT_SIZE);
		this.error = null;
		this._handle.onerror = this._onError;
		let left = length;
		try {
			do {
				if (used === OUTPUT_SIZE) {
					chunks.push(Buffer.from(scratch));
					chunkBytes += OUTPUT_SIZE;
					used = 0;
				}
				this._handle.writeSync(flush, bytes, length - left, left, scratch, used, OUTPUT_SIZE - used);
				if (this.error !== null) break;
				used = OUTPUT_SIZE - this._state[0];
				left = this._state[1];
			} while (used === OUTPUT_SIZE && chunkBytes + used <= limit);
		} finally {
			this._handle.onerror = this._onStreamError;
		}
		return left;
	}

	/**
	 * Compresses bytes, and ends the output by a sync flush. A message that refers to no other takes
	 * one step, 3 µs less. Others take two, as with ws: one step ends blocks elsewhere if the window
	 * is smaller than the message, and a flush of nothing after another would not come out.
	 */
	compress(bytes, length, isAlone) {
		dropOutput();
		this.run(bytes, length, Infinity, isAlone ? Z_SYNC_FLUSH : Z_NO_FLUSH);
		if (!isAlone && this.error === null) this.run(NOTHING, 0, Infinity);
		if (this.error !== null) throw this.error;
	}

	/**
	 * Writes bytes to the stream, in the thread pool. Calls back once, with the output in chunks or an
	 * error, such as for more than `limit` bytes. Nothing else may use it meanwhile.
	 */
	runStream(bytes, limit, callback) {
		const { stream } = this;
		const room = rooms.pop() ?? Buffer.allocUnsafeSlow(OUTPUT_SIZE);
		const chunks = [];
		let total = 0;
		let hasEnded = false;
		const end = (error) => {
			if (hasEnded) return;
			hasEnded = true;
			stream.off('data', collect).off('error', end).off('close', fail);
			// One with an error may still be at work.
			if (error === null) {
				this._setRoom(NOTHING);
				rooms.push(room);
			}
			callback(error, chunks);
		};
		const fail = () => end(new Error('A zlib stream was closed'));
		const collect = (chunk) => {
			total += chunk.length;
			try {
				if (total > limit) throw tooBigError();
				chunks.push(chunk.buffer === room.buffer ? copyOf(chunk, 0, chunk.length) : chunk);
			} catch (error) {
				end(error);
			}
		};
		this._setRoom(room);
		stream.on('data', collect).on('error', end).on('close', fail);
		stream.write(bytes);
		// Deno 2.9 calls back and then emits 'error', in a tick that waits already.
		stream.flush(Z_SYNC_FLUSH, () => nextTick(end, null));
	}

	/**
	 * Gives the thread pool memory for its output, or takes it: a stream holds 16 KiB all the time, and
	 * takes a way to the pool and back for each 16 KiB.
	 */
	_setRoom(room) {
		const { stream } = this;
		if (stream._outBuffer?.length !== stream._chunkSize) return;
		stream._outBuffer = room;
		stream._chunkSize = room.length;
		stream._outOffset = 0;
	}

	reset() {
		this._checkIdle();
		this.stream.reset();
	}

	/** Whether it can be used for another message once it is reset: nothing has failed or is left. */
	get isSound() {
		const { stream } = this;
		const isOver = stream.destroyed || stream.readableEnded || stream.errored;
		return this.error === null && !isOver && stream.readableLength === 0 && !stream._writableState.writing;
	}

	close() {
		this.stream.close();
	}

	_checkIdle() {
		const { stream } = this;
		if (stream._writableState.writing || stream.destroyed) throw invalidState('A zlib stream is in use, or closed');
	}
}

/** How many bytes the runs since the output was taken last have put out. */
function outputLength() {
	return chunkBytes + used;
}

/** @returns {Buffer} the output of the runs; memory that the next run overwrites */
function lendOutput() {
	const last = view(scratch, 0, used);
	const output = chunks.length === 0 ? last : Buffer.concat([...chunks, last]);
	dropOutput();
	return output;
}

/**
 * @returns {Buffer} a copy of the output in Node's pool, which takes a fifth of the time; a large
 *   one in its own memory
 */
function copyOutput() {
	const output = lendOutput();
	return output.length < Buffer.poolSize >>> 1 ? Buffer.from(output) : copyIfShared(output);
}

/** @returns {Buffer} the output of a run, or of zlib, in memory that nothing else is in */
function copyIfShared(output) {
	const { buffer: memory, length } = output;
	// An empty output may be EMPTY.
	if (length !== 0 && memory !== scratch?.buffer && memory.byteLength <= length * 2) return output;
	return copyOf(output, 0, length);
}

function dropOutput() {
	chunks.length = 0;
	chunkBytes = 0;
	used = 0;
}

/**
 * Whether handles behave as expected: for a message that refers to the one before, the same without
 * the window, and an error that is reported and overcome. Takes 0.3 to 1.2 ms.
 */
function trySyncZlib(library) {
	try {
		const deflater = new ZlibHandle(library.createDeflateRaw());
		const inflater = new ZlibHandle(library.createInflateRaw());
		const text = Buffer.from('{"framemask":"framemask"}');
		/** @returns {number} the size that the text is compressed to; 0 if it does not come back */
		const roundTrip = () => {
			dropOutput();
			deflater.run(text, text.length, OUTPUT_SIZE);
			const deflated = Buffer.from(lendOutput());
			const left = inflater.run(deflated, deflated.length, OUTPUT_SIZE);
			return left === 0 && text.equals(lendOutput()) ? deflated.length : 0;
		};
		const first = roundTrip();
		const second = roundTrip();
		// A block type that does not exist.
		inflater.run(Buffer.from([7]), 1, OUTPUT_SIZE);
		dropOutput();
		const hasFailed = inflater.error?.code === 'Z_DATA_ERROR';
		deflater.reset();
		inflater.reset();
		const works = hasFailed && second > 0 && second < first && roundTrip() === first;
		deflater.close();
		inflater.close();
		return works;
	} catch {
		dropOutput();
		return false;
	}
}

let tried;

/** Whether handles work here. Node.js 20 to 26 and Bun 1.4 have them, Deno 2.9 has not. */
function supportsSyncZlib() {
	tried ??= trySyncZlib(zlib);
	return tried;
}

module.exports = {
	OUTPUT_SIZE,
	ZlibHandle,
	copyIfShared,
	copyOutput,
	dropOutput,
	lendOutput,
	outputLength,
	rooms,
	supportsSyncZlib,
	trySyncZlib
};
