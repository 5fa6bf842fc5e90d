'use strict';

// What the page shows: connections, and their frames in one list.

/** What a frame is to its message. */
const Place = { WHOLE: 0, FIRST: 1, MIDDLE: 2, LAST: 3, INSIDE: 4, APART: 5 };

/** More frames than this are refused: all are in memory, and browsers limit how high a page is. */
const MAX_FRAMES = 500_000;
/** Bytes of messages that were inflated, and of payloads in records: a few bytes inflate to many. */
const MAX_KEPT = 256 * 1024 * 1024;

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
 * @property {Buffer | null} inflated the message that it ends, if that was compressed and is kept
 * @property {number} state as lib/judge.js has it
 * @property {import('./judge').Fault | null} fault
 * @property {{ sent: object | null, received: object | null } | null} ends the records of both ends
 * @property {number} message counts the messages of this end, 0 for none
 * @property {number} place
 * @property {Frame | null} head the first frame of its message; null for control frames
 * @property {number} [fragments] @property {number} [size] @property {Frame} [last] of a head: how many
 *   frames its message has so far, the bytes of their payloads, and the last of them
 */

class Session {
  /**
   * @param {() => void} [onChange] called after each change
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
    this.title = title;
    this.isLive = isLive;
    /** How much of a source is read, from 0 to 1; null if none is being read. */
    this.progress = null;
    this.connections = [];
    this.frames = [];
    /** The indexes of frames that changed after they were added, in the order of the changes. */
    this.changes = [];
    /** The same for connections. */
    this.connectionChanges = [];
    this.notes = [];
    this._kept = 0;
    this._onChange();
  }

  /** @param {string} text something that the reader must know, such as a part that is missing */
  note(text) {
    if (this.notes.length < 50 && !this.notes.includes(text)) this.notes.push(text);
    this._onChange();
  }

  /** @returns {Buffer | null} these bytes; null if that is more than is kept of bytes that no source has */
  keep(bytes) {
    if (this._kept + bytes.length > this._maxKept) {
      this.note(
        `${this._maxKept} bytes of inflated messages and of records' payloads are kept: further ones are left out.`
      );
      return null;
    }
    this._kept += bytes.length;
    return bytes;
  }

  /** @param {number | null} progress */
  setProgress(progress) {
    this.progress = progress;
    this._onChange();
  }

  /**
   * @param {{ name: string, url?: string | null, extensions?: string, heads?: Buffer[] }} names `url` is
   *   the server's, `extensions` those that it has agreed on, `heads` are the handshake
   * @returns {number} the index of a new connection
   */
  addConnection({ name, url = null, extensions, heads = [] }) {
    const direction = () => ({ frames: [], open: null, messages: 0, close: null, hasEnded: false });
    this.connections.push({ name, url, extensions, heads, isOpen: true, client: direction(), server: direction() });
    this._onChange();
    return this.connections.length - 1;
  }

  /** @param {{ name?: string, url?: string | null, isOpen?: boolean }} changed */
  changeConnection(index, changed) {
    Object.assign(this.connections[index], changed);
    this.connectionChanges.push(index);
    this._onChange();
  }

  /**
   * Adds a frame, and finds its message.
   *
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
    frame.position = direction.frames.length;
    stitch(direction, frame);
    direction.frames.push(frame);
    this.frames.push(frame);
    if (frame.opcode === 8 || frame.fault !== null) this._close(frame, direction);
    if (frame.head !== null && frame.head !== frame) this.changes.push(frame.head.index);
    this._onChange();
    return true;
  }

  /** A connection is closed once both ends have said so, or have failed (RFC 6455 section 7.1.4). */
  _close(frame, direction) {
    direction.hasEnded = true;
    if (frame.opcode === 8) direction.close ??= frame;
    const { client, server } = this.connections[frame.connection];
    this.changeConnection(frame.connection, client.hasEnded && server.hasEnded ? { isOpen: false } : {});
  }

  get isFull() {
    return this.frames.length >= MAX_FRAMES;
  }

  /** Says that a frame is not what it was. */
  changed(frame) {
    this.changes.push(frame.index);
    this._onChange();
  }

  /**
   * @param {Frame} frame
   * @returns {Frame[]} the frames of its message, and the control frames between them
   */
  messageOf(frame) {
    const { frames } = this.connections[frame.connection][frame.from];
    if (frame.message === 0) return [frame];
    let first = frame.position;
    let last = frame.position;
    while (first > 0 && frames[first - 1].message === frame.message) first--;
    while (last + 1 < frames.length && frames[last + 1].message === frame.message) last++;
    return frames.slice(first, last + 1);
  }

  /** @returns {Frame[]} the frames of a frame's message that carry its data */
  fragmentsOf(frame) {
    return frame.head === null ? [] : this.messageOf(frame).filter(({ head }) => head === frame.head);
  }
}

/** Gives a frame its message and its place in it (RFC 6455 section 5.4), also in a bad stream. */
function stitch(direction, frame) {
  const { opcode, fin } = frame;
  frame.message = direction.open?.message ?? 0;
  frame.head = null;
  if (opcode === null || opcode >= 8) {
    frame.place = direction.open === null ? Place.APART : Place.INSIDE;
  } else if (opcode === 0) {
    frame.place = direction.open === null ? Place.APART : fin ? Place.LAST : Place.MIDDLE;
    frame.head = direction.open;
    if (fin) direction.open = null;
  } else {
    frame.message = ++direction.messages;
    frame.place = fin ? Place.WHOLE : Place.FIRST;
    Object.assign(frame, { head: frame, fragments: 0, size: 0 });
    direction.open = fin ? null : frame;
  }
  if (frame.head === null) return;
  frame.head.fragments++;
  frame.head.size += frame.length ?? 0;
  frame.head.last = frame;
}

module.exports = { MAX_FRAMES, Place, Session };
