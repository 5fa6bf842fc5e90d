'use strict';

const { randomUUID } = require('node:crypto');

/** Milliseconds between announcements of a room that has changed. */
const SOON = 500;
/** Milliseconds between announcements of all rooms, and until a silent process is forgotten. */
const REPEAT = 10_000;
const FORGET_AFTER = 35_000;
/** Members whose names are announced; the others are counted. */
const SHOWN = 100;

/**
 * Who is in which room, in all processes. Each process announces its own members when they change,
 * and again every few seconds, so that a lost announcement matters for a short time only.
 */
class Presence {
  /** `membersOf` returns this process's members of a room; `onChange` gets the result of `list`. */
  constructor(bus, membersOf, onChange) {
    this._bus = bus;
    this._membersOf = membersOf;
    this._onChange = onChange;
    this._process = randomUUID();
    /** Room → process → its members, and when it has announced them. */
    this._rooms = new Map();
    this._changed = new Set();
    this._timer = null;
    this._repeat = setInterval(() => this._announceAll(), REPEAT);
    this._repeat.unref();
  }

  /** A member of this process has come or gone. */
  change(room) {
    this._changed.add(room);
    this._timer ??= setTimeout(() => this._announce(), SOON);
  }

  _announce() {
    this._timer = null;
    for (const room of this._changed) {
      const members = this._membersOf(room);
      const shown = members.slice(0, SHOWN);
      this._bus.announce(JSON.stringify({ process: this._process, room, count: members.length, members: shown }));
    }
    this._changed.clear();
  }

  _announceAll() {
    const oldest = Date.now() - FORGET_AFTER;
    for (const [room, processes] of this._rooms) {
      if (processes.has(this._process)) this._changed.add(room);
      for (const [process, { at }] of processes) if (at < oldest) this._set(room, process, { count: 0, members: [] });
    }
    this._announce();
  }

  /** An announcement of this process or another. */
  receive(text) {
    const { process, room, ...members } = JSON.parse(text);
    this._set(room, process, members);
  }

  _set(room, process, { count, members }) {
    const processes = this._rooms.get(room) ?? new Map();
    const before = JSON.stringify(processes.get(process)?.members);
    if (count === 0) processes.delete(process);
    else processes.set(process, { count, members, at: Date.now() });
    if (processes.size === 0) this._rooms.delete(room);
    else this._rooms.set(room, processes);
    if (JSON.stringify(count === 0 ? undefined : members) !== before) this._onChange(room, ...this.list(room));
  }

  /** @returns {[count: number, members: { from: string, name: string }[]]} of a room */
  list(room) {
    const all = [...(this._rooms.get(room)?.values() ?? [])];
    const members = all.flatMap((announced) => announced.members).slice(0, SHOWN);
    return [all.reduce((sum, { count }) => sum + count, 0), members];
  }

  stop() {
    clearInterval(this._repeat);
    clearTimeout(this._timer);
  }
}

module.exports = { Presence };
