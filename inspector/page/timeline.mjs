// The timeline: what the client sent above the line, what the server sent below it. A column is as
// high as the bytes in it, on a logarithmic scale.

import { byId } from './dom.mjs';
import { Column, State } from './store.mjs';

const HEIGHT = 64;
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
   */
  constructor(store, list) {
    this._store = store;
    this._list = list;
    this._canvas = byId('timeline');
    this._frame = 0;
    this._colors = new Map();
    this._canvas.addEventListener('click', (event) => {
      this._selectAt(event.offsetX / this._canvas.clientWidth);
      list.focus();
    });
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

  draw() {
    this._frame ||= requestAnimationFrame(() => {
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
    const columns = new Float64Array(width * 6);
    for (let i = 0; i < shown.length; i++) {
      const row = rows[shown[i]];
      const x = Math.min(Math.floor(place(i) * width), width - 1);
      columns[x * 6 + row[Column.SERVER] * 3 + kindOf(row)] += Math.max(row[Column.LENGTH], 0) + 2;
    }
    this._paint(columns, width, ratio);
    this._describe(place, width, ratio);
  }

  _paint(columns, width, ratio) {
    const context = this._canvas.getContext('2d');
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, HEIGHT);
    const colors = KINDS.map((name) => this._color(name));
    const middle = HEIGHT / 2;
    const unit = (middle - 2) / Math.log2(Math.max(...columns, 64));
    for (let x = 0; x < width; x++) {
      for (const server of [0, 1]) {
        let from = 0;
        for (const kind of [0, 1, 2]) {
          const bytes = columns[x * 6 + server * 3 + kind];
          if (bytes === 0) continue;
          const height = Math.min(Math.max(Math.log2(bytes) * unit, 3), middle - from - 1);
          context.fillStyle = colors[kind];
          if (height > 0) context.fillRect(x, server === 0 ? middle - from - height : middle + from, 1, height);
          from += height;
        }
      }
    }
    context.fillStyle = this._color('--quiet');
    context.fillRect(0, middle, width, 1);
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

  /** Selects the frame next to a place from 0 to 1. */
  _selectAt(wanted) {
    const { shown } = this._store;
    if (shown.length === 0) return;
    const place = this._measure();
    let low = 0;
    let high = shown.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (place(middle) < wanted) low = middle + 1;
      else high = middle;
    }
    if (low > 0 && wanted - place(low - 1) < place(low) - wanted) low--;
    this._list.select(shown[low]);
  }
}
