'use strict';

/** A sender that has published nothing for so many milliseconds is forgotten. */
const FORGET_AFTER = 3_600_000;

/** Publishes the messages of one process. bus-redis.js does the same for many. */
class MemoryBus {
  constructor() {
    this.lastId = '0-0';
    this.isReady = true;
    this._deliver = null;
    this._hear = null;
    /** Sender → the number of its last message, and when it came. */
    this._senders = new Map();
  }

  /**
   * Calls `deliver` with each message, `{ id, room, body }`, once, in the same order in each
   * process; `hear` with each announcement, at most once.
   * @returns {Promise<{ recent: object[], complete: boolean }>} messages from before
   */
  async start(deliver, hear) {
    this._deliver = deliver;
    this._hear = hear;
    return { recent: [], complete: true };
  }

  /**
   * Publishes a message, unless this sender has published one with this number or a later one: a
   * client that was cut off sends again what was not acknowledged.
   * @returns {Promise<boolean>} false if it was there already
   */
  async publish({ from, n, room, body }) {
    const now = Date.now();
    const last = this._senders.get(from)?.n ?? 0;
    this._senders.delete(from);
    this._senders.set(from, { n: Math.max(n, last), at: now }); // after all others
    for (const [sender, { at }] of this._senders) {
      if (now - at < FORGET_AFTER) break;
      this._senders.delete(sender);
    }
    if (n <= last) return false;
    this.lastId = nextId(this.lastId, now);
    this._deliver({ id: this.lastId, room, body });
    return true;
  }

  /** Tells all processes something that need not be kept. */
  announce(text) {
    this._hear(text);
  }

  async close() {}
}

/** Ids ascend, also after the clock was set back. Redis makes its ids likewise. */
function nextId(last, now) {
  const [ms, number] = last.split('-').map(Number);
  return now > ms ? `${now}-0` : `${ms}-${number + 1}`;
}

module.exports = { MemoryBus };
