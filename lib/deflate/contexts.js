'use strict';

const { vm } = require('../shared/node-modules');
const { memoryError } = require('../shared/errors');
const { ofProcess } = require('../shared/of-process');
const { runOutside } = require('../shared/outside');
const { Queue } = require('../shared/queue');
const { nextTick, setImmediate } = require('../shared/ticks');
const { ZlibHandle } = require('./zlib-handle');

// Contexts of zlib, idle or borrowed, and the jobs of its thread pool.

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

/** Those that are released when they have not been used for a while. */
const lapsing = new Set();
let isRepeated = false;

/** Has a context released when it has not been used for a while. Called at each use. */
function noteUse(context) {
	context.isUsed = true;
	if (lapsing.has(context)) return;
	lapsing.add(context);
	if (isRepeated) return;
	isRepeated = true;
	runOutside(repeat, releaseIdle);
}

/**
 * The idle contexts of one kind: borrowed for a message, and given back at its end. As many are kept
 * as the thread pool uses at a time, until they have not been used for a while.
 */
class ContextKind {
	/**
	 * @param {(options: import('node:zlib').ZlibOptions) => import('node:zlib').Zlib} create
	 * @param {boolean} lapses whether a connection's own is released after a while without use
	 */
	constructor(create, options, lapses) {
		this.isUsed = false;
		this.options = options;
		this.lapses = lapses;
		this._create = create;
		this._idle = [];
	}

	/** No connection's asynchronous context stays with a handle that others use. */
	open() {
		let stream;
		try {
			stream = runOutside(this._create, this.options);
		} catch (cause) {
			throw memoryError(cause);
		}
		// zlib may report a second error, or one while nobody listens.
		stream.on('error', () => {});
		return new ZlibHandle(stream);
	}

	borrow() {
		noteUse(this);
		return this._idle.pop() ?? this.open();
	}

	/** One that has failed, or still has output, is closed. */
	giveBack(handle) {
		if (handle.isSound) handle.reset();
		// One that has not run yet allocates in `reset`, which may fail.
		if (handle.isSound && this._idle.length < MAX_JOBS) this._idle.push(handle);
		else handle.close();
	}

	release() {
		for (const handle of this._idle) handle.close();
		this._idle = [];
	}
}

/** The context of one direction of a connection: borrowed for a message, or its own. */
class Context {
	constructor(kind, isOwn) {
		/** Whether it has been used since `releaseIdle` looked at it last. */
		this.isUsed = false;
		/** Whether it is in the thread pool, or waits for it. */
		this.isBusy = false;
		/** Whether it is the connection's alone, and kept from one message to the next. */
		this.isOwn = isOwn;
		this._kind = kind;
		this._handle = null;
		/** Takes the job back that waits for the thread pool. */
		this._takeBack = null;
	}

	/** @returns {ZlibHandle} of the message, or of all those before it */
	open() {
		if (this.isOwn && this._kind.lapses) noteUse(this);
		// A final block has ended the stream, in the thread pool.
		if (this._handle?.stream.readableEnded) this.release();
		this._handle ??= this.isOwn ? this._kind.open() : this._kind.borrow();
		return this._handle;
	}

	/**
	 * Writes bytes in the thread pool, as soon as there is room. Calls back with an error, or the output
	 * in chunks and the bytes. Nothing else may use the context meanwhile.
	 *
	 * @param {() => Buffer} take gives the bytes then
	 */
	runLater(take, limit, callback) {
		this.isBusy = true;
		const end = (error, chunks, bytes) => {
			this.isBusy = false;
			this._takeBack = null;
			callback(error === null ? null : memoryError(error), chunks, bytes);
		};
		this._takeBack = runInPool((done) => {
			const bytes = take();
			this.open().runStream(bytes, limit, (error, chunks) => {
				done();
				end(error, chunks, bytes);
			});
		}, end);
	}

	/** Takes back what waits for the thread pool: nobody is called back. */
	takeBack() {
		if (this._takeBack === null || !this._takeBack()) return false;
		this._takeBack = null;
		this.isBusy = false;
		return true;
	}

	/** After a message that the next one does not refer to, a borrowed context is another's. */
	endMessage() {
		if (this.isOwn) this._handle?.reset();
		else this.release();
	}

	/** Gives it back, or closes it. The next message that needs one begins another. */
	release(hasFailed = false) {
		lapsing.delete(this);
		const handle = this._handle;
		this._handle = null;
		if (this.isOwn || hasFailed) handle?.close();
		else if (handle !== null) this._kind.giveBack(handle);
	}

	/** Releases it for good: what the thread pool puts out is lost. */
	end() {
		this.takeBack();
		this.release();
	}
}

/**
 * Releases the contexts that have not been used since the last call.
 *
 * @returns {boolean} whether some are left
 */
function releaseIdle() {
	const due = [];
	for (const context of lapsing) {
		if (!context.isUsed && !context.isBusy) {
			lapsing.delete(context);
			due.push(context);
		}
		context.isUsed = false;
	}
	releaseSome(due);
	isRepeated = lapsing.size !== 0;
	return isRepeated;
}

/** So many contexts are released in a turn, in a millisecond: 5,000 would take 26 to 95. */
const RELEASED_AT_ONCE = 64;

function releaseSome(due) {
	for (const context of due.splice(-RELEASED_AT_ONCE)) {
		// Unless it has been used meanwhile.
		if (!lapsing.has(context)) context.release();
	}
	if (due.length !== 0) runOutside(setImmediate, releaseSome, due);
}

module.exports = { Context, ContextKind, MAX_JOBS, noteUse, releaseIdle, runInPool };
