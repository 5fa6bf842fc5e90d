'use strict';

const { Buffer, EMPTY, view } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');

/** The size of a slab: memory that the frames of all encoders are written into, one behind the other. */
const SLAB_SIZE = 64 * 1024;

// The slab in use, and how much of it is taken.
let slab = EMPTY;
let slabUsed = 0;

/**
 * Collects bytes and sends them in one write. Encoder extends it, and calls it to add bytes: `_reserve` makes room in the
 * slab, `_advance` ends what was written there, `_push` adds a Buffer of its own. FrameWriter calls nothing of Encoder.
 */
class FrameWriter {
  /**
   * @param {boolean} recycle whether the writable no longer reads written Buffers once its `writableLength` is 0
   * @param {import('node:stream').Writable | null} writable flushed to at the end of each turn of the event loop; null if
   *   the user calls `flush`
   */
  constructor(recycle, writable) {
    this._recycle = recycle;
    this._writable = writable;
    this._scheduled = false;
    this._pending = 0;
    // Complete Buffers, and behind them `_slab[_start]` to `_slab[_end - 1]`.
    this._chunks = null;
    this._slab = null;
    this._start = 0;
    this._end = 0;
  }

  /** The bytes collected since the last flush. */
  get pending() {
    return this._pending;
  }

  /**
   * Sends the collected bytes in one write.
   *
   * @param {import('node:stream').Writable} [writable] the connection; the option `writable` by default
   * @returns {boolean} whether the writable wants more; if not, wait for its event 'drain'. True if there was nothing to
   *   send. False if the writable has ended: the bytes are dropped then
   * @throws {TypeError} if there is no writable
   */
  flush(writable = this._writable) {
    const chunks = this._chunks;
    const current = this._slab;
    if (typeof writable?.write !== 'function') throw invalidType('writable', 'a writable stream', writable);
    if (current === null && chunks === null) return true;
    const start = this._start;
    const end = this._end;
    this._reset();
    // A write to a connection that has ended would only make it emit an error.
    if (writable.writable === false) return false;
    let more = true;
    if (chunks === null) {
      more = writable.write(view(current, start, end));
    } else {
      if (current !== null) chunks.push(view(current, start, end));
      if (chunks.length > 1) writable.cork?.();
      for (const chunk of chunks) more = writable.write(chunk);
      if (chunks.length > 1) writable.uncork?.();
    }
    if (current !== null) this._release(writable, current, start, end);
    // A stream says that it is full after a large write even if the system took all of it.
    return more || writable.writableLength === 0;
  }

  /**
   * Hands out the collected bytes, for a caller that sends them itself.
   *
   * @returns {Buffer[]}
   */
  take() {
    const chunks = this._chunks ?? [];
    if (this._slab !== null) {
      chunks.push(view(this._slab, this._start, this._end));
    }
    this._reset();
    return chunks;
  }

  /**
   * Makes room for a frame in the slab: behind this encoder's last frame, if no other encoder has written there since.
   *
   * @param {number} size the most bytes that the frame can have
   * @returns {number} where the frame goes in `_slab`
   */
  _reserve(size) {
    if (this._slab === slab && this._end === slabUsed && slab.length - slabUsed >= size) return slabUsed;
    this._seal();
    if (slab.length - slabUsed < size) {
      slab = Buffer.allocUnsafeSlow(SLAB_SIZE);
      slabUsed = 0;
    }
    this._slab = slab;
    this._start = slabUsed;
    this._end = slabUsed;
    return slabUsed;
  }

  /** @param {number} end where the frame ends in the slab */
  _advance(end) {
    this._pending += end - this._end;
    this._end = end;
    slabUsed = end;
    if (this._writable !== null && !this._scheduled) this._schedule();
  }

  /**
   * Adds bytes that are sent from where they lie.
   *
   * @param {Uint8Array} bytes
   */
  _push(bytes) {
    this._seal();
    this._chunks ??= [];
    this._chunks.push(bytes);
    this._pending += bytes.length;
    if (this._writable !== null && !this._scheduled) this._schedule();
  }

  /** Ends this encoder's part of the slab. */
  _seal() {
    if (this._slab === null) return;
    this._chunks ??= [];
    this._chunks.push(view(this._slab, this._start, this._end));
    this._slab = null;
  }

  _reset() {
    this._chunks = null;
    this._slab = null;
    this._pending = 0;
  }

  /**
   * Returns the end of the slab to the next frames, if the writable has used it and no other encoder has written behind it.
   *
   * @param {import('node:stream').Writable} writable
   * @param {Buffer} written
   * @param {number} start
   * @param {number} end
   */
  _release(writable, written, start, end) {
    if (this._recycle && writable.writableLength === 0 && written === slab && end === slabUsed) slabUsed = start;
  }

  /** Flushes at the end of this turn of the event loop. */
  _schedule() {
    this._scheduled = true;
    process.nextTick(flushScheduled, this);
  }
}

/** @param {FrameWriter} writer */
function flushScheduled(writer) {
  writer._scheduled = false;
  writer.flush();
}

module.exports = { FrameWriter, SLAB_SIZE };
