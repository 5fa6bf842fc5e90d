'use strict';

const { Buffer, view } = require('../shared/buffers');
const { callInOrder } = require('../shared/call-in-order');
const { goneError, invalidType } = require('../shared/errors');
const { nextTick } = require('../shared/ticks');
const { LARGE_SLAB, acquireSlab, isPrivate, releaseSlab } = require('./slabs');

/** A part of a slab, followed by a Buffer of the encoder's own or by another slab. */
class SlabPart {
	constructor(slab, start, end) {
		this.slab = slab;
		this.start = start;
		this.end = end;
	}

	view() {
		return view(this.slab, this.start, this.end);
	}

	/** A view if the slab is given away with it, else a copy. */
	toBuffer() {
		if (this.givesSlab) return this.view();
		const copy = Buffer.allocUnsafeSlow(this.end - this.start);
		this.slab.copy(copy, 0, this.start, this.end);
		return copy;
	}

	/**
	 * Clears the slab behind a part that is given away: it has bytes of earlier users there. Those in
	 * front of the part are of the same write.
	 */
	clearRest() {
		if (!isPrivate(this.slab)) this.slab.fill(0, this.end);
	}

	/** Whether the slab is private, or so full that a copy would cost more than a new slab. */
	get givesSlab() {
		return isPrivate(this.slab) || (this.end - this.start) * 2 > this.slab.length;
	}
}

/**
 * Collects bytes and sends them in one write. `reserve` makes room in a slab, `advance` ends the
 * bytes that were written there, `push` adds a Buffer that is sent from where it lies.
 */
class WriteBuffer {
	/** `recycle`: see Encoder. With a `writable`, it flushes by itself. */
	constructor(recycle, writable) {
		this.recycles = recycle;
		/** The bytes that have collected. */
		this.pending = 0;
		this._writable = writable;
		this._scheduled = false;
		this._flushing = false;
		/** Whether bytes waited in the writable after the last flush. */
		this.isBehind = false;
		this._callback = undefined;
		// Uint8Arrays and SlabParts, and after them `slab[_start]` to `slab[_end - 1]`.
		this._parts = null;
		/** Where `reserve` has made room. */
		this.slab = null;
		this._start = 0;
		this._end = 0;
	}

	// Called by a sink during its `write`, it returns at once: the bytes are sent afterwards.
	flush(writable = this._writable, callback = undefined) {
		if (typeof writable?.write !== 'function') throw invalidType('writable', 'a writable stream', writable);
		if (callback !== undefined && !this._addCallback(callback)) return true;
		if (this.pending === 0) return true;
		if (hasEnded(writable)) return this.drop(writable);
		let more = true;
		if (!this._flushing) {
			this._flushing = true;
			// After a failed write, corked ones alone reach the system, as ws's do.
			const hasFailed = writable.writable === false;
			if (hasFailed) writable.cork?.();
			try {
				do more = this._send(writable);
				while (this.pending !== 0 && !hasEnded(writable));
			} finally {
				this._flushing = false;
				if (hasFailed) writable.uncork?.();
			}
			this.isBehind = writable.writableLength > 0;
			if (this.pending !== 0) return this.drop(writable);
		}
		// A stream says that it is full after a large write even if the system took all of it.
		return more || (writable.writableLength === 0 && writable.writable !== false);
	}

	/** Drops the collected bytes: a write to an ended connection would only emit an error. */
	drop(writable) {
		const callback = this._takeCallback();
		releaseSlabs(this._reset(), false);
		return tellEnded(writable, callback);
	}

	take() {
		const parts = this._reset();
		const buffers = parts.map((part) => (part instanceof SlabPart ? part.toBuffer() : part));
		releaseSlabs(parts, true);
		return this._checkWhole(buffers);
	}

	/** Keeps a callback for the next write; false if there is nothing to write. */
	_addCallback(callback) {
		if (typeof callback !== 'function') throw invalidType('callback', 'a function', callback);
		if (this.pending === 0) {
			nextTick(callback, null);
			return false;
		}
		const earlier = this._callback;
		// A sink that flushes during its write gives more than one.
		this._callback = earlier === undefined ? callback : (error) => callInOrder([earlier, callback], error);
		return true;
	}

	_takeCallback() {
		const callback = this._callback;
		this._callback = undefined;
		return callback;
	}

	_send(writable) {
		const callback = this._takeCallback();
		// With recycle, slabs are written as they are, but not after earlier bytes, which would hold
		// them for long.
		const recycled = this.recycles && writable.writableLength === 0;
		const slab = this.slab;
		if (this._parts === null && (recycled || isPrivate(slab))) {
			const bytes = view(slab, this._start, this._end);
			this._forget();
			const more = writable.write(bytes, callback);
			if (recycled && writable.writableLength === 0) releaseSlab(slab);
			return more;
		}
		// Without a slab there are only Buffers that are sent from where they lie.
		if (slab === null) return writeAll(writable, this._checkWhole(this._reset()), callback);
		if (!recycled) return writeAll(writable, this.take(), callback);
		const parts = this._reset();
		const buffers = parts.map((part) => (part instanceof SlabPart ? part.view() : part));
		const more = writeAll(writable, this._checkWhole(buffers), callback);
		if (writable.writableLength === 0) releaseSlabs(parts, false);
		return more;
	}

	/** Begins anew, and returns the parts so far. */
	_reset() {
		this._seal();
		const parts = this._parts ?? [];
		this._parts = null;
		this._forget();
		return parts;
	}

	/** Forgets the bytes in the slab, and the slab unless it is private. */
	_forget() {
		this.pending = 0;
		this._start = this._end;
		if (this.slab !== null && !isPrivate(this.slab)) this.slab = null;
	}

	/** Makes room for at most `size` bytes, up to LARGE_SLAB. Returns where they go in `slab`. */
	reserve(size) {
		// A slab that a sink has had, and transferred, is empty.
		if (this.slab === null || this.slab[0] === undefined || this.slab.length - this._end < size) {
			this._changeSlab(size);
		}
		return this._end;
	}

	_changeSlab(size) {
		const { slab, _start: start } = this;
		const used = slab === null || slab[0] === undefined ? 0 : this._end - start;
		// Moving the bytes of a small slab is cheaper than a second entry in writev.
		const moves = used !== 0 && slab.length < LARGE_SLAB && used + size <= LARGE_SLAB;
		if (!moves) this._seal();
		// After earlier bytes it would not be reused, but held, or copied.
		this.slab = acquireSlab(moves ? used + size : size, this.recycles && !this.isBehind);
		this._start = 0;
		this._end = 0;
		if (!moves) return;
		slab.copy(this.slab, 0, start, start + used);
		this._end = used;
		if (start === 0) releaseSlab(slab);
	}

	advance(end) {
		this.pending += end - this._end;
		this._end = end;
		if (this._writable !== null && !this._scheduled) this._schedule();
	}

	/** Adds a copy of a frame, or of a piece of one. */
	copy(bytes, length) {
		const at = this.reserve(length);
		this.slab.set(bytes, at);
		this.advance(at + length);
	}

	push(bytes) {
		this._seal();
		this._addPart(bytes);
		this.pending += bytes.length;
		if (this._writable !== null && !this._scheduled) this._schedule();
	}

	/** Adds a frame that can't be sent: `flush` and `take` throw the error, and all is lost. */
	pushLost(error) {
		this.push({ length: 1, error });
	}

	/** Refuses a payload that is gone: the peer would take the frames after it for its bytes. */
	_checkWhole(buffers) {
		for (let i = 0; i < buffers.length; i++) {
			if (buffers[i][0] !== undefined) continue;
			this.hasLost = true;
			throw buffers[i].error ?? goneError();
		}
		return buffers;
	}

	/** Ends the part of the slab that is written to. */
	_seal() {
		if (this.slab === null || this._start === this._end) return;
		this._addPart(new SlabPart(this.slab, this._start, this._end));
		this._start = this._end;
	}

	_addPart(part) {
		// `push` makes room for 17.
		if (this._parts === null) this._parts = [part];
		else this._parts.push(part);
	}

	_schedule() {
		this._scheduled = true;
		nextTick(flushScheduled, this);
	}
}

/** Whether frames have been lost: an own property of the few that have lost some. */
WriteBuffer.prototype.hasLost = false;

/** Returns the result of the last `write`; false if the writable has ended before it. */
function writeAll(writable, buffers, callback) {
	const last = buffers.length - 1;
	if (last === 0) return writable.write(buffers[0], callback);
	writable.cork?.();
	try {
		for (let i = 0; i < last; i++) {
			writable.write(buffers[i]);
			if (hasEnded(writable)) return tellEnded(writable, callback);
		}
		return writable.write(buffers[last], callback);
	} finally {
		writable.uncork?.();
	}
}

/**
 * Whether a write would only emit an error. After a failed write Node.js takes others until it has
 * destroyed the stream; their callbacks get the system's errors.
 */
function hasEnded(writable) {
	return writable.writable === false && (writable.destroyed || writable.writableEnded || !writable.errored);
}

/** Tells a callback that the stream has ended, in the words of Node.js's streams. */
function tellEnded({ destroyed }, callback) {
	if (callback !== undefined) {
		const error = new Error(destroyed ? 'Cannot call write after a stream was destroyed' : 'write after end');
		error.code = destroyed ? 'ERR_STREAM_DESTROYED' : 'ERR_STREAM_WRITE_AFTER_END';
		nextTick(callback, error);
	}
	return false;
}

/** Releases the slabs of parts. After `toBuffer` (`areTaken`), some have been given away. */
function releaseSlabs(parts, areTaken) {
	let slab = null;
	let free = false;
	for (const part of parts) {
		if (!(part instanceof SlabPart)) continue;
		if (part.slab !== slab) {
			if (free) releaseSlab(slab);
			slab = part.slab;
			free = true;
		}
		if (areTaken && part.givesSlab) {
			free = false;
			part.clearRest();
		}
	}
	if (free) releaseSlab(slab);
}

function flushScheduled(buffer) {
	buffer._scheduled = false;
	buffer.flush();
}

module.exports = { WriteBuffer, writeAll };
