'use strict';

const { detachedError, tooBigError, utf8Error } = require('../shared/errors');
const { Buffer, copyOf, join, view } = require('../shared/buffers');
const { Pieces } = require('../shared/pieces');
const { completeUntil } = require('../shared/utf8');

/**
 * A message that is delivered in parts. `add` takes the unmasked bytes of its frames as they arrive,
 * `next` returns parts of them: inflated, and text cut between characters. Nothing else is kept.
 */
class PartStream {
  /**
   * @param {'string' | 'buffer' | null} text the form of text; null for bytes that are not validated
   * @param {PartInflater | null} inflater null if it is not compressed
   * @param {{ limit: number, from: number }} options the most bytes that it may have; a compressed
   *   message of fewer bytes than `from`, inflated, is delivered as a whole
   * @param {number[] | undefined} lengths empty: where the inflated length of each frame of such a
   *   message goes; undefined if nobody wants to know them
   */
  constructor(firstByte, text, inflater, { limit, from }, lengths) {
    this.firstByte = firstByte;
    /** Whether the last part has been returned. */
    this.hasEnded = false;
    /** Whether it is shorter than `from`: the one part is the message. */
    this.isWhole = false;
    this._text = text;
    this._inflater = inflater;
    this._limit = limit;
    this._from = inflater === null ? 0 : from;
    this.lengths = this._from === 0 ? undefined : lengths;
    // Parts that are joined.
    this._pieces = this._from === 0 ? null : new Pieces();
    this._length = 0;
    // The length up to the current frame.
    this._frameStart = 0;
    // The bytes that have not been used up, with their lengths: they may be detached meanwhile.
    this._added = [];
    this._isLast = false;
    // The bytes of a character that is not complete, or null.
    this._rest = null;
  }

  /**
   * Adds bytes, which must not change until they have been used up; `endsFrame`, `isLast`: they end
   * a frame, and the message.
   */
  add(bytes, endsFrame, isLast) {
    this._isLast = isLast;
    this._added.push({ bytes, length: bytes.length, endsFrame });
    this._inflater?.add(bytes, isLast);
  }

  /** Whether `next` has more to return, but should be called in another turn of the event loop. */
  get mustWait() {
    return this._inflater?.mustWait === true && !this._isUsedUp;
  }

  /**
   * @returns {string | Buffer | null} the next part; null when the bytes are used up, or if `mustWait`.
   *   With `hasEnded` it is the last one, and may be empty
   * @throws {FrameError} if the message is too long, is not DEFLATE, or not UTF-8
   */
  next() {
    while (!this.mustWait) {
      const bytes = this._nextBytes();
      if (bytes === null) return null;
      this.hasEnded = this._isLast && this._isUsedUp;
      const part = this._collect(bytes);
      if (part === null) continue;
      const data = this._decode(part);
      if (data.length !== 0 || this.hasEnded) return data;
    }
    return null;
  }

  get _isUsedUp() {
    return this._added.length === 0;
  }

  /** @returns {Buffer | null} */
  _nextBytes() {
    if (this._isUsedUp) return null;
    const [{ bytes, length, endsFrame }] = this._added;
    if (length !== 0 && bytes[0] === undefined) throw detachedError();
    if (this._inflater === null) {
      this._added.shift();
      // An empty part can't reveal detachment.
      return length === 0 ? Buffer.allocUnsafeSlow(0) : bytes;
    }
    const part = this._inflater.next();
    this._length += part.length;
    if (this._length > this._limit) throw tooBigError();
    if (this._inflater.isDone) {
      this._added.shift();
      if (endsFrame) this._countFrame();
    }
    return part;
  }

  _countFrame() {
    this.lengths?.push(this._length - this._frameStart);
    this._frameStart = this._length;
  }

  /** Joins the first parts, until they have `from` bytes, or are the message. */
  _collect(bytes) {
    if (this._from === 0) return bytes;
    this._pieces.add(bytes);
    if (this._length < this._from && !this.hasEnded) return null;
    this.isWhole = this._length < this._from;
    if (!this.isWhole) this.lengths = undefined;
    this._from = 0;
    const joined = this._pieces.join();
    this._pieces = null;
    return joined;
  }

  _decode(bytes) {
    if (this._text === null) return bytes;
    const all = this._rest === null ? bytes : join([this._rest, bytes]);
    const end = completeUntil(all, 0, all.length);
    if (end === -1 || (this.hasEnded && end !== all.length)) throw utf8Error();
    this._rest = end === all.length ? null : copyOf(all, end, all.length);
    return this._text === 'string' ? all.utf8Slice(0, end) : view(all, 0, end);
  }
}

module.exports = { PartStream };
