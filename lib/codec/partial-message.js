'use strict';

const { FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { copyUnmasked } = require('./backend');
const { allocate, release } = require('./message-memory');
const { detachedFault, noMemoryFault } = require('./message-rules');
const { completeUntil } = require('./utf8');

/** @typedef {import('../shared/errors').FrameError} FrameError */

/** A message that is not complete: its frames so far, gathered in one piece of memory. */
class PartialMessage {
  /**
   * @param {number} firstByte the first byte of its first frame
   * @param {number} maxPayload the most bytes that it can have
   * @param {boolean} strings whether text is delivered as a string
   * @param {boolean} pooled whether nobody else sees the memory of a string, so that it can be used
   *   again
   */
  constructor(firstByte, maxPayload, strings, pooled) {
    this.firstByte = firstByte;
    this.fragments = 0;
    /** The bytes that have arrived, unmasked, are `buffer[0]` to `buffer[length - 1]`. */
    this.buffer = null;
    this.length = 0;
    /** Where the payload of the current frame begins in `buffer`. */
    this.frameStart = 0;
    /** Whether its text must be UTF-8. */
    this.isChecked = true;
    /** The lengths of its frames so far; undefined if nobody wants to know them. */
    this.lengths = undefined;
    this._maxPayload = maxPayload;
    this._isText = isText(firstByte);
    this._isString = strings && this._isText;
    this._isPooled = this._isString && pooled;
    this._isAscii = true;
    this._validatedTo = 0;
  }

  /** Whether it is delivered as a string. */
  get isString() {
    return this._isString;
  }

  /** Begins a frame of the message. */
  beginFrame() {
    this.fragments++;
    this.frameStart = this.length;
  }

  /**
   * Adds bytes that are unmasked already.
   *
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   * @param {boolean} last whether they end the message
   * @param {boolean} ascii whether they are known to be ASCII
   * @returns {FrameError | null} why they can't be added
   */
  append(bytes, start, end, last, ascii) {
    const error = this._reserve(end - start, 0, last);
    if (error !== null) return error;
    const at = this.length;
    bytes.copy(this.buffer, at, start, end);
    this._advance(at + end - start, ascii);
    return null;
  }

  /**
   * Adds a piece of a frame's payload, unmasked while it is copied.
   *
   * @param {import('./backend').CodecBackend} backend
   * @param {Buffer} chunk
   * @param {number} start
   * @param {number} length
   * @param {import('./partial-frame').PartialFrame} frame its `left` does not count the piece
   * @returns {FrameError | null} why it can't be added
   */
  appendMasked(backend, chunk, start, length, frame) {
    const error = this._reserve(length, frame.left, (frame.firstByte & FIN) !== 0);
    if (error !== null) return error;
    const at = this.length;
    this._advance(at + length, copyUnmasked(backend, chunk, start, this.buffer, at, length, frame.key));
    return null;
  }

  /**
   * Validates the text that has arrived since the last call (RFC 6455 section 8.1).
   *
   * @param {boolean} last whether the message is complete
   * @returns {boolean} false if the text is not UTF-8, whatever follows
   */
  validate(last) {
    if (!this._isText || !this.isChecked || this._validatedTo === this.length) return true;
    this._validatedTo = completeUntil(this.buffer, this._validatedTo, this.length);
    return this._validatedTo !== -1 && !(last && this._validatedTo !== this.length);
  }

  /** @returns {string} the text of a complete message; the memory is then used again */
  decode() {
    const { buffer, length } = this;
    const text = this._isAscii ? buffer.latin1Slice(0, length) : buffer.utf8Slice(0, length);
    if (this._isPooled) release(buffer);
    return text;
  }

  /**
   * Makes room for a piece behind the bytes that have arrived.
   *
   * @param {number} length of the piece
   * @param {number} left bytes of the frame that come after it
   * @param {boolean} last whether the frame ends the message
   * @returns {FrameError | null} why there is none
   */
  _reserve(length, left, last) {
    const { buffer, length: used } = this;
    // Only onFrame has seen the memory, and can have transferred it.
    if (used !== 0 && buffer[used - 1] === undefined) return detachedFault();
    const needed = used + length;
    if (buffer !== null && buffer.length >= needed) return null;
    // Doubling keeps many small fragments cheap.
    const least = last ? 0 : Math.min(used * 2, this._maxPayload);
    try {
      this.buffer = allocate(needed, left, least, this._isPooled);
    } catch (cause) {
      return noMemoryFault(needed + left, cause);
    }
    if (used !== 0) buffer.copy(this.buffer, 0, 0, used);
    return null;
  }

  /**
   * Counts a piece, and marks bytes that the kernel found to be ASCII as validated.
   *
   * @param {number} end where the piece ends in `buffer`
   * @param {boolean} ascii
   */
  _advance(end, ascii) {
    if (!ascii) this._isAscii = false;
    else if (this._validatedTo === this.length) this._validatedTo = end;
    this.length = end;
  }
}

/**
 * Whether a message must be UTF-8. With RSV1 its bytes are those of an extension.
 *
 * @param {number} firstByte the first byte of its first frame
 * @returns {boolean}
 */
function isText(firstByte) {
  return (firstByte & (OPCODE | RSV1)) === Opcode.TEXT;
}

module.exports = { PartialMessage, isText };
