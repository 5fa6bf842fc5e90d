'use strict';

const { Buffer, EMPTY, view } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');

/** Frames of all encoders are written one behind the other into memory of this size, a slab. */
const SLAB_SIZE = 64 * 1024;

let slab = EMPTY;
let slabUsed = 0;

/**
 * The half of an encoder that collects bytes and sends them. What the bytes are is for the other half, lib/codec/encoder.js,
 * which extends it: it asks for room in the slab with `_reserve`, writes there, and says how far by `_advance`; or it has
 * memory of its own sent by `_push`.
 */
class FrameWriter {
  /**
   * @param {boolean} recycle whether a connection has used what was written to it once its `writableLength` is 0
   * @param {import('node:stream').Writable | null} writable where all goes at the end of each turn; null for by hand
   */
  constructor(recycle, writable) {
    this._recycle = recycle;
    this._writable = writable;
    this._scheduled = false;
    this._pending = 0;
    // Buffers that are complete, and after them what is written at the moment: a part of a slab.
    this._chunks = null;
    this._slab = null;
    this._start = 0;
    this._end = 0;
  }

  /** How many bytes have collected since the last flush. */
  get pending() {
    return this._pending;
  }

  /**
   * Writes all that has collected, in one write.
   *
   * @param {import('node:stream').Writable} [writable] the connection; the option `writable` by default
   * @returns {boolean} whether it wants more: if not, wait for its event 'drain'. True if there was nothing to write. What
   *   a connection that has ended can't take is dropped, and false returned
   * @throws {TypeError} if there is nothing to write to
   */
  flush(writable = this._writable) {
    const chunks = this._chunks;
    const current = this._slab;
    if (typeof writable?.write !== 'function') throw invalidType('writable', 'a writable stream', writable);
    if (current === null && chunks === null) return true;
    const start = this._start;
    const end = this._end;
    this._reset();
    // A connection that has ended takes nothing any more; to write to it would only make it emit an error.
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
    if (current !== null) this._giveBack(writable, current, start, end);
    // A stream calls itself full for a large write even if the system has taken all of it at once.
    return more || writable.writableLength === 0;
  }

  /**
   * Hands out all that has collected, for those who write it themselves.
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
   * Finds room in the slab, right behind this encoder's last frame if nobody has written there since.
   *
   * @param {number} size the most that the frame can take
   * @returns {number} where it begins in `slab`
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

  /** @param {Uint8Array} bytes a buffer to be sent as it is */
  _push(bytes) {
    this._seal();
    this._chunks ??= [];
    this._chunks.push(bytes);
    this._pending += bytes.length;
    if (this._writable !== null && !this._scheduled) this._schedule();
  }

  /** Ends the part of the slab that this encoder writes to. */
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
   * Takes the slab's end back for the next frames, if the bytes have been used and nobody has written behind them.
   *
   * @param {import('node:stream').Writable} writable
   * @param {Buffer} written
   * @param {number} start
   * @param {number} end
   */
  _giveBack(writable, written, start, end) {
    if (this._recycle && writable.writableLength === 0 && written === slab && end === slabUsed) slabUsed = start;
  }

  /** Has all that collects in this turn of the event loop sent at its end. */
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
