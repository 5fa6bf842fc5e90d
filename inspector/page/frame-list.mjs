// The list of frames. Only the rows in view are elements, so that 100,000 frames are as fast as ten.

import { byId, element, opcodeName, visible } from './dom.mjs';
import { Column } from './store.mjs';

const ROW = 24;
/** Rows above and below the view. */
const MARGIN = 6;
/** By the place of a frame: of a message that is unfolded, and of control frames amid it. */
const BRACKETS = ['', '┌', '├', '└', '│', ''];
const STATES = ['good', 'bad', 'unread', 'incomplete'];
const ENDS = ['', 'sent', 'received', 'both'];
const CELLS = ['connection', 'number', 'sender', 'fold', 'opcode', 'length', 'time', 'ends', 'marks', 'preview'];
const NAMES = { continuation: 'cont.' };
const RSV1 = 16;

const count = (number) => number.toLocaleString('en');

/** The bytes of a message on the wire, and inflated. */
function sizeText(length, inflated) {
  if (length === -1) return '';
  return inflated === -1 ? count(length) : `${count(length)} → ${count(inflated)}`;
}

export class FrameList {
  /**
   * @param {import('./store.mjs').Store} store
   * @param {(index: number) => void} onSelect called when another frame is selected
   */
  constructor(store, onSelect) {
    this._store = store;
    this._onSelect = onSelect;
    this._list = byId('list');
    this._space = byId('space');
    this._pool = [];
    this._frame = 0;
    /** The index of the frame that is selected; -1 for none. */
    this.selected = -1;
    /** Whether rows come while one looks: then the list follows its end. */
    this.isLive = false;
    this._follows = true;
    this._seen = 0;
    this._list.addEventListener('scroll', () => {
      this._follows = this._list.scrollTop + this._list.clientHeight >= this._space.clientHeight - ROW / 2;
      this.draw();
    });
    this._list.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowRight' || event.key === 'ArrowLeft')
        this.unfold(this.selected, event.key === 'ArrowRight');
      else this.onKey(event, Math.max(Math.floor(this._list.clientHeight / ROW) - 1, 1));
    });
    this._list.addEventListener('click', ({ target }) => {
      const row = target.closest('.row');
      if (row === null) return;
      const index = Number(row.dataset.index);
      if (target.className === 'fold') this.unfold(index, !store.isUnfolded(index));
      this.select(index);
    });
    byId('new').addEventListener('click', () => this._goToEnd());
    new ResizeObserver(() => this.draw()).observe(this._list);
  }

  /** Shows the fragments of the message that a row begins, or hides them. */
  unfold(index, isUnfolded) {
    if ((this._store.isUnfolded(index) ?? isUnfolded) === isUnfolded) return;
    this._store.unfold(index, isUnfolded);
    this.draw();
  }

  _goToEnd() {
    this._follows = true;
    this._draw();
  }

  /** Follows the end, or says how many rows have come below. */
  _follow() {
    const { length } = this._store.shown;
    if (this.isLive && this._follows) this._list.scrollTop = length * ROW;
    if (this._follows || length < this._seen) this._seen = length;
    const unseen = length - this._seen;
    byId('new').hidden = !this.isLive || unseen === 0;
    byId('new').textContent = `${count(unseen)} new ↓`;
  }

  focus() {
    this._list.focus();
  }

  /** Draws the rows in view, once before the next picture of the page. */
  draw() {
    this._frame ||= requestAnimationFrame(() => {
      this._frame = 0;
      this._draw();
    });
  }

  _draw() {
    const { rows, shown } = this._store;
    // Columns that no frame has anything for are left out.
    const isRecorded = rows.length > 0 && rows[0][Column.ENDS] !== 0;
    const isTimed = this._store.startTime !== null;
    const isSeveral = this._store.connections.length > 1;
    const classes = [
      isRecorded ? 'records' : 'unrecorded',
      isTimed ? 'timed' : 'untimed',
      isSeveral ? 'several' : 'single',
      rows.length < 10_000 ? 'few' : 'many'
    ];
    byId('list-part').className = classes.join(' ');
    this._space.style.height = `${shown.length * ROW}px`;
    this._follow();
    const first = Math.max(Math.floor(this._list.scrollTop / ROW) - MARGIN, 0);
    const count = Math.min(Math.ceil(this._list.clientHeight / ROW) + 2 * MARGIN, shown.length - first);
    while (this._pool.length < count) this._pool.push(this._createRow());
    for (const [i, row] of this._pool.entries()) {
      row.hidden = i >= count;
      if (!row.hidden) this._fill(row, first + i);
    }
    const active = this._pool.find((row) => !row.hidden && row.getAttribute('aria-selected') === 'true');
    if (active === undefined) this._list.removeAttribute('aria-activedescendant');
    else this._list.setAttribute('aria-activedescendant', active.id);
  }

  _createRow() {
    const row = element('div', { class: 'row', role: 'treeitem', id: `row-${this._pool.length}` });
    for (const name of CELLS) row.append(element('span', { class: name }));
    this._space.append(row);
    return row;
  }

  _fill(row, position) {
    const { rows, shown, startTime } = this._store;
    const index = shown[position];
    // The order of Column.
    const [nth, server, sequence, time, opcode, bits, length, , place, stateNumber, ends, payload, message] =
      rows[index];
    const state = STATES[stateNumber];
    const { state: connectionState } = this._store.connections[nth];
    const connection = `${connectionState === 'open' ? '● ' : ''}${nth + 1}`;
    const name = opcodeName(opcode);
    const isUnfolded = this._store.isUnfolded(index);
    // A message that is folded stands for its fragments.
    const [frames, size, inflated, said] = (isUnfolded ? null : message) ?? [1, length, -1, payload];
    const preview = visible(state === 'bad' ? payload : said).replace(/\s/g, ' ');
    const marks = [];
    if (bits & RSV1 && opcode < 8 && state !== 'bad') marks.push('deflate');
    if (frames > 1) marks.push(`${count(frames)} frames`);
    const bytes = sizeText(size, inflated);
    const texts = [
      connection,
      String(sequence),
      server === 1 ? '↓ server' : '↑ client',
      isUnfolded === false ? '▸' : isUnfolded ? '▾' : BRACKETS[place],
      NAMES[name] ?? name,
      bytes,
      time === null ? '' : (time - startTime).toFixed(2),
      ENDS[ends],
      marks.join(' '),
      preview
    ];
    for (const [i, text] of texts.entries()) {
      const cell = row.children[i];
      if (cell.textContent !== text) cell.textContent = text;
    }
    const where = this._store.connections.length > 1 ? `, connection ${nth + 1}` : '';
    row.className = `row ${opcode >= 8 ? 'control' : 'data'} ${server === 1 ? 'from-server' : 'from-client'} ${state}`;
    row.lastElementChild.dataset.opcode = name;
    row.style.top = `${position * ROW}px`;
    row.dataset.index = String(index);
    const label = `frame ${sequence} of the ${server === 1 ? 'server' : 'client'}${where}, ${name}, ${bytes} bytes`;
    row.setAttribute('aria-label', [label, ...marks, state, preview].join(', '));
    if (isUnfolded === null) row.removeAttribute('aria-expanded');
    else row.setAttribute('aria-expanded', String(isUnfolded));
    row.setAttribute('aria-selected', String(index === this.selected));
    row.setAttribute('aria-posinset', String(position + 1));
    row.setAttribute('aria-setsize', String(shown.length));
  }

  /** Selects a frame that is shown, and scrolls to it. */
  select(index) {
    if (index < 0 || index >= this._store.rows.length) return;
    this._store.reveal(index);
    const position = this._store.positionOf(index);
    const isOther = index !== this.selected;
    this.selected = index;
    const top = position * ROW;
    const height = this._list.clientHeight;
    // The space must be as high as the list is long before one can scroll there.
    this._space.style.height = `${this._store.shown.length * ROW}px`;
    if (top < this._list.scrollTop) this._list.scrollTop = top;
    else if (top + ROW > this._list.scrollTop + height) this._list.scrollTop = top + ROW - height;
    this._draw();
    if (isOther) this._onSelect(index);
  }

  /** Selects the frame that is `step` rows further. */
  move(step) {
    const { shown } = this._store;
    if (shown.length === 0) return;
    const at = this._store.positionOf(this.selected);
    // Without a selected row that is shown, one begins before the next one, or after the last.
    let from = step > 0 ? at - 1 : at;
    if (this.selected === -1) from = step > 0 ? -1 : shown.length;
    else if (shown[at] === this.selected) from = at;
    const next = from + step;
    this.select(shown[Math.min(Math.max(next, 0), shown.length - 1)]);
  }

  /** Moves the selection by a key; `page` is how many rows PageUp and PageDown go. */
  onKey(event, page, others = {}) {
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
      ...others
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.move(step);
  }

  reset() {
    this.selected = -1;
    this._follows = true;
    this._seen = 0;
    this._list.scrollTop = 0;
    this.draw();
  }
}
