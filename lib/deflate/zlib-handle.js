'use strict';

const { vm, zlib } = require('../shared/node-modules');
const { Buffer, EMPTY: NOTHING, copyOf, view } = require('../shared/buffers');
const { invalidState, memoryError, tooBigError } = require('../shared/errors');
const { ofProcess } = require('../shared/of-process');
const { runOutside } = require('../shared/outside');
const { Queue } = require('../shared/queue');
const { nextTick, setImmediate } = require('../shared/ticks');

// Every undocumented part of Node's zlib in use, since Node.js 9, as by pngjs. `_handle` is the binding
// below a stream; `_writeState` has the rest of `writeSync`: output room, then input. `_outBuffer`,
// from `_outOffset` to `_chunkSize`: where the thread pool, which works while
// `_writableState.writing`, puts the output.

const { Z_NO_FLUSH, Z_SYNC_FLUSH } = zlib.constants;

/** Output goes here first. It is never given away: results are used at once, or copied. */
let scratch = null;
const OUTPUT_SIZE = 64 * 1024;

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
	 * Compresses bytes, and ends the output by a sync flush. In two steps, as ws has it: one ends
	 * blocks elsewhere if the window is smaller than the message, and a flush of nothing after
	 * another would not come out. `compressAlone` takes 3 µs less.
	 */
	compress(bytes, length) {
		dropOutput();
		this.run(bytes, length, Infinity, Z_NO_FLUSH);
		if (this.error === null) this.run(NOTHING, 0, Infinity);
		if (this.error !== null) throw this.error;
	}

	/** `compress` of a message that refers to no other. */
	compressAlone(bytes, length) {
		dropOutput();
		this.run(bytes, length, Infinity);
		if (this.error !== null) throw this.error;
	}

	/**
	 * Writes bytes to the stream, in the thread pool. Calls back once, with the output in chunks or an
	 * error, such as for more than `limit` bytes. Nothing else may use it meanwhile.
	 */
	runStream(bytes, limit, callback) {
		const { stream } = this;
		const chunks = [];
		let total = 0;
		let hasEnded = false;
		const end = (error) => {
			if (hasEnded) return;
			hasEnded = true;
			stream.off('data', collect).off('error', end).off('close', fail);
			// One with an error may still be at work.
			if (error === null) this._setRoom(NOTHING);
			callback(error, chunks);
		};
		const fail = () => end(new Error('A zlib stream was closed'));
		const collect = (chunk) => {
			chunks.push(chunk);
			total += chunk.length;
			if (total > limit) end(tooBigError());
		};
		this._setRoom(Buffer.allocUnsafeSlow(OUTPUT_SIZE));
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

/**
 * How many jobs are in zlib's thread pool at a time, as with ws. Each has a context of its own, 268
 * KB to deflate: 2.7 GB at once for a broadcast to 10,000 connections.
 */
const MAX_JOBS = 10;

let running = 0;
let isStarting = false;
const waiting = new Queue();

/**
 * Runs a job as soon as there is room for it. It calls `done` once, when it has ended. If it throws
 * instead, `fail` gets the error in a tick of its own.
 *
 * @returns {() => boolean} takes back a job that still waits; false if it has begun
 */
function runInPool(job, fail) {
	const entry = { job, fail };
	if (running === MAX_JOBS) waiting.push(entry);
	else start(entry);
	return () => {
		const isWaiting = entry.job !== null;
		entry.job = entry.fail = null;
		return isWaiting;
	};
}

function start(entry) {
	const { job, fail } = entry;
	// Taken back.
	if (job === null) return;
	entry.job = entry.fail = null;
	running++;
	try {
		job(endJob);
	} catch (error) {
		endJob();
		nextTick(fail, error);
	}
}

/** A loop starts the next jobs: thousands that end at once would overflow the stack. */
function endJob() {
	running--;
	if (isStarting) return;
	isStarting = true;
	while (waiting.length !== 0 && running < MAX_JOBS) start(waiting.shift());
	isStarting = false;
}

/** A context that has not been used for this long, and at most twice as long, is released. */
const IDLE_AFTER = 30_000;

/**
 * One interval for all copies. A timer keeps its function, and the AsyncLocalStorage store in which
 * it was set, such as that of a test file. So it refers to the functions of copies weakly; one that
 * returns false is called no more.
 */
const REPEATER = `(milliseconds) => {
  const calls = new Set();
  let timer = null;
  const run = () => {
    for (const held of calls) if (held.deref()?.() !== true) calls.delete(held);
    if (calls.size !== 0) return;
    clearInterval(timer);
    timer = null;
  };
  return (call) => {
    calls.add(new WeakRef(call));
    timer ??= setInterval(run, milliseconds);
    // The process may end while it waits.
    timer.unref();
  };
}`;
const repeat = ofProcess('repeat.1', () => vm.runInThisContext(REPEATER)(IDLE_AFTER));

const contexts = new Set();
let isRepeated = false;

/** Has a context released when it has not been used for a while. Called at each use. */
function noteUse(context) {
	context.isUsed = true;
	if (contexts.has(context)) return;
	contexts.add(context);
	if (isRepeated) return;
	isRepeated = true;
	runOutside(repeat, releaseIdle);
}

/**
 * The contexts of one kind that no connection uses: borrowed for a message, and given back at its
 * end. As many are kept as the thread pool uses at a time, until they have been idle.
 */
class IdleContexts {
	/** @param {() => import('node:zlib').Zlib} create */
	constructor(create) {
		this.isUsed = false;
		this._create = create;
		this._idle = [];
	}

	borrow() {
		noteUse(this);
		return this._idle.pop() ?? openHandle(this._create);
	}

	/** One that has failed, or still has output, is closed. */
	giveBack(handle) {
		if (this._idle.length === MAX_JOBS || !handle.isSound) {
			handle.close();
			return;
		}
		handle.reset();
		this._idle.push(handle);
	}

	release() {
		for (const handle of this._idle) handle.close();
		this._idle = [];
	}
}

/** No connection's asynchronous context stays with a handle that others use. */
function openHandle(create) {
	let stream;
	try {
		stream = runOutside(create);
	} catch (cause) {
		throw memoryError(cause);
	}
	// zlib may report a second error, or one while nobody listens.
	stream.on('error', () => {});
	return new ZlibHandle(stream);
}

/** For a context that has been released already. */
function forgetContext(context) {
	contexts.delete(context);
}

/**
 * Releases the contexts that have not been used since the last call.
 *
 * @returns {boolean} whether some are left
 */
function releaseIdle() {
	const due = [];
	for (const context of contexts) {
		if (!context.isUsed && !context.isBusy) {
			contexts.delete(context);
			due.push(context);
		}
		context.isUsed = false;
	}
	releaseSome(due);
	isRepeated = contexts.size !== 0;
	return isRepeated;
}

/** So many contexts are released in a turn, in a millisecond: 5,000 would take 26 to 95. */
const RELEASED_AT_ONCE = 64;

function releaseSome(due) {
	for (const context of due.splice(-RELEASED_AT_ONCE)) {
		// Unless it has been used meanwhile.
		if (!contexts.has(context)) context.release();
	}
	if (due.length !== 0) runOutside(setImmediate, releaseSome, due);
}

module.exports = {
	IdleContexts,
	MAX_JOBS,
	OUTPUT_SIZE,
	ZlibHandle,
	dropOutput,
	forgetContext,
	noteUse,
	releaseIdle,
	openHandle,
	runInPool,
	supportsSyncZlib,
	outputLength,
	copyOutput,
	lendOutput,
	copyIfShared,
	trySyncZlib
};
