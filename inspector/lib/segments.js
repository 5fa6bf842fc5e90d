'use strict';

// TCP segments → the bytes that one end has sent (RFC 9293 section 3.4): in order, each once.

/** One direction of a TCP connection. */
class SegmentList {
  constructor() {
    this._segments = [];
    this._last = 1;
    this._sorted = true;
    /** Whether the first segment of the connection, SYN, was captured. */
    this.hasStart = false;
  }

  /**
   * @param {object} segment
   * @param {number} segment.seq its sequence number, relative to the SYN's; modulo 2^32
   * @param {number} segment.length of its payload, as TCP says
   * @param {Buffer} segment.payload shorter if the capture has not all of it
   * @param {number} segment.order @param {number} segment.time
   */
  add({ seq, length, payload, order, time }) {
    // The difference to the segment before is below 2^31, whichever of the two comes first.
    const position = this._last + ((seq - this._last) | 0);
    if (this._segments.length > 0 && position < this._segments.at(-1).position) this._sorted = false;
    this._last = position;
    this._segments.push({ position, length, payload, order, time });
  }

  /** @returns {boolean} whether one of its segments came in this packet */
  hasPacket(order) {
    return this._segments.some((segment) => segment.order === order);
  }

  /**
   * @returns {{ bytes: Buffer, chunks: object[], missing: { after: number, count: number } | null }}
   *   `chunks` as lib/streams.js wants them; `missing` says where bytes are missing: what comes
   *   after them is left out, because nobody knows where a frame begins
   */
  join() {
    if (!this._sorted) this._segments.sort((a, b) => a.position - b.position || a.order - b.order);
    const chunks = [];
    const pieces = [];
    let offset = 0;
    let expected = this.hasStart ? 1 : (this._segments[0]?.position ?? 1);
    let missing = null;
    for (const { position, length, payload, order, time } of this._segments) {
      if (position > expected) {
        missing = { after: offset, count: position - expected };
        break;
      }
      // Sent again, or keep-alive.
      if (position + length <= expected) continue;
      const piece = payload.subarray(expected - position);
      chunks.push({ offset, order, time });
      pieces.push(piece);
      offset += piece.length;
      expected += piece.length;
      if (payload.length < length) {
        missing = { after: offset, count: length - payload.length };
        break;
      }
    }
    return { bytes: Buffer.concat(pieces), chunks, missing };
  }
}

module.exports = { SegmentList };
