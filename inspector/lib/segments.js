'use strict';

// TCP segments → the bytes that one end has sent (RFC 9293 section 3.4): in order, each once.

const { StreamBuilder } = require('./streams');

/** One direction of a TCP connection. */
class SegmentList {
  constructor() {
    this._segments = [];
    this._last = 1;
    /** Whether the first segment of the connection, SYN, was captured. */
    this.hasStart = false;
  }

  /**
   * @param {number} segment.seq its sequence number, relative to the SYN's; modulo 2^32
   * @param {number} segment.length of its payload, as TCP says
   * @param {Buffer} segment.payload shorter if the capture has not all of it
   * @param {number} segment.order @param {number} segment.time
   */
  add({ seq, ...segment }) {
    // The difference to the segment before is below 2^31, whichever of the two comes first.
    this._last += (seq - this._last) | 0;
    this._segments.push({ position: this._last, ...segment });
  }

  /** @returns {boolean} whether one of its segments came in this packet */
  hasPacket(order) {
    return this._segments.some((segment) => segment.order === order);
  }

  /** @returns bytes after missing ones are left out, because nobody knows where a frame begins */
  join() {
    this._segments.sort((a, b) => a.position - b.position || a.order - b.order);
    const builder = new StreamBuilder();
    const first = this.hasStart ? 1 : (this._segments[0]?.position ?? 1);
    let missing = null;
    for (const { position, length, payload, order, time } of this._segments) {
      const expected = first + builder.length;
      // Sent again, or keep-alive.
      if (position + length <= expected) continue;
      if (position <= expected) builder.add(payload.subarray(expected - position), order, time);
      const end = position > expected ? position : position + length;
      const count = end - first - builder.length;
      if (count === 0) continue;
      missing = { after: builder.length, count };
      break;
    }
    return { ...builder.build(), missing };
  }
}

module.exports = { SegmentList };
