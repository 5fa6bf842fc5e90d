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
  PREVIEW: 11
};

/** The states of a row: lib/judge.js has them. */
export const State = { GOOD: 0, BAD: 1, UNREAD: 2, INCOMPLETE: 3 };

/**
 * @typedef {object} Filters
 * @property {Set<number> | null} opcodes 3 stands for the reserved ones, -1 for unknown ones; null for all
 * @property {number} min @property {number} max bytes of payload
 * @property {number} connection -1 for all
 * @property {number} sender 0 the client, 1 the server, -1 both
 * @property {number} verdict a State, -1 for all
 */

/** @returns {Filters} that leave everything */
export function noFilters() {
  return { opcodes: null, min: 0, max: Infinity, connection: -1, sender: -1, verdict: -1 };
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
    /** Their names. */
    this.connections = [];
    /** The earliest time of a row, null without times. */
    this.startTime = null;
    /** The indexes of the rows that are shown, ascending. */
    this.shown = [];
    /** The indexes that a search has found, ascending; null without one. */
    this._found = null;
  }

  append(rows) {
    for (const row of rows) {
      if (row[Column.TIME] !== null) this.startTime = Math.min(this.startTime ?? Infinity, row[Column.TIME]);
      const index = this.rows.push(row) - 1;
      // A search tells later which of them it has found.
      if (this._found === null && passes(row, this.filters)) this.shown.push(index);
    }
  }

  /** @param {[number, unknown[]][]} changed indexes, with their new rows */
  change(changed) {
    let differs = false;
    for (const [index, row] of changed) {
      differs ||= passes(this.rows[index], this.filters) !== passes(row, this.filters);
      this.rows[index] = row;
    }
    if (differs) this._refilter();
  }

  setFilters(filters) {
    this.filters = filters;
    this._refilter();
  }

  /** @param {number[] | null} found */
  setFound(found) {
    this._found = found;
    this._refilter();
  }

  _refilter() {
    const candidates = this._found ?? this.rows.keys();
    this.shown = [];
    for (const i of candidates) if (i < this.rows.length && passes(this.rows[i], this.filters)) this.shown.push(i);
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
