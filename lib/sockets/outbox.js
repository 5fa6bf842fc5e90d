'use strict';

const { copyOf } = require('../shared/buffers');

/**
 * The replies wait for so many, for a handler that takes so long, or for the end of the round: the
 * first shall not wait for slow handlers.
 */
const MAX_REPLIES = 16;
const MAX_WAIT_MS = 1;
/** To copy a longer reply would cost more than a write of its own. */
const MAX_LENGTH = 4 * 1024;

const ENTRY_LENGTH = 3;

/** The replies of a round. The reactor sends them together, without a stream's write for each. */
class Outbox {
  /** @param {Buffer} memory of `Outbox.SIZE` bytes */
  constructor(memory, table) {
    this._memory = memory;
    this._table = table;
    this._used = 0;
    this._lanes = [];
    this._since = 0;
    /** The reactor's function. */
    this.send = null;
  }

  /** @returns {boolean} false for a reply that is written in another way */
  take(lane, bytes) {
    const { length } = bytes;
    if (length > MAX_LENGTH) return false;
    const count = this._lanes.push(lane);
    const at = entryAt(count - 1);
    this._table[at] = lane.slot;
    this._table[at + 1] = this._used;
    this._table[at + 2] = length;
    this._memory.set(bytes, this._used);
    this._used += length;
    if (count === MAX_REPLIES) this.flush();
    else if (count === 1) this._since = performance.now();
    return true;
  }

  flushLate() {
    if (this._lanes.length !== 0 && performance.now() - this._since >= MAX_WAIT_MS) this.flush();
  }

  flush() {
    const lanes = this._lanes;
    const count = lanes.length;
    if (count === 0) return;
    this.send(0, count);
    const rests = this._readResults();
    this._lanes = [];
    this._used = 0;
    // After all results have been read: a lane that writes its rest may come here again.
    for (const { lane, rest, error } of rests) lane.takeBack(rest, error);
  }

  /** @returns {object[]} the lanes whose reply was not sent in full */
  _readResults() {
    const table = this._table;
    let rests = NONE;
    let end = this._used;
    for (let i = this._lanes.length - 1; i >= 0; i--) {
      const lane = this._lanes[i];
      const start = table[entryAt(i) + 1];
      const sent = table[entryAt(i) + 2];
      lane.hasReplies = false;
      lane.bytesWritten += Math.max(sent, 0);
      if (start + sent !== end) {
        if (rests === NONE) rests = [];
        rests.unshift({ lane, rest: copyOf(this._memory, start + Math.max(sent, 0), end), error: Math.min(sent, 0) });
      }
      end = start;
    }
    return rests;
  }
}

const NONE = [];

const entryAt = (index) => 1 + index * ENTRY_LENGTH;

Outbox.SIZE = MAX_REPLIES * MAX_LENGTH;

module.exports = { MAX_LENGTH, Outbox };
