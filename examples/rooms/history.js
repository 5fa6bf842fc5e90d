'use strict';

/** The bytes that an entry costs besides its frame, about. */
const ENTRY = 200;

/**
 * Compares the ids of two messages: milliseconds, a hyphen, and a number within the millisecond.
 *
 * @param {string} one
 * @param {string} other
 * @returns {number} below 0 if `one` is earlier
 */
function compareIds(one, other) {
  const [ms, number] = one.split('-');
  const [otherMs, otherNumber] = other.split('-');
  return ms - otherMs || number - otherNumber;
}

/**
 * The latest messages, as they were framed, for clients that come back: they name the last message
 * that they have, and get those after it. The oldest go first where there is no room for more.
 */
class History {
  /**
   * @param {object} limits in bytes
   * @param {number} limits.maxRoomHistory of one room; below what may wait for one client
   * @param {number} limits.maxHistory of all rooms
   */
  constructor({ maxRoomHistory, maxHistory }) {
    this._maxRoomBytes = maxRoomHistory;
    this._maxBytes = maxHistory;
    this._bytes = 0;
    /** All entries, the oldest first. */
    this._all = new Set();
    /** Room → its entries; `floor` is the last id of which the entry is gone. */
    this._rooms = new Map();
    /** The last id of which the entry is gone, for rooms that have none left. */
    this._floor = '0-0';
  }

  get length() {
    return this._all.size;
  }

  /** Says that messages up to this id are not here: they are older than this process. */
  startAfter(id) {
    this._floor = id;
  }

  /** @param {{ id: string, room: string, message: { length: number } }} entry the newest one */
  add(entry) {
    let log = this._rooms.get(entry.room);
    if (log === undefined) {
      log = { entries: [], bytes: 0, floor: this._floor };
      this._rooms.set(entry.room, log);
    }
    log.entries.push(entry);
    log.bytes += entry.message.length + ENTRY;
    this._all.add(entry);
    this._bytes += entry.message.length + ENTRY;
    while (log.bytes > this._maxRoomBytes) this._dropOldest(log);
    while (this._bytes > this._maxBytes) {
      const [{ id, room }] = this._all;
      this._dropOldest(this._rooms.get(room));
      this._floor = id;
    }
  }

  _dropOldest(log) {
    const entry = log.entries.shift();
    const size = entry.message.length + ENTRY;
    log.bytes -= size;
    log.floor = entry.id;
    this._bytes -= size;
    this._all.delete(entry);
    if (log.entries.length === 0) {
      this._rooms.delete(entry.room);
      if (compareIds(entry.id, this._floor) > 0) this._floor = entry.id;
    }
  }

  /** @returns {object[]} the last entries of a room, at most `count` */
  latest(room, count) {
    return this._rooms.get(room)?.entries.slice(-count) ?? [];
  }

  /**
   * @param {string} room
   * @param {string} id of a message; it need not be in this room
   * @returns {{ entries: object[], complete: boolean }} the entries after that message; `complete`
   *   is false if some of them may be gone
   */
  after(room, id) {
    const { entries, floor } = this._rooms.get(room) ?? { entries: [], floor: this._floor };
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareIds(entries[middle].id, id) > 0) high = middle;
      else low = middle + 1;
    }
    return { entries: entries.slice(low), complete: compareIds(id, floor) >= 0 };
  }
}

module.exports = { History, compareIds };
