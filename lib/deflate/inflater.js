'use strict';

const { Buffer, EMPTY, lengthOf } = require('../shared/buffers');
const { Pieces, SMALL } = require('../shared/pieces');
const { decodeText } = require('../shared/utf8');
const { ConnectionInflater } = require('./connection-inflater');
const { inflateAlone, inflateAloneLater, mustWait } = require('./inflate-message');
const { inLaterTurn } = require('./turn');
const { copyIfShared, supportsSyncZlib } = require('./zlib-handle');

/**
 * Inflating takes a sixth of the time of compressing, or less: 0.2 to 0.4 ms for 128 KiB of JSON.
 * A frame inflates to at most this times the option `threadPoolFrom` on the event loop.
 */
const INFLATES_FASTER = 4;

/**
 * The compressed messages that an endpoint receives. Each frame is inflated when it has arrived: a
 * message that is too long fails at the frame that exceeds the limit.
 */
class Inflater {
  /** @param {DeflateDirection} direction */
  constructor({ windowBits, contextTakeover, settings, zlibOptions }, sync = supportsSyncZlib()) {
    this._windowBits = windowBits;
    this._turnLimit = settings.threadPoolFrom * INFLATES_FASTER;
    this._hasTakeover = contextTakeover;
    this._zlibOptions = zlibOptions;
    this._sync = sync;
    this._context = null;
    // A message of one frame, inflated.
    this._whole = null;
    // A fragmented message: its inflated pieces, and the length of each frame.
    this._fragments = null;
    /** Whether the frame is a message that is inflated without the connection's context. */
    this._isAlone = false;
  }

  /** Whether a frame of this length must wait for another turn of the event loop. */
  mustWait(length) {
    return mustWait(length, this._turnLimit);
  }

  /** Calls back with null in another turn. */
  waitForTurn(callback) {
    inLaterTurn(callback);
  }

  /**
   * Inflates the payload of a frame on the event loop.
   *
   * @param {boolean} isLast whether it ends the message, which `take` or `takeText` then returns
   * @param {number} limit the most bytes that the message may have
   * @returns {boolean} false if it is too much for this turn: `inflateLater` must follow, with the
   *   same arguments
   * @throws {FrameError} if the message is longer, or is not DEFLATE
   */
  inflate(data, isLast, limit) {
    const length = lengthOf(data);
    const isWhole = isLast && this._fragments === null;
    if (!isWhole) this._fragments ??= { pieces: new Pieces(), lengths: [] };
    this._isAlone = isWhole && !this._hasTakeover && this._zlibOptions === undefined;
    let inflated;
    // Not valid DEFLATE, but taken as an empty message, as in ws.
    if (isWhole && length === 0) inflated = EMPTY;
    else if (this._isAlone) inflated = inflateAlone(data, length, this._windowBits, this._turnLimit, limit, this._sync);
    else inflated = this._inflateInContext(data, length, isLast, limit);
    if (inflated === null) return false;
    // The caller takes a complete message before anything else is inflated.
    if (isWhole) this._whole = inflated;
    else this._addFrame([isLast || inflated.length < SMALL ? inflated : copyIfShared(inflated)]);
    this._endFrame(isLast);
    return true;
  }

  /**
   * Inflates that frame in the thread pool: without a context from its beginning, else the rest of
   * it. After `close` it may call back, or not.
   */
  inflateLater(data, isLast, limit, callback) {
    const end = (error, chunks) => {
      if (error === null) {
        if (this._fragments === null) this._whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
        else this._addFrame(chunks);
        this._endFrame(isLast);
      }
      callback(error);
    };
    if (this._isAlone) {
      inflateAloneLater(data, this._windowBits, limit, (error, inflated) => end(error, [inflated]));
    } else {
      this._context.inflateLater(limit - this._earlierLength, end);
    }
  }

  /** The inflated length of each frame of a complete message of several: until it is taken. */
  get lengths() {
    return this._fragments.lengths;
  }

  /** @returns {Buffer} the complete message, in memory of its own */
  take() {
    return copyIfShared(this._join());
  }

  /** @returns {string | undefined} the complete message; undefined if it is not UTF-8 */
  takeText() {
    const bytes = this._join();
    return decodeText(bytes, 0, bytes.length, false);
  }

  close() {
    this._context?.close();
    this._context = this._fragments = null;
  }

  _inflateInContext(data, length, isLast, limit) {
    this._context ??= new ConnectionInflater({ ...this._zlibOptions, windowBits: this._windowBits }, this._sync);
    return this._context.inflate(data, length, isLast, this._turnLimit, limit - this._earlierLength);
  }

  /** The bytes of the frames before this one. */
  get _earlierLength() {
    return this._fragments === null ? 0 : this._fragments.pieces.length;
  }

  _addFrame(added) {
    const { pieces, lengths } = this._fragments;
    const { length } = pieces;
    for (const bytes of added) pieces.add(bytes);
    lengths.push(pieces.length - length);
  }

  /** Resets the context after a message, so that the next one refers to nothing in it. */
  _endFrame(isLast) {
    if (isLast && !this._hasTakeover && !this._isAlone) this._context?.reset();
  }

  _join() {
    const bytes = this._fragments === null ? this._whole : this._fragments.pieces.join();
    this._whole = this._fragments = null;
    return bytes;
  }
}

module.exports = { Inflater };
