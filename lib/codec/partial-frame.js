'use strict';

const { MAX_HEADER } = require('../shared/protocol');

/** A frame that the end of a chunk cut, in its header or in its payload. */
class PartialFrame {
  constructor() {
    // The header's bytes so far; null once it is read.
    this.header = null;
    this.headerLength = 0;
    this.firstByte = 0;
    // Bytes of the payload that have not arrived.
    this.left = 0;
    // The masking key for the next byte of the payload; 0 if it is not masked.
    this.key = 0;
    // A control frame's payload so far. A data frame's is in its message.
    this.payload = null;
  }

  /** Adds the bytes of a chunk, which may go beyond the header. */
  addToHeader(chunk, start, end) {
    this.header ??= new Uint8Array(MAX_HEADER);
    const had = this.headerLength;
    const count = Math.min(MAX_HEADER - had, end - start);
    // For so few bytes a loop costs less than Buffer.prototype.copy.
    for (let i = 0; i < count; i++) this.header[had + i] = chunk[start + i];
    this.headerLength = had + count;
  }

  /** Ends the header, which has been read. */
  beginPayload({ firstByte, length, key }) {
    this.header = null;
    this.firstByte = firstByte;
    this.left = length;
    this.key = key;
  }
}

module.exports = { PartialFrame };
