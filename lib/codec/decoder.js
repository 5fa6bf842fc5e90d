'use strict';

const { checkBytes, copyOf, lengthOf, view } = require('../shared/buffers');
const { showPublicState } = require('../shared/inspect');
const { MODE_MASKED } = require('../shared/protocol');
const { ChunkQueue } = require('./chunk-queue');
const { ENDED, INFLATING, INFLATING_PAUSED, PAUSED, RUNNING } = require('./delivery');
const { FrameFinder } = require('./frame-finder');
const { ENTRY } = require('./frame-table');

/**
 * RFC 6455 from bytes to messages. index.d.ts documents the options and handlers.
 *
 * The way of a chunk: `write` queues it, FrameFinder finds its frames, Delivery delivers them.
 *
 * With the option `borrowed` a chunk is the caller's again when `write` returns: what is delivered
 * as bytes is copied first, and what is not delivered yet when `write` returns.
 */
class Decoder extends FrameFinder {
  /**
   * @param {import('../..').DecoderOptions} options
   * @throws {TypeError | RangeError} if an option is not acceptable
   */
  constructor(options) {
    super(options);
    this._busy = false;
    // The chunks behind the current one.
    this._queue = null;
  }

  /** The end of the connection that the decoder is at: 'server' or 'client'. */
  get role() {
    return (this._mode & MODE_MASKED) !== 0 ? 'server' : 'client';
  }

  /** Whether a Close frame or an error came, or `stop` was called: what follows is ignored. */
  get closed() {
    return this._state === ENDED;
  }

  /** Whether `pause` was called, and `resume` was not called since. */
  get paused() {
    return this._state === PAUSED || this._state === INFLATING_PAUSED;
  }

  /** Whether chunks are the caller's again when `write` returns. */
  get borrowed() {
    return this._borrowed;
  }

  /** Whether a message is inflated in the thread pool: what follows waits. */
  get inflating() {
    return this._state === INFLATING || this._state === INFLATING_PAUSED;
  }

  /** During `onMessage`: the lengths of the message's fragments, if the option asked for them. */
  get fragmentLengths() {
    return this._fragmentLengths;
  }

  /**
   * Decodes bytes of the connection and calls the handlers. The chunk belongs to the decoder from
   * then on: payloads are unmasked in place, and delivered Buffers are views of the chunk. With the
   * option `borrowed` it belongs to the decoder until `write` returns.
   *
   * If a handler throws, `write` throws; the next `write` or `resume` delivers what follows.
   *
   * @param {Uint8Array} chunk
   * @returns {boolean} false while the decoder is paused, or a message is inflated in the thread
   *   pool: do not read the connection then
   * @throws {TypeError} if the chunk is not a Buffer or Uint8Array, or its memory is detached
   * @throws {FrameError} if the peer broke the protocol and there is no `onError`
   */
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

  /** Whether the connection is to be read on. */
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

  /** Stops delivery until `resume`, in the middle of a chunk too. */
  pause() {
    if (this._state === RUNNING) this._state = PAUSED;
    else if (this._state === INFLATING) this._state = INFLATING_PAUSED;
  }

  /** Delivers what was held back by `pause` or by a handler that threw, and goes on. */
  resume() {
    if (this._state === PAUSED) this._state = RUNNING;
    else if (this._state === INFLATING_PAUSED) this._state = INFLATING;
    this._run();
  }

  /** Ignores all that follows, the rest of the current chunk too, and releases the memory. */
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

  /** Releases the memory of a decoder that has ended. */
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
