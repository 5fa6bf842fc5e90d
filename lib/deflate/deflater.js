'use strict';

const { ConnectionDeflater } = require('./connection-deflater');
const { deflateAlone, deflateAloneLater, keyOf } = require('./deflate-message');

/**
 * The smallest window that zlib compresses with. As it refers back 262 bytes less than the window,
 * what it compresses inflates with the window of 256 bytes, too (RFC 7692 section 7.1.2).
 */
const MIN_DEFLATE_BITS = 9;

/**
 * The messages that an endpoint sends compressed, frame by frame: in a context that all connections
 * share where a message refers to no other and is one frame, else in the connection's own.
 */
class Deflater {
  /** @param {DeflateDirection} direction */
  constructor({ windowBits, contextTakeover, settings, zlibOptions }) {
    /** Whether messages refer to those before them (RFC 7692: context takeover). */
    this.hasTakeover = contextTakeover;
    const { level, memLevel } = settings;
    this._compression = { ...zlibOptions, windowBits: Math.max(windowBits, MIN_DEFLATE_BITS), level, memLevel };
    this._isShared = !contextTakeover && zlibOptions === undefined;
    this._context = null;
    this._isAmidMessage = false;
    this._hasEnded = false;
  }

  /** The same for all that compress a message alike. */
  get key() {
    return keyOf(this._compression);
  }

  /** @returns {Buffer} the payload of a frame, compressed; pooled memory, as of Buffer.from */
  deflate(bytes, length, isLast) {
    if (this._beginFrame(length, isLast)) return this.deflateAlone(bytes, length);
    const deflated = this._context.deflate(bytes, length, isLast);
    this._endFrame(isLast);
    return deflated;
  }

  /** `deflate` in the thread pool, of a string or bytes. Nothing else may be compressed meanwhile. */
  deflateLater(data, length, isLast, callback) {
    if (this._beginFrame(length, isLast)) {
      deflateAloneLater(data, length, this._compression, callback);
      return;
    }
    const end = (...results) => {
      this._endFrame(isLast);
      if (this._hasEnded) this._context.release();
      callback(...results);
    };
    this._context.deflateLater(data, length, end, isLast);
  }

  /** `deflate` of a message, or a sample of it, that refers to no other. */
  deflateAlone(bytes, length) {
    return deflateAlone(bytes, length, this._compression);
  }

  /** Releases the connection's context, as soon as the thread pool does not use it. */
  end() {
    this._hasEnded = true;
    if (this._context !== null && !this._context.isBusy) this._context.release();
  }

  /** @returns {boolean} whether the frame is a message that the shared context compresses */
  _beginFrame(length, isLast) {
    const isAlone = this._isShared && isLast && !this._isAmidMessage && length !== 0;
    this._isAmidMessage = !isLast;
    if (!isAlone) this._context ??= new ConnectionDeflater(this._compression);
    return isAlone;
  }

  _endFrame(isLast) {
    if (isLast && !this.hasTakeover) this._context.reset();
  }
}

module.exports = { Deflater, MIN_DEFLATE_BITS };
