'use strict';

/**
 * Chunks that wait for the one in front of them. An array's shift() would take time in proportion
 * to its length.
 */
class ChunkQueue {
  constructor() {
    this._chunks = [];
    this._first = 0;
  }

  push(chunk) {
    this._chunks.push(chunk);
  }

  /** Takes the chunk in front; null if the queue is empty. */
  shift() {
    if (this._first === this._chunks.length) return null;
    const chunk = this._chunks[this._first];
    this._chunks[this._first++] = null;
    // Each chunk is moved once at most for each that has left.
    if (this._first * 2 > this._chunks.length) {
      this._chunks.splice(0, this._first);
      this._first = 0;
    }
    return chunk;
  }
}

module.exports = { ChunkQueue };
