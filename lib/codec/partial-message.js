'use strict';

const { FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { copyUnmasked } = require('./backend');
const { allocate, release } = require('./message-memory');
const { completeUntil } = require('./utf8');

/** A message that is not complete: its frames so far, gathered in one piece of memory. */
class PartialMessage {
  /**
   * @param {number} firstByte the first byte of its first frame
   * @param {number} maxPayload the most bytes that it can have
   * @param {boolean} strings whether text is delivered as a string
   */
  constructor(firstByte, maxPayload, strings) {
    this.firstByte = firstByte;
    this.fragments = 0;
    /** The bytes that have arrived, unmasked, are `buffer[0]` to `buffer[length - 1]`. */
    this.buffer = null;
    this.length = 0;
    /** Where the payload of the current frame begins in `buffer`. */
    this.frameStart = 0;
    this._maxPayload = maxPayload;
    this._isText = isText(firstByte);
    this._isString = strings && this._isText;
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
   */
  append(bytes, start, end, last, ascii) {
    const at = this._reserve(end - start, 0, last);
    bytes.copy(this.buffer, at, start, end);
    this._noteAscii(at, ascii);
  }

  /**
   * Adds a piece of a frame's payload, unmasked while it is copied.
   *
   * @param {import('./backend').CodecBackend} backend
   * @param {Buffer} chunk
   * @param {number} start
   * @param {number} length
   * @param {import('./partial-frame').PartialFrame} frame its `left` does not count the piece
   */
  appendMasked(backend, chunk, start, length, frame) {
    const at = this._reserve(length, frame.left, (frame.firstByte & FIN) !== 0);
    this._noteAscii(at, copyUnmasked(backend, chunk, start, this.buffer, at, length, frame.key));
  }

  /**
   * Validates the text that has arrived since the last call (RFC 6455 section 8.1).
   *
   * @param {boolean} last whether the message is complete
   * @returns {boolean} false if the text is not UTF-8, whatever follows
   */
  validate(last) {
    if (!this._isText || this._validatedTo === this.length) return true;
    this._validatedTo = completeUntil(this.buffer, this._validatedTo, this.length);
    return this._validatedTo !== -1 && !(last && this._validatedTo !== this.length);
  }

  /** @returns {string} the text of a complete message; the memory is then used again */
  decode() {
    const { buffer, length } = this;
    const text = this._isAscii ? buffer.latin1Slice(0, length) : buffer.utf8Slice(0, length);
    release(buffer);
    return text;
  }

  /**
   * Makes room for a piece.
   *
   * @param {number} length of the piece
   * @param {number} left bytes of the frame that come after it
   * @param {boolean} last whether the frame ends the message
   * @returns {number} where the piece goes in `buffer`
   */
  _reserve(length, left, last) {
    const used = this.length;
    const needed = used + length;
    if (this.buffer === null || this.buffer.length < needed) {
      // Doubling keeps many small fragments cheap.
      const least = last ? 0 : Math.min(used * 2, this._maxPayload);
      const larger = allocate(needed, left, least, this._isString);
      if (used !== 0) this.buffer.copy(larger, 0, 0, used);
      this.buffer = larger;
    }
    this.length = needed;
    return used;
  }

  /**
   * Marks bytes that the kernel found to be ASCII as validated.
   *
   * @param {number} at where they begin; they end at `length`
   * @param {boolean} ascii
   */
  _noteAscii(at, ascii) {
    if (!ascii) this._isAscii = false;
    else if (this._validatedTo === at) this._validatedTo = this.length;
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
