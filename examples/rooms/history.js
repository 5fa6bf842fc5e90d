'use strict';

/** The bytes that an entry costs besides its frame, about. */
const ENTRY = 200;

/** Compares two messages' ids: milliseconds, a hyphen, and a number within the millisecond. */
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
    const { room } = entry;
    if (!this._rooms.has(room)) this._rooms.set(room, { entries: [], bytes: 0, floor: this._floor });
    const log = this._rooms.get(room);
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
   * @returns {{ entries: object[], complete: boolean }} the entries of a room after a message,
   *   which may be of another room; `complete` is false if some of them may be gone
   */
  after(room, id) {
    const { entries, floor } = this._rooms.get(room) ?? { entries: [], floor: this._floor };
    const last = entries.findLastIndex((entry) => compareIds(entry.id, id) <= 0);
    return { entries: entries.slice(last + 1), complete: compareIds(id, floor) >= 0 };
  }
}

module.exports = { History, compareIds };
