'use strict';

// What the page shows: connections, and their frames in one list.

const { unmasked } = require('./parse-frames');

/** What a frame is to its message. */
const Place = { WHOLE: 0, FIRST: 1, MIDDLE: 2, LAST: 3, INSIDE: 4, APART: 5 };

/** More frames than this are refused: all are in memory, and browsers limit how high a page is. */
const MAX_FRAMES = 500_000;
/** Bytes of inflated messages, and of payloads in records: a few bytes inflate to many. */
const MAX_KEPT = 256 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * @typedef {object} Frame
 * @property {number} index its place in the list
 * @property {number} connection the index of its connection
 * @property {'client' | 'server'} from the end that sent it
 * @property {number} sequence its place among all that this end has sent, from 1
 * @property {number | null} time milliseconds since 1970
 * @property {number | null} opcode null if only an error is known of it
 * @property {boolean} fin @property {number} rsv @property {boolean | null} masked
 * @property {number | null} length of the payload, as announced
 * @property {import('./parse-frames').ParsedFrame | null} parsed null if there is only a record
 * @property {Buffer | null} beginning the payload's first bytes, unmasked, if a record brought them
 * @property {number} state @property {import('./judge').Fault | null} fault
 * @property {{ sent: object | null, received: object | null } | null} ends the records of both ends
 * @property {number} place @property {Message | null} message null for control frames
 */

/** @returns {Buffer | null} the payload's first bytes, unmasked; null if they are not known */
function payloadOf({ parsed, beginning }, count = Infinity) {
  return parsed === null ? (beginning?.subarray(0, count) ?? null) : unmasked(parsed, count);
}

/** @returns {{ code: number, reason: string } | null} of a Close frame (RFC 6455 section 5.5.1) */
function closeOf(frame) {
  const bytes = frame?.opcode === 8 ? payloadOf(frame, 125) : null;
  return bytes?.length >= 2 ? { code: bytes.readUInt16BE(0), reason: bytes.toString('utf8', 2) } : null;
}

/** A message, as far as it has come. */
class Message {
  constructor() {
    /** Its frames, and the control frames amid them. */
    this.all = [];
    this.fragments = 0;
    this.size = 0;
    /** Its bytes, if it was compressed and they are kept. */
    this.inflated = null;
  }

  get head() {
    return this.all[0];
  }

  /** The frames that carry its data. */
  get frames() {
    return this.all.filter(({ message }) => message === this);
  }

  /** RFC 7692 section 6: the first frame has RSV1. */
  get isCompressed() {
    return (this.head.rsv & 4) !== 0;
  }

  get isComplete() {
    return this.frames.at(-1).fin;
  }

  /** @returns {Buffer} its first bytes, as they were sent */
  sent(count = Infinity) {
    const pieces = [];
    for (const frame of this.frames) {
      if (count <= 0) break;
      const bytes = payloadOf(frame, count) ?? EMPTY;
      pieces.push(bytes);
      count -= bytes.length;
      if (bytes.length < (frame.length ?? 0)) break; // the next frame's bytes are not next to these
    }
    return Buffer.concat(pieces);
  }

  /** @returns {Buffer | null} its first bytes, inflated; null if they are not known */
  content(count = Infinity) {
    return this.inflated?.subarray(0, count) ?? (this.isCompressed ? null : this.sent(count));
  }

  /** Whether a result of `content` is all of it. */
  isWhole(content) {
    return this.isComplete && content?.length === (this.inflated?.length ?? this.size);
  }
}

class Session {
  /**
   * @param {(kind: string, index: number) => void} [onChange] called after a change of a frame, a
   *   connection or a note, and of anything else without arguments
   * @param {{ maxKept?: number }} [options] `maxKept` is the limit of `keep`, in bytes
   */
  constructor(onChange = () => {}, { maxKept = MAX_KEPT } = {}) {
    this._onChange = onChange;
    this._maxKept = maxKept;
    this.generation = 0;
    this.reset('');
  }

  /** Forgets all. `title` names the next source; `isLive` says that it has no end yet. */
  reset(title, isLive = false) {
    this.generation++;
    Object.assign(this, { title, isLive, connections: [], frames: [], notes: [] });
    /** How much of a source is read, from 0 to 1; null if none is being read. */
    this.progress = null;
    /** The RecordReader that has added the frames; null if they are of another source. */
    this.records = null;
    this._kept = 0;
    this._onChange();
  }

  /** @param {string} text something that the reader must know, such as a part that is missing */
  note(text) {
    if (this.notes.length < 50 && !this.notes.includes(text)) this.notes.push(text);
    this._onChange();
  }

  /** @returns {Buffer | null} these bytes; null if more than is kept of bytes without a source */
  keep(bytes) {
    if (this._kept + bytes.length <= this._maxKept) {
      this._kept += bytes.length;
      return bytes;
    }
    const what = "inflated messages and of records' payloads";
    this.note(`${this._maxKept} bytes of ${what} are kept: further ones are left out.`);
    return null;
  }

  setProgress(progress) {
    this.progress = progress;
    this._onChange();
  }

  /**
   * @param {{ name: string, url?: string | null, extensions?: string, heads?: Buffer[] }} names
   *   `url` is the server's, `extensions` those that it has agreed on, `heads` are the handshake
   * @returns {number} the index of a new connection
   */
  addConnection({ name, url = null, extensions, heads = [] }) {
    const direction = () => ({ open: null, close: null, end: null });
    this.connections.push({ name, url, extensions, heads, isOpen: true, client: direction(), server: direction() });
    this._onChange();
    return this.connections.length - 1;
  }

  /** @param {{ name?: string, url?: string | null, isOpen?: boolean }} changed */
  changeConnection(index, changed) {
    Object.assign(this.connections[index], changed);
    this._onChange('connections', index);
  }

  /**
   * Adds a frame, and finds its message.
   * @param {Partial<Frame>} frame without `index`, `message` and `place`
   * @returns {boolean} false if the list is full
   */
  addFrame(frame) {
    if (this.isFull) {
      this.note(`The list is full: it has ${MAX_FRAMES} frames, and no further ones are added.`);
      return false;
    }
    const direction = this.connections[frame.connection][frame.from];
    frame.index = this.frames.length;
    stitch(direction, frame);
    this.frames.push(frame);
    if (frame.opcode === 8 || frame.fault !== null) this._end(frame, direction);
    this.changed(frame.message?.head ?? frame);
    return true;
  }

  /** A connection is closed once both ends say so, or have failed (RFC 6455 section 7.1.4). */
  _end(frame, direction) {
    direction.end ??= frame;
    if (frame.opcode === 8) direction.close ??= frame;
    const { client, server } = this.connections[frame.connection];
    this.changeConnection(frame.connection, client.end && server.end ? { isOpen: false } : {});
  }

  get isFull() {
    return this.frames.length >= MAX_FRAMES;
  }

  /** Says that a frame is not what it was. */
  changed({ index }) {
    this._onChange('frames', index);
  }
}

/** Gives a frame its message and its place in it (RFC 6455 section 5.4), also in a bad stream. */
function stitch(direction, frame) {
  const { opcode, fin } = frame;
  const isControl = opcode === null || opcode >= 8;
  if (!isControl && opcode !== 0) direction.open = new Message();
  const { open } = direction;
  frame.message = isControl ? null : open;
  if (open === null) frame.place = Place.APART;
  else if (isControl) frame.place = Place.INSIDE;
  else if (opcode === 0) frame.place = fin ? Place.LAST : Place.MIDDLE;
  else frame.place = fin ? Place.WHOLE : Place.FIRST;
  open?.all.push(frame);
  if (frame.message === null) return;
  open.fragments++;
  open.size += frame.length ?? 0;
  if (fin) direction.open = null;
}

module.exports = { MAX_FRAMES, Place, Session, closeOf, payloadOf };
