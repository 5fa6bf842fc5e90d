// The list of frames. Only the rows in view are elements, so that 100,000 frames are as fast as
// ten.

import { byId, element, formatNumber, opcodeName, showText, visible } from './dom.mjs';

const ROW = 24;
/** Rows above and below the view. */
const MARGIN = 6;
/** By the place of a frame: of a message that is unfolded, and of control frames amid it. */
const BRACKETS = ['', '┌', '├', '└', '│', ''];
const STATES = ['good', 'bad', 'unread', 'incomplete'];
const ENDS = ['', 'sent', 'received', 'both'];
const RSV1 = 16;

/** The bytes of a message on the wire, and inflated. */
function sizeText(length, inflated) {
  if (length === -1) return '';
  return inflated === -1 ? formatNumber(length) : `${formatNumber(length)} → ${formatNumber(inflated)}`;
}

export class FrameList {
  /** `onSelect` is called with the index of another frame that is selected. */
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
      const { key } = event;
      if (key === 'ArrowRight' || key === 'ArrowLeft') this.unfold(this.selected, key === 'ArrowRight');
      else this.onKey(event, Math.max(Math.floor(this._list.clientHeight / ROW) - 1, 1));
    });
    this._list.addEventListener('click', ({ target }) => {
      const row = target.closest('.row');
      if (row === null) return;
      const index = Number(row.dataset.index);
      if (target.className === 'fold') this.unfold(index, !store.isUnfolded(index));
      this.select(index);
    });
    byId('new').addEventListener('click', () => {
      this._follows = true;
      this._draw();
    });
    new ResizeObserver(() => this.draw()).observe(this._list);
  }

  /** Shows the fragments of the message that a row begins, or hides them. */
  unfold(index, isUnfolded) {
    if ((this._store.isUnfolded(index) ?? isUnfolded) === isUnfolded) return;
    this._store.unfold(index, isUnfolded);
    this.draw();
  }

  /** Follows the end, or says how many rows have come below. */
  _follow() {
    const { length } = this._store.shown;
    if (this.isLive && this._follows) this._list.scrollTop = length * ROW;
    if (this._follows || length < this._seen) this._seen = length;
    const unseen = length - this._seen;
    showText('new', this.isLive && unseen > 0 ? `${formatNumber(unseen)} new ↓` : '');
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
    const { rows, shown, connections, startTime } = this._store;
    const { classList } = byId('list-part');
    classList.toggle('several', connections.length > 1);
    classList.toggle('timed', startTime !== null);
    classList.toggle('records', rows[0]?.ends > 0);
    classList.toggle('many', rows.length >= 10_000);
    this._space.style.height = `${shown.length * ROW}px`;
    this._follow();
    const first = Math.max(Math.floor(this._list.scrollTop / ROW) - MARGIN, 0);
    const count = Math.min(Math.ceil(this._list.clientHeight / ROW) + 2 * MARGIN, shown.length - first);
    while (this._pool.length < count) this._pool.push(this._createRow());
    for (const [i, row] of this._pool.entries()) {
      row.hidden = i >= count;
      if (!row.hidden) this._fill(row, first + i);
    }
    const active = this._pool.find(({ hidden, ariaSelected }) => !hidden && ariaSelected === 'true');
    this._list.setAttribute('aria-activedescendant', active?.id ?? '');
  }

  _createRow() {
    const row = element('div', { class: 'row', role: 'treeitem', id: `row-${this._pool.length}` });
    this._space.append(row);
    return row;
  }

  _fill(row, position) {
    const { rows, shown, startTime, connections } = this._store;
    const index = shown[position];
    const { connection, server, sequence, time, opcode, bits, length, place, ends, ...frame } = rows[index];
    const state = STATES[frame.state];
    const name = opcodeName(opcode);
    const isUnfolded = this._store.isUnfolded(index);
    // A message that is folded stands for its fragments.
    const [frames, size, inflated, said] = (isUnfolded ? null : frame.message) ?? [1, length, -1, frame.preview];
    const marks = [];
    if (bits & RSV1 && opcode < 8 && state !== 'bad') marks.push('deflate');
    if (frames > 1) marks.push(`${formatNumber(frames)} frames`);
    const cells = {
      connection: `${connections[connection].state === 'open' ? '● ' : ''}${connection + 1}`,
      number: String(sequence),
      sender: server === 1 ? '↓ server' : '↑ client',
      fold: isUnfolded === false ? '▸' : isUnfolded ? '▾' : BRACKETS[place],
      opcode: name === 'continuation' ? 'cont.' : name,
      length: sizeText(size, inflated),
      time: time === null ? '' : (time - startTime).toFixed(2),
      ends: ENDS[ends],
      marks: marks.join(' '),
      preview: visible(state === 'bad' ? frame.preview : said).replace(/\s/g, ' ')
    };
    for (const [i, [column, text]] of Object.entries(cells).entries()) {
      const cell = row.children[i] ?? row.appendChild(element('span', { class: column }));
      if (cell.textContent !== text) cell.textContent = text;
    }
    const sender = server === 1 ? 'server' : 'client';
    row.className = `row ${opcode >= 8 ? 'control' : 'data'} from-${sender} ${state}`;
    row.lastElementChild.dataset.opcode = name;
    row.style.top = `${position * ROW}px`;
    row.dataset.index = String(index);
    const where = connections.length > 1 ? `, connection ${connection + 1}` : '';
    const label = `frame ${sequence} of the ${sender}${where}, ${name}, ${cells.length} bytes`;
    row.ariaLabel = [label, ...marks, state, cells.preview].join(', ');
    row.ariaExpanded = isUnfolded;
    row.ariaSelected = String(index === this.selected);
    row.ariaPosInSet = String(position + 1);
    row.ariaSetSize = String(shown.length);
  }

  /** Selects a frame that is shown, and scrolls to it. */
  select(index) {
    if (index < 0 || index >= this._store.rows.length) return;
    this._store.reveal(index);
    const isOther = index !== this.selected;
    this.selected = index;
    const top = this._store.positionOf(index) * ROW;
    const { scrollTop, clientHeight } = this._list;
    // The space must be as high as the list is long before one can scroll there.
    this._space.style.height = `${this._store.shown.length * ROW}px`;
    if (top < scrollTop) this._list.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this._list.scrollTop = top + ROW - clientHeight;
    this._draw();
    if (isOther) this._onSelect(index);
  }

  /** Moves the selection by a key; `page` is how many rows PageUp and PageDown go. */
  onKey(event, page, others = {}) {
    const keys = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
      ...others
    };
    const step = keys[event.key];
    const { shown } = this._store;
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const at = this._store.positionOf(this.selected);
    // Without a selected row that is shown, one begins before the next one, or after the last.
    let from = step > 0 ? at - 1 : at;
    if (this.selected === -1) from = step > 0 ? -1 : shown.length;
    else if (shown[at] === this.selected) from = at;
    this.select(shown[Math.min(Math.max(from + step, 0), shown.length - 1)] ?? -1);
  }

  reset() {
    this.selected = -1;
    this._follows = true;
    this._seen = 0;
    this._list.scrollTop = 0;
    this.draw();
  }
}
