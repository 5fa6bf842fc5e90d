// The rows of the list, and which of them the filters leave. It knows nothing of the page.

/** The states of a row: lib/judge.js has them. */
export const State = { GOOD: 0, BAD: 1, UNREAD: 2, INCOMPLETE: 3 };

/**
 * The filters that are numbers, as they leave everything: bytes of payload; the index of a
 * connection; 0 for the client, 1 for the server; a State.
 */
export const NUMBERS = { min: 0, max: Infinity, connection: -1, sender: -1, verdict: -1 };

/**
 * @returns filters that leave everything. `opcodes` is a Set, in which 3 stands for the reserved
 *   ones and -1 for unknown ones; `range` the first and the last row of the timeline
 */
export const noFilters = () => ({ ...NUMBERS, opcodes: null, range: [0, Infinity] });

/** The bit of a row's `bits`. */
const FIN = 1;

const KNOWN = new Set([-1, 0, 1, 2, 8, 9, 10]);

/** lib/rows.js makes rows. */
function rowOf(columns) {
  const [connection, server, sequence, time, opcode, bits, length, place, state, ends, preview, head, message] =
    columns;
  return { connection, server, sequence, time, opcode, bits, length, place, state, ends, preview, head, message };
}

function passes(row, { opcodes, min, max, connection, sender, verdict }) {
  const { length, opcode } = row;
  return (
    (opcodes === null || opcodes.has(KNOWN.has(opcode) ? opcode : 3)) &&
    ((length >= min && length <= max) || (length === -1 && min === 0 && max === Infinity)) &&
    (connection === -1 || row.connection === connection) &&
    (sender === -1 || row.server === sender) &&
    (verdict === -1 || row.state === verdict)
  );
}

/** @returns {number} the first index, at most `end`, from which on `isBefore` is false */
export function firstIndex(end, isBefore) {
  let low = 0;
  for (let high = end; low < high; ) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
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
    this._unfolded = new Set();
  }

  /** @param {[number, unknown[]][]} changed indexes of new or changed rows, ascending; the rows */
  update(changed) {
    let differs = false;
    for (const [index, columns] of changed) {
      const row = rowOf(columns);
      const before = this.rows[index];
      this.rows[index] = row;
      if (before === undefined) this._append(row, index);
      else differs ||= passes(before, this.filters) !== passes(row, this.filters) || before.state !== row.state;
    }
    this.held = Math.max(this.rows.length - this._pausedAt, 0);
    if (differs) this._refilter();
  }

  _append({ time }, index) {
    if (time !== null) this.startTime = Math.min(this.startTime ?? Infinity, time);
    // A search tells later which of them it has found.
    if (this._found === null) this._add(index);
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
    this._found = found && new Set(found);
    this._refilter();
  }

  /** Shows no row that comes from now on, or those that have come meanwhile. */
  pause(isPaused) {
    this._pausedAt = isPaused ? this.rows.length : Infinity;
    this.held = 0;
    this._refilter();
  }

  /** @returns {number[]} the indexes of the rows that pass the filters, folded fragments, too */
  passing() {
    return [...this.rows.keys()].filter((index) => this._passes(index));
  }

  /** @returns {boolean} whether this row's message shows its fragments; null if it has none */
  isUnfolded(index) {
    const { head, bits } = this.rows[index] ?? {};
    return head === index && !(bits & FIN) ? this._unfolded.has(index) : null;
  }

  /** Shows the fragments of a message, or hides them. */
  unfold(index, isUnfolded) {
    if (isUnfolded) this._unfolded.add(index);
    else this._unfolded.delete(index);
    this._refilter();
  }

  /** Unfolds the message of a fragment that is to be seen. */
  reveal(index) {
    const { head } = this.rows[index];
    if (head !== -1 && head !== index && !this._unfolded.has(head)) this.unfold(head, true);
  }

  _passes(index) {
    const [first, last] = this.filters.range;
    if (index < first || index > last || index >= this._pausedAt) return false;
    return (this._found?.has(index) ?? true) && passes(this.rows[index], this.filters);
  }

  _add(index) {
    if (!this._passes(index)) return;
    this.count++;
    const { head, state } = this.rows[index];
    const isFolded = head !== -1 && head !== index && !this._unfolded.has(head) && this._passes(head);
    if (!isFolded || state !== State.GOOD) this.shown.push(index);
  }

  _refilter() {
    this.shown = [];
    this.count = 0;
    for (let i = 0; i < this.rows.length; i++) this._add(i);
  }

  /** @returns {number} the place in `shown` of the row `index`, or of the first one after it */
  positionOf(index) {
    return firstIndex(this.shown.length, (i) => this.shown[i] < index);
  }

  /** @returns {number} the next shown row after (or before) `index` that is bad; -1 if none is */
  nextBad(index, step) {
    const isBad = (i) => this.rows[i].state === State.BAD;
    const position = this.positionOf(index);
    if (step < 0) return this.shown.slice(0, position).findLast(isBad) ?? -1;
    return this.shown.slice(position).find((i) => i !== index && isBad(i)) ?? -1;
  }
}
