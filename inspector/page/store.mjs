// The rows of the list, and which of them the filters leave. It knows nothing of the page.

/** The columns of a row: lib/rows.js makes them. */
export const Column = {
  CONNECTION: 0,
  SERVER: 1,
  SEQUENCE: 2,
  TIME: 3,
  OPCODE: 4,
  BITS: 5,
  LENGTH: 6,
  MESSAGE: 7,
  PLACE: 8,
  STATE: 9,
  ENDS: 10,
  PREVIEW: 11,
  MESSAGE_ROW: 12
};

/** The places of a row in its message: lib/session.js has them. */
const Place = { FIRST: 1, MIDDLE: 2, LAST: 3 };

/** The states of a row: lib/judge.js has them. */
export const State = { GOOD: 0, BAD: 1, UNREAD: 2, INCOMPLETE: 3 };

/**
 * @typedef {object} Filters
 * @property {Set<number> | null} opcodes 3 stands for the reserved ones, -1 for unknown ones; null for all
 * @property {number} min @property {number} max bytes of payload
 * @property {number} connection -1 for all
 * @property {number} sender 0 the client, 1 the server, -1 both
 * @property {number} verdict a State, -1 for all
 * @property {[number, number]} range the first and the last row of the timeline
 */

/** @returns {Filters} that leave everything */
export function noFilters() {
  return { opcodes: null, min: 0, max: Infinity, connection: -1, sender: -1, verdict: -1, range: [0, Infinity] };
}

const KNOWN = new Set([-1, 0, 1, 2, 8, 9, 10]);

function passes(row, { opcodes, min, max, connection, sender, verdict }) {
  const length = row[Column.LENGTH];
  const opcode = row[Column.OPCODE];
  return (
    (opcodes === null || opcodes.has(KNOWN.has(opcode) ? opcode : 3)) &&
    ((length >= min && length <= max) || (length === -1 && min === 0 && max === Infinity)) &&
    (connection === -1 || row[Column.CONNECTION] === connection) &&
    (sender === -1 || row[Column.SERVER] === sender) &&
    (verdict === -1 || row[Column.STATE] === verdict)
  );
}

export class Store {
  constructor() {
    this.filters = noFilters();
    this.reset();
  }

  reset() {
    this.rows = [];
    /** Their names and states. */
    this.connections = [];
    /** The earliest time of a row, null without times. */
    this.startTime = null;
    /** The indexes of the rows that are shown, ascending. */
    this.shown = [];
    /** How many rows pass the filters: fragments that are folded, too. */
    this.count = 0;
    /** How many rows have come since `pause`. */
    this.held = 0;
    this._pausedAt = Infinity;
    /** The indexes that a search has found; null without one. */
    this._found = null;
    /** By the index of a continuation: the row that begins its message. */
    this._heads = new Map();
    this._open = new Map();
    this._unfolded = new Set();
  }

  append(rows) {
    for (const row of rows) {
      if (row[Column.TIME] !== null) this.startTime = Math.min(this.startTime ?? Infinity, row[Column.TIME]);
      const index = this.rows.push(row) - 1;
      this._findHead(row, index);
      // A search tells later which of them it has found.
      if (this._found === null) this._add(index);
    }
    this.held = Math.max(this.rows.length - this._pausedAt, 0);
  }

  _findHead(row, index) {
    const place = row[Column.PLACE];
    const direction = row[Column.CONNECTION] * 2 + row[Column.SERVER];
    if (place === Place.FIRST) this._open.set(direction, index);
    else if (place === Place.MIDDLE || place === Place.LAST) this._heads.set(index, this._open.get(direction));
  }

  /** @param {[number, unknown[]][]} changed indexes, with their new rows */
  change(changed) {
    let differs = false;
    for (const [index, row] of changed) {
      const before = this.rows[index];
      differs ||=
        passes(before, this.filters) !== passes(row, this.filters) || before[Column.STATE] !== row[Column.STATE];
      this.rows[index] = row;
    }
    if (differs) this._refilter();
  }

  setFilters(filters) {
    this.filters = { ...filters, range: this.filters.range };
    this._refilter();
  }

  /** Leaves the rows of a part of the timeline; all of them without one. */
  setRange(first = 0, last = Infinity) {
    this.filters.range = [first, last];
    this._refilter();
  }

  /** @param {number[] | null} found */
  setFound(found) {
    this._found = found === null ? null : new Set(found);
    this._refilter();
  }

  /** Shows no row that comes from now on, or those that have come meanwhile. */
  pause(isPaused) {
    this._pausedAt = isPaused ? this.rows.length : Infinity;
    this.held = 0;
    this._refilter();
  }

  /** @returns {number[]} the indexes of the rows that pass the filters: fragments that are folded, too */
  passing() {
    return [...this.rows.keys()].filter((index) => this._passes(index));
  }

  /** @returns {boolean} whether the message that this row begins shows its fragments; null if it has none */
  isUnfolded(index) {
    return this.rows[index]?.[Column.PLACE] === Place.FIRST ? this._unfolded.has(index) : null;
  }

  /** Shows the fragments of a message, or hides them. */
  unfold(index, isUnfolded) {
    if (isUnfolded) this._unfolded.add(index);
    else this._unfolded.delete(index);
    this._refilter();
  }

  /** Unfolds the message of a fragment that is to be seen. */
  reveal(index) {
    const head = this._heads.get(index);
    if (head !== undefined && !this._unfolded.has(head)) this.unfold(head, true);
  }

  _passes(index) {
    const [first, last] = this.filters.range;
    if (index < first || index > last || index >= this._pausedAt) return false;
    return (this._found?.has(index) ?? true) && passes(this.rows[index], this.filters);
  }

  _add(index) {
    if (!this._passes(index)) return;
    this.count++;
    const head = this._heads.get(index);
    const isGood = this.rows[index][Column.STATE] === State.GOOD;
    if (head === undefined || !isGood || this._unfolded.has(head) || !this._passes(head)) this.shown.push(index);
  }

  _refilter() {
    this.shown = [];
    this.count = 0;
    for (let i = 0; i < this.rows.length; i++) this._add(i);
  }

  /** @returns {number} the place in `shown` of the row `index`, or of the first one after it */
  positionOf(index) {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle] < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @returns {number} the next shown row after (or before) `index` that is bad; -1 if none is */
  nextBad(index, step) {
    let i = this.positionOf(index);
    if (step < 0) i--;
    else if (this.shown[i] === index) i++;
    for (; i >= 0 && i < this.shown.length; i += step) {
      if (this.rows[this.shown[i]][Column.STATE] === State.BAD) return this.shown[i];
    }
    return -1;
  }
}
