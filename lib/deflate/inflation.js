'use strict';

const { Buffer, EMPTY, lengthOf } = require('../shared/buffers');
const { OwnInflater, inflateAlone, inflateAloneLater } = require('./inflater');

/**
 * Inflating takes a sixth of the time of compressing, or less: 0.2 to 0.4 ms for 128 KiB of JSON.
 * So this times the option `threadPoolFrom` is the most that a message may inflate to here and now.
 */
const INFLATES_FASTER = 4;

/** The compressed messages that a Decoder receives. */
class Inflation {
  /** @param {DeflateDirection} direction */
  constructor({ windowBits, contextTakeover, settings }) {
    this._windowBits = windowBits;
    this._most = settings.threadPoolFrom * INFLATES_FASTER;
    this._own = contextTakeover ? new OwnInflater(windowBits) : null;
  }

  /**
   * @returns {Buffer | null} memory that the next message overwrites; null if `inflateLater` must
   *   be called, because it would take long
   * @throws {FrameError} if it is longer, or is not DEFLATE
   */
  inflate(data, limit) {
    const length = lengthOf(data);
    // Not DEFLATE, but clear. ws accepts it, too.
    if (length === 0) return EMPTY;
    if (this._own === null) return inflateAlone(data, length, this._windowBits, this._most, limit);
    return this._own.inflate(data, length, true, this._most, limit);
  }

  /** Inflates the same message in the thread pool. May call back after `close`. */
  inflateLater(data, limit, callback) {
    if (this._own === null) inflateAloneLater(data, this._windowBits, limit, callback);
    else
      this._own.inflateLater(limit, (error, chunks) => callback(error, error === null ? Buffer.concat(chunks) : null));
  }

  close() {
    this._own?.close();
  }
}

module.exports = { Inflation };
