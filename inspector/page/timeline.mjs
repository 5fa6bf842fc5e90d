// The timeline: what the client sent above the line, what the server sent below it. A column is as
// high as the bytes in it, on a logarithmic scale.

import { byId } from './dom.mjs';
import { firstIndex, State } from './store.mjs';

const HEIGHT = 64;
/** The width of a bar and the gap after it. */
const BAR = 4;
/** More frames are drawn with a delay, in milliseconds. */
const MANY = 20_000;
const DELAY = 200;
/** A drag of fewer pixels is a click. */
const LEAST_DRAG = 4;
/** The colors of a column: data, control frames, and what is not good. */
const KINDS = ['--data', '--control', '--bad'];

const kindOf = ({ state, opcode }) => (state !== State.GOOD ? 2 : opcode >= 8 ? 1 : 0);

const limit = (value, least, most) => Math.min(Math.max(value, least), most);

export class Timeline {
  /** `onZoom` is called when another part is shown. */
  constructor(store, list, onZoom) {
    this._store = store;
    this._list = list;
    this._onZoom = onZoom;
    this._canvas = byId('timeline');
    this._context = this._canvas.getContext('2d');
    this._frame = 0;
    this._listenToDrags();
    byId('zoom-out').addEventListener('click', () => this.zoom(0));
    this._canvas.addEventListener('keydown', (event) => {
      const far = Math.max(Math.floor(store.shown.length / 20), 1);
      list.onKey(event, far, { ArrowRight: 1, ArrowLeft: -1 });
    });
    new ResizeObserver(() => this.draw()).observe(this._canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
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
    canvas.addEventListener('pointerup', (event) => {
      if (start === null) return;
      const [from, to] = rangeTo(event).map((x) => this._rowAt(limit(x / canvas.clientWidth, 0, 1)));
      if (chosen.hidden) this._list.select(to);
      else this.showRange(from, to);
      this._list.focus();
    });
    // It follows 'pointerup', too.
    canvas.addEventListener('lostpointercapture', () => {
      start = null;
      chosen.hidden = true;
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
    if (width >= rows.length) {
      this.showRange();
      return;
    }
    const { selected } = this._list;
    const middle = selected >= first && selected <= last ? selected : (first + last) / 2;
    const begin = limit(Math.round(middle - width / 2), 0, rows.length - width);
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
    const timeOf = (position) => rows[shown[position]].time;
    const [first, last] = shown.length === 0 ? [null, null] : [timeOf(0), timeOf(shown.length - 1)];
    if (first === null || last === null || last <= first) return (position) => (position + 0.5) / shown.length;
    return (position) => limit(((timeOf(position) ?? first) - first) / (last - first), 0, 1);
  }

  _draw() {
    const { rows, shown } = this._store;
    const width = Math.max(this._canvas.clientWidth, 1);
    const ratio = globalThis.devicePixelRatio || 1;
    this._canvas.width = width * ratio; // it clears the picture
    this._canvas.height = HEIGHT * ratio;
    this._context.scale(ratio, ratio);
    const place = this._measure();
    const bars = Math.ceil(width / BAR);
    const columns = new Float64Array(bars * 6);
    for (let i = 0; i < shown.length; i++) {
      const row = rows[shown[i]];
      const x = Math.min(Math.floor(place(i) * bars), bars - 1);
      // Of a message that is folded, the bytes of all fragments.
      const length = this._store.isUnfolded(shown[i]) === false ? row.message[1] : row.length;
      columns[x * 6 + row.server * 3 + kindOf(row)] += Math.max(length, 0) + 2;
    }
    this._paint(columns);
    this._fill('--quiet', 0, HEIGHT / 2, width, 1);
    this._paintTimes(width);
    this._describe(place, width);
  }

  /** Fills a rectangle with a color of style.css: a canvas knows no light-dark(). */
  _fill(color, ...rectangle) {
    this._canvas.style.color = `var(${color})`;
    this._context.fillStyle = getComputedStyle(this._canvas).color;
    this._context.fillRect(...rectangle);
  }

  /** Draws a kind after the other, each next to the line or on those before it. */
  _paint(columns) {
    const middle = HEIGHT / 2;
    const unit = (middle - 2) / Math.log2(Math.max(...columns, 64));
    const heights = new Float64Array(columns.length / 3);
    for (const [kind, color] of KINDS.entries()) {
      this._fill(color, 0, 0, 0, 0);
      for (const [i, from] of heights.entries()) {
        const bytes = columns[i * 3 + kind];
        const height = Math.min(Math.max(Math.log2(bytes) * unit, 3), middle - from - 1);
        if (bytes === 0 || height <= 0) continue;
        const y = i % 2 === 0 ? middle - from - height : middle + from;
        this._context.fillRect(Math.floor(i / 2) * BAR, y, BAR - 1, height);
        heights[i] += height;
      }
    }
  }

  /** The times of the first and the last frame, in milliseconds from the first of all. */
  _paintTimes(width) {
    const { rows, shown, startTime } = this._store;
    this._context.font = '11px system-ui';
    for (const [index, x, align] of [
      [shown[0], 4, 'left'],
      [shown.at(-1), width - 4, 'right']
    ]) {
      const time = rows[index]?.time ?? null;
      this._context.textAlign = align;
      if (time !== null) this._context.fillText(`${(time - startTime).toFixed(0)} ms`, x, HEIGHT - 5);
    }
  }

  /** Marks the selected frame, for eyes and for screen readers. */
  _describe(place, width) {
    const { rows, shown } = this._store;
    const position = shown.length === 0 ? 0 : this._store.positionOf(this._list.selected);
    const isShown = shown[position] === this._list.selected;
    const { sequence, server } = rows[this._list.selected] ?? {};
    const text = `frame ${sequence} of the ${server === 1 ? 'server' : 'client'}`;
    this._canvas.ariaValueMin = '0';
    this._canvas.ariaValueMax = String(Math.max(shown.length - 1, 0));
    this._canvas.ariaValueNow = String(isShown ? position : 0);
    this._canvas.ariaValueText = isShown ? text : `${shown.length} frames`;
    if (isShown) this._fill('--focus', Math.min(Math.floor(place(position) * width), width - 2), 0, 2, HEIGHT);
  }

  /** @returns {number} the index of the row next to a place from 0 to 1; -1 if none is shown */
  _rowAt(wanted) {
    const { shown } = this._store;
    const place = this._measure();
    let nearest = firstIndex(shown.length - 1, (i) => place(i) < wanted);
    if (nearest > 0 && wanted - place(nearest - 1) < place(nearest) - wanted) nearest--;
    return shown[nearest] ?? -1;
  }
}
