'use strict';

// The conversation with a page that is open: it is sent rows of the list as they come, and asks
// for the details of a frame, searches, and sources.

const { setTimeout: sleep } = require('node:timers/promises');
const { copyOf } = require('./copy');
const { connectionRow, detailOf } = require('./detail');
const { exportFrames } = require('./export');
const { rowOf } = require('./rows');
const { search } = require('./search');

/** Rows in one message: few enough that the page shows each without a pause. */
const BATCH = 4000;

/** Bytes of an export in one message. */
const EXPORT_PART = 512 * 1024;

/** The lists of the session, and their rows on the page: a frame's connection comes before it. */
const ROWS = { connections: connectionRow, notes: (note) => note, frames: rowOf };

/** Sends a page what the session has, and then what is new in it. */
class PageConnection {
  constructor(peer, inspector) {
    this._peer = peer;
    this._inspector = inspector;
    this._generation = -1;
    this._pumping = false;
    this._again = false;
    this._search = 0;
    this._upload = null;
    this._progress = null;
    peer.send({ type: 'hello', live: inspector.liveCommand });
    this.update();
  }

  /** Sends soon what has changed: the `index` of a list, if one is named, and what is new in all. */
  update(list, index) {
    if (index < this._sent?.[list]) this._changed[list].add(index);
    this._again = true;
    if (!this._pumping) this._pump();
  }

  async _pump() {
    this._pumping = true;
    while (this._again && this._peer.isOpen) {
      this._again = false;
      // Changes of one turn are sent together.
      await sleep(20);
      await this._sendChanges();
    }
    this._pumping = false;
  }

  async _sendChanges() {
    const { session } = this._inspector;
    const { generation, title, isLive } = session;
    if (this._generation !== generation) {
      this._generation = generation;
      this._sent = { connections: 0, notes: 0, frames: 0 };
      this._changed = { connections: new Set(), notes: new Set(), frames: new Set() };
      this._peer.send({ type: 'reset', title, isLive });
    }
    const sendSome = (list) => this._sendSome(list, session[list]);
    while (this._peer.isOpen && generation === session.generation && Object.keys(ROWS).some(sendSome)) {
      this._sendProgress(session);
      await this._peer.drained();
    }
    this._sendProgress(session);
  }

  /** @returns {boolean} whether some rows of a list were changed, or new */
  _sendSome(list, items) {
    const changed = [...this._changed[list]].slice(0, BATCH);
    for (const index of changed) this._changed[list].delete(index);
    const from = this._sent[list];
    this._sent[list] = Math.min(from + BATCH - changed.length, items.length);
    for (let index = from; index < this._sent[list]; index++) changed.push(index);
    if (changed.length === 0) return false;
    this._peer.send({ type: list, rows: changed.map((index) => [index, ROWS[list](items[index])]) });
    return true;
  }

  _sendProgress({ progress }) {
    if (progress !== this._progress) this._peer.send({ type: 'progress', part: progress });
    this._progress = progress;
  }

  /** A message of the page. */
  receive(message) {
    if (Buffer.isBuffer(message)) {
      this._receivePart(message);
      return;
    }
    const { type, index, count, query, number, part, format, indexes } = message ?? {};
    const { session } = this._inspector;
    if (type === 'detail') this._peer.send({ type, detail: detailOf(session, index, count) });
    else if (type === 'search') this._runSearch(String(query ?? ''), number);
    else if (type === 'open') this._beginUpload(message);
    else if (type === 'copy') this._copy(index, part);
    else if (type === 'export') this._export(exportFrames(session, format, indexes));
    else if (type === 'sample') this._inspector.openSample();
    else if (type === 'clear') this._inspector.clear();
    else throw new TypeError('The page sent an unknown message');
  }

  _copy(index, part) {
    try {
      this._peer.send({ type: 'copy', text: copyOf(this._inspector.session, index, part) });
    } catch (error) {
      this._peer.send({ type: 'copy', error: error.message });
    }
  }

  /** Sends a file in parts, in base64. */
  async _export(file) {
    const { session } = this._inspector;
    const { generation } = session;
    let parts = [];
    let size = 0;
    const send = (done) => {
      this._peer.send({ type: 'export', part: Buffer.concat(parts).toString('base64'), done });
      parts = [];
      size = 0;
      return this._peer.drained();
    };
    try {
      for (const part of file) {
        parts.push(Buffer.from(part));
        size += parts.at(-1).length;
        if (size < EXPORT_PART) continue;
        await send(false);
        if (!this._peer.isOpen || generation !== session.generation) return;
      }
      send(true);
    } catch (error) {
      this._peer.send({ type: 'export', error: error.message });
    }
  }

  async _runSearch(query, number) {
    const own = ++this._search;
    const { session } = this._inspector;
    const { generation } = session;
    const found = await search(session, query, () => own === this._search && generation === session.generation);
    if (found !== null) this._peer.send({ type: 'found', number, found });
  }

  /** A source comes as one message that describes it, and binary messages with its bytes. */
  _beginUpload({ size, ...source }) {
    if (!Number.isInteger(size) || size < 0) throw new TypeError('A source has no size');
    const { maxSize } = this._inspector;
    this._upload = size > maxSize ? null : { source, parts: [], left: size };
    if (this._upload === null) this._peer.send({ type: 'error', text: `This is larger than ${maxSize} bytes` });
    else this._receivePart(Buffer.alloc(0));
  }

  async _receivePart(bytes) {
    const upload = this._upload;
    if (upload === null) return;
    upload.parts.push(bytes);
    upload.left -= bytes.length;
    if (upload.left > 0) return;
    this._upload = null;
    const { name, from, format, add } = upload.source;
    const title = String(name ?? '').slice(0, 200);
    try {
      await this._inspector.open({ data: Buffer.concat(upload.parts), name: title, from, format, add: add === true });
      this._peer.send({ type: 'opened' });
    } catch (error) {
      this._peer.send({ type: 'error', text: error.message, at: error.at ?? null });
    }
  }

  close() {
    this._search++;
    this._upload = null;
  }
}

module.exports = { PageConnection };
