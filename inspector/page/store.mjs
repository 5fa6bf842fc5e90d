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
 * @property {Set<number> | null} opcodes 3 stands for the reserved ones, -1 for unknown ones; null
 *   for all
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

/** @returns {number} what the filter of opcodes calls an opcode */
export const opcodeClass = (opcode) => (KNOWN.has(opcode) ? opcode : 3);

function passes(row, { opcodes, min, max, connection, sender, verdict }) {
  const length = row[Column.LENGTH];
  return (
    (opcodes === null || opcodes.has(opcodeClass(row[Column.OPCODE]))) &&
    ((length >= min && length <= max) || (length === -1 && min === 0 && max === Infinity)) &&
    (connection === -1 || row[Column.CONNECTION] === connection) &&
    (sender === -1 || row[Column.SERVER] === sender) &&
    (verdict === -1 || row[Column.STATE] === verdict)
  );
}

export class Store {
  constructor() {
    this.reset();
    this.filters = noFilters();
    /** What a search has found, ascending; null without one. */
    this._found = null;
  }

  reset() {
    this.rows = [];
    /** Their names. */
    this.connections = [];
    this.notes = [];
    /** The earliest time of a row, null without times. */
    this.startTime = null;
    /** The indexes of the rows that are shown, ascending. */
    this.shown = [];
    this._found = null;
  }

  append(rows) {
    for (const row of rows) {
      if (row[Column.TIME] !== null) this.startTime = Math.min(this.startTime ?? Infinity, row[Column.TIME]);
      const index = this.rows.push(row) - 1;
      // What a search has found of them is told later.
      if (this._found === null && passes(row, this.filters)) this.shown.push(index);
    }
  }

  /** @param {[number, unknown[]][]} changed indexes, with their new rows */
  change(changed) {
    let differs = false;
    for (const [index, row] of changed) {
      const passed = passes(this.rows[index], this.filters);
      this.rows[index] = row;
      if (passed !== passes(row, this.filters)) differs = true;
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

  get isSearching() {
    return this._found !== null;
  }

  _refilter() {
    const shown = [];
    if (this._found === null) {
      for (let i = 0; i < this.rows.length; i++) if (passes(this.rows[i], this.filters)) shown.push(i);
    } else {
      for (const i of this._found) if (i < this.rows.length && passes(this.rows[i], this.filters)) shown.push(i);
    }
    this.shown = shown;
  }

  /** @returns {number} the place in `shown` of the row `index`, or of the first one behind it */
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

  /** @returns {number} the next shown row behind (or before) `index` that is bad; -1 if none is */
  nextBad(index, step) {
    let i = this.positionOf(index);
    if (step > 0 && this.shown[i] === index) i++;
    else if (step < 0) i--;
    for (; i >= 0 && i < this.shown.length; i += step) {
      if (this.rows[this.shown[i]][Column.STATE] === State.BAD) return this.shown[i];
    }
    return -1;
  }
}
