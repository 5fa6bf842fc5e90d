// The timeline: what the client sent above the line, what the server sent below it. A column is as
// high as the bytes in it, on a logarithmic scale.

import { byId } from './dom.mjs';
import { Column, State } from './store.mjs';

const HEIGHT = 64;
/** The width of a bar and the gap after it. */
const BAR = 4;
/** More frames are drawn with a delay, in milliseconds. */
const MANY = 20_000;
const DELAY = 200;
/** A drag of fewer pixels is a click. */
const LEAST_DRAG = 4;
/** The columns of a picture: data, control frames, and what is not good, of both ends. */
const KINDS = ['--data', '--control', '--bad'];

function kindOf(row) {
  if (row[Column.STATE] !== State.GOOD) return 2;
  return row[Column.OPCODE] >= 8 ? 1 : 0;
}

export class Timeline {
  /**
   * @param {import('./store.mjs').Store} store
   * @param {import('./frame-list.mjs').FrameList} list
   * @param {() => void} onZoom called when another part is shown
   */
  constructor(store, list, onZoom) {
    this._store = store;
    this._list = list;
    this._onZoom = onZoom;
    this._canvas = byId('timeline');
    this._frame = 0;
    this._colors = new Map();
    this._listenToDrags();
    byId('zoom-out').addEventListener('click', () => this.zoom(0));
    this._canvas.addEventListener('keydown', (event) => {
      const far = Math.max(Math.floor(store.shown.length / 20), 1);
      list.onKey(event, far, { ArrowRight: 1, ArrowLeft: -1 });
    });
    new ResizeObserver(() => this.draw()).observe(this._canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this._colors.clear();
      this.draw();
    });
  }

  /** A click selects a frame, a drag zooms. */
  _listenToDrags() {
    const canvas = this._canvas;
    const chosen = byId('chosen-range');
    let start = null;
    const rangeTo = ({ offsetX }) => [Math.min(start, offsetX), Math.max(start, offsetX)];
    canvas.addEventListener('pointerdown', (event) => {
      start = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (start === null) return;
      const [from, to] = rangeTo(event);
      chosen.hidden = to - from < LEAST_DRAG;
      chosen.style.left = `${from}px`;
      chosen.style.width = `${to - from}px`;
    });
    canvas.addEventListener('pointercancel', () => {
      start = null;
      chosen.hidden = true;
    });
    canvas.addEventListener('pointerup', (event) => {
      if (start === null) return;
      const [from, to] = rangeTo(event).map((x) => Math.min(Math.max(x / canvas.clientWidth, 0), 1));
      start = null;
      if (chosen.hidden) this._list.select(this._rowAt(to));
      else this.showRange(this._rowAt(from), this._rowAt(to));
      chosen.hidden = true;
      this._list.focus();
    });
  }

  /** Shows a part of the frames, and draws it over the whole width. */
  showRange(first, last) {
    if (first === -1) return;
    this._store.setRange(first, last);
    byId('zoom-out').hidden = last === undefined;
    this._onZoom();
  }

  /** Zooms in by `factor` at the selected frame; 0 shows all. */
  zoom(factor) {
    const { rows, shown, filters } = this._store;
    if (shown.length === 0 && factor !== 0) return;
    const [first, last] = [filters.range[0], Math.min(filters.range[1], rows.length - 1)];
    const width = Math.max(Math.round((last - first + 1) / factor), 1);
    if (factor === 0 || width >= rows.length) {
      this.showRange();
      return;
    }
    const selected = this._list.selected;
    const middle = selected >= first && selected <= last ? selected : (first + last) / 2;
    const begin = Math.min(Math.max(Math.round(middle - width / 2), 0), rows.length - width);
    this.showRange(begin, begin + width - 1);
  }

  reset() {
    byId('zoom-out').hidden = true;
    this._store.setRange();
  }

  /** Draws soon. All frames are drawn each time: while many come, that is done now and then. */
  draw() {
    if (this._frame) return;
    const isMany = this._store.shown.length > MANY;
    const wait = isMany ? (run) => setTimeout(() => requestAnimationFrame(run), DELAY) : requestAnimationFrame;
    this._frame = wait(() => {
      this._frame = 0;
      this._draw();
    });
  }

  /** Where a row is, from 0 to 1: by its time, or by its place if there are no times. */
  _measure() {
    const { rows, shown } = this._store;
    const first = shown.length === 0 ? null : rows[shown[0]][Column.TIME];
    const last = shown.length === 0 ? null : rows[shown.at(-1)][Column.TIME];
    if (first === null || last === null || last <= first) {
      return (position) => (position + 0.5) / shown.length;
    }
    return (position) => {
      const time = rows[shown[position]][Column.TIME];
      return time === null ? 0 : Math.min(Math.max((time - first) / (last - first), 0), 1);
    };
  }

  _draw() {
    const { rows, shown } = this._store;
    const width = Math.max(this._canvas.clientWidth, 1);
    const ratio = globalThis.devicePixelRatio || 1;
    this._canvas.width = width * ratio;
    this._canvas.height = HEIGHT * ratio;
    const place = this._measure();
    const bars = Math.ceil(width / BAR);
    const columns = new Float64Array(bars * 6);
    for (let i = 0; i < shown.length; i++) {
      const row = rows[shown[i]];
      const x = Math.min(Math.floor(place(i) * bars), bars - 1);
      columns[x * 6 + row[Column.SERVER] * 3 + kindOf(row)] += Math.max(this._lengthOf(shown[i]), 0) + 2;
    }
    this._paint(columns, width, ratio);
    this._describe(place, width, ratio);
  }

  /** The bytes of a frame, or of the message that it stands for. */
  _lengthOf(index) {
    const row = this._store.rows[index];
    return this._store.isUnfolded(index) === false ? row[Column.MESSAGE_ROW][1] : row[Column.LENGTH];
  }

  _paint(columns, width, ratio) {
    const context = this._canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, HEIGHT);
    const colors = KINDS.map((name) => this._color(name));
    const middle = HEIGHT / 2;
    const unit = (middle - 2) / Math.log2(Math.max(...columns, 64));
    for (let x = 0; x * BAR < width; x++) {
      for (const server of [0, 1]) {
        let from = 0;
        for (const kind of [0, 1, 2]) {
          const bytes = columns[x * 6 + server * 3 + kind];
          if (bytes === 0) continue;
          const height = Math.min(Math.max(Math.log2(bytes) * unit, 3), middle - from - 1);
          context.fillStyle = colors[kind];
          if (height > 0)
            context.fillRect(x * BAR, server === 0 ? middle - from - height : middle + from, BAR - 1, height);
          from += height;
        }
      }
    }
    context.fillStyle = this._color('--quiet');
    context.fillRect(0, middle, width, 1);
    this._paintTimes(context, width);
  }

  /** The times of the first and the last frame, in milliseconds from the first of all. */
  _paintTimes(context, width) {
    const { rows, shown, startTime } = this._store;
    if (startTime === null || shown.length === 0) return;
    context.font = '11px system-ui';
    for (const [index, x, align] of [
      [shown[0], 4, 'left'],
      [shown.at(-1), width - 4, 'right']
    ]) {
      const time = rows[index][Column.TIME];
      context.textAlign = align;
      if (time !== null) context.fillText(`${(time - startTime).toFixed(0)} ms`, x, HEIGHT - 5);
    }
  }

  /** A color of style.css as a canvas takes it, which knows no light-dark(). */
  _color(name) {
    if (!this._colors.has(name)) {
      this._canvas.style.color = `var(${name})`;
      this._colors.set(name, getComputedStyle(this._canvas).color);
    }
    return this._colors.get(name);
  }

  /** Marks the selected frame, for eyes and for screen readers. */
  _describe(place, width, ratio) {
    const { rows, shown } = this._store;
    const position = this._store.positionOf(this._list.selected);
    const row = shown[position] === this._list.selected ? rows[shown[position]] : undefined;
    const sender = row?.[Column.SERVER] === 1 ? 'server' : 'client';
    const text = row === undefined ? `${shown.length} frames` : `frame ${row[Column.SEQUENCE]} of the ${sender}`;
    const now = row === undefined ? 0 : position;
    const values = { valuemin: 0, valuemax: Math.max(shown.length - 1, 0), valuenow: now, valuetext: text };
    for (const [name, value] of Object.entries(values)) this._canvas.setAttribute(`aria-${name}`, String(value));
    if (row === undefined) return;
    const context = this._canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this._color('--focus');
    context.fillRect(Math.min(Math.floor(place(position) * width), width - 2), 0, 2, HEIGHT);
  }

  /** @returns {number} the index of the row next to a place from 0 to 1; -1 if none is shown */
  _rowAt(wanted) {
    const { shown } = this._store;
    const place = this._measure();
    let low = 0;
    let high = shown.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (place(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && wanted - place(low - 1) < place(low) - wanted) low--;
    return shown[low] ?? -1;
  }
}
