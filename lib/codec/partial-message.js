'use strict';

const { FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { copyUnmasked } = require('./backend');
const { allocate, release } = require('./message-memory');
const { detachedFault, noMemoryFault } = require('./message-rules');
const { completeUntil } = require('./utf8');

/**
 * A message that is not complete: its frames so far, gathered in one piece of memory. `buffer[0]`
 * to `buffer[length - 1]` has arrived and is unmasked; `frameStart` is where the payload of the
 * current frame begins. Methods that add bytes return a FrameError if they can't, or null.
 */
class PartialMessage {
  /**
   * `strings`: text becomes a string. `pooled`: its memory, which nobody else sees, is used again.
   */
  constructor(firstByte, maxPayload, strings, pooled) {
    this.firstByte = firstByte;
    this.fragments = 0;
    this.buffer = null;
    this.length = 0;
    this.frameStart = 0;
    // Whether text must be UTF-8.
    this.isChecked = true;
    // Of its frames so far; undefined if nobody wants to know them.
    this.lengths = undefined;
    this._maxPayload = maxPayload;
    this._isText = isText(firstByte);
    this.isString = strings && this._isText;
    this._isPooled = this.isString && pooled;
    this._isAscii = true;
    this._validatedTo = 0;
  }

  beginFrame() {
    this.fragments++;
    this.frameStart = this.length;
  }

  /** Adds unmasked bytes. `last`: they end the message. `ascii`: they are known to be ASCII. */
  append(bytes, start, end, last, ascii) {
    const error = this._reserve(end - start, 0, last);
    if (error !== null) return error;
    const at = this.length;
    bytes.copy(this.buffer, at, start, end);
    this._advance(at + end - start, ascii);
    return null;
  }

  /** Adds a piece of a payload, unmasked while it is copied. `frame.left` does not count it. */
  appendMasked(backend, chunk, start, length, frame) {
    const error = this._reserve(length, frame.left, (frame.firstByte & FIN) !== 0);
    if (error !== null) return error;
    const at = this.length;
    this._advance(at + length, copyUnmasked(backend, chunk, start, this.buffer, at, length, frame.key));
    return null;
  }

  /** Validates the text since the last call (RFC 6455 section 8.1). False if it is not UTF-8. */
  validate(last) {
    if (!this._isText || !this.isChecked || this._validatedTo === this.length) return true;
    this._validatedTo = completeUntil(this.buffer, this._validatedTo, this.length);
    return this._validatedTo !== -1 && !(last && this._validatedTo !== this.length);
  }

  /** The text of a complete message; the memory is then used again. */
  decode() {
    const { buffer, length } = this;
    const text = this._isAscii ? buffer.latin1Slice(0, length) : buffer.utf8Slice(0, length);
    if (this._isPooled) release(buffer);
    return text;
  }

  /** Makes room for a piece of a frame, of which `left` bytes come after it. */
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

  /** Counts a piece, and marks bytes that the kernel found to be ASCII as validated. */
  _advance(end, ascii) {
    if (!ascii) this._isAscii = false;
    else if (this._validatedTo === this.length) this._validatedTo = end;
    this.length = end;
  }
}

/**
 * Whether a message must be UTF-8, by its first byte. With RSV1 its bytes are those of an
 * extension.
 */
function isText(firstByte) {
  return (firstByte & (OPCODE | RSV1)) === Opcode.TEXT;
}

module.exports = { PartialMessage, isText };
