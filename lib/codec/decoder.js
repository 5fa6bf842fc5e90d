'use strict';

const { checkBytes, copyOf, lengthOf, view } = require('../shared/buffers');
const { showPublicState } = require('../shared/inspect');
const { MODE_MASKED } = require('../shared/protocol');
const { ChunkQueue } = require('./chunk-queue');
const { ENDED, INFLATING, INFLATING_PAUSED, PAUSED, RUNNING } = require('./delivery');
const { FrameFinder } = require('./frame-finder');
const { ENTRY } = require('./frame-table');

/**
 * RFC 6455 from bytes to messages: see index.d.ts. `write` queues a chunk, FrameFinder finds its
 * frames, Delivery delivers them.
 *
 * A `borrowed` chunk is copied as far as it is delivered as bytes, or not delivered when `write`
 * returns.
 */
class Decoder extends FrameFinder {
  constructor(options) {
    super(options);
    this._busy = false;
    // The chunks behind the current one.
    this._queue = null;
  }

  get role() {
    return (this._mode & MODE_MASKED) !== 0 ? 'server' : 'client';
  }

  get closed() {
    return this._state === ENDED;
  }

  get paused() {
    return this._state === PAUSED || this._state === INFLATING_PAUSED;
  }

  get borrowed() {
    return this._borrowed;
  }

  get inflating() {
    return this._state === INFLATING || this._state === INFLATING_PAUSED;
  }

  get fragmentLengths() {
    return this._fragmentLengths;
  }

  write(chunk) {
    checkBytes('chunk', chunk);
    if (this._state === ENDED) return true;
    const length = lengthOf(chunk);
    if (length !== 0) {
      const isBuffer = typeof chunk.latin1Slice === 'function' && chunk.length === length;
      const bytes = isBuffer ? chunk : view(chunk, 0, length);
      const waits = this._chunk !== null || this._busy;
      if (this._borrowed && !waits) return this._writeLent(bytes, length);
      this._addChunk(this._borrowed ? copyOf(bytes, 0, length) : bytes, length);
    }
    this._run();
    return this._wantsMore;
  }

  get _wantsMore() {
    return this._state === RUNNING || this._state === ENDED;
  }

  /** The part of `write` for a chunk that is the caller's again when it returns. */
  _writeLent(chunk, length) {
    this._beginChunk(chunk, length);
    try {
      this._run();
    } finally {
      if (this._chunk === chunk) this._keepRest(chunk);
    }
    return this._wantsMore;
  }

  /** Copies what is not delivered of a chunk. */
  _keepRest(chunk) {
    // One byte before the first payload: `_deliverScanned` needs one to see whether memory is
    // detached.
    const from = this._scanned === null ? this._position : this._scanned[1] - 1;
    if (this._scanned !== null) {
      for (let i = 0; i < this._scanned.length; i += ENTRY) {
        this._scanned[i + 1] -= from;
        this._scanned[i + 2] -= from;
      }
    }
    this._chunk = copyOf(chunk, from, this._chunkEnd);
    this._chunkEnd -= from;
    this._position -= from;
  }

  pause() {
    if (this._state === RUNNING) this._state = PAUSED;
    else if (this._state === INFLATING) this._state = INFLATING_PAUSED;
  }

  resume() {
    if (this._state === PAUSED) this._state = RUNNING;
    else if (this._state === INFLATING_PAUSED) this._state = INFLATING;
    this._run();
  }

  stop() {
    this._end();
    this._forget();
  }

  /** Decodes the current chunk and those behind it, unless a handler pauses or stops. */
  _run() {
    // `write` or `resume` in a handler: the loop below goes on with what they changed.
    if (this._busy) return;
    this._busy = true;
    try {
      this._resumeDelivery();
      while (this._chunk !== null && this._state === RUNNING) {
        this._decode(this._chunk);
        if (this._chunk !== null && this._scanned === null && this._position === this._chunkEnd) this._nextChunk();
      }
    } finally {
      this._busy = false;
      if (this._state === ENDED) this._forget();
    }
  }

  /** Goes on when a message has been inflated in the thread pool; `deliver` delivers it. */
  _goOn(deliver) {
    this._state = this._state === INFLATING ? RUNNING : PAUSED;
    this._held = deliver;
    try {
      this._run();
    } finally {
      this._onInflated?.();
    }
  }

  _forget() {
    this._chunk = null;
    this._scanned = null;
    this._queue = null;
    this._frame = null;
  }

  _addChunk(chunk, length) {
    if (this._chunk === null) {
      this._beginChunk(chunk, length);
    } else {
      this._queue ??= new ChunkQueue();
      this._queue.push(chunk);
    }
  }

  _nextChunk() {
    const next = this._queue === null ? null : this._queue.shift();
    // A chunk that was detached in the queue is empty. A length of 1 makes `_decode` notice.
    if (next !== null) this._beginChunk(next, Math.max(lengthOf(next), 1));
    else this._chunk = this._queue = null;
  }
}

showPublicState(Decoder, ['role', 'closed', 'paused', 'borrowed']);

module.exports = { Decoder };
