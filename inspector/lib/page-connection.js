'use strict';

// The conversation with a page that is open: it is sent rows of the list as they come, and asks
// for the details of a frame, searches, and sources.

const { copyOf } = require('./copy');
const { connectionRow, detailOf } = require('./detail');
const { exportFrames } = require('./export');
const { rowOf } = require('./rows');
const { search } = require('./search');

/** Rows or names in one message: few enough that the page shows each without a pause. */
const BATCH = 4000;

/** Bytes of an export in one message. */
const EXPORT_PART = 512 * 1024;

/** Sends a page what the session has, and then what is new in it. */
class PageConnection {
  /**
   * @param {import('./peer').Peer} peer
   * @param {import('./inspector').Inspector} inspector
   */
  constructor(peer, inspector) {
    this._peer = peer;
    this._inspector = inspector;
    this._generation = -1;
    this._pumping = false;
    this._again = false;
    this._search = 0;
    this._upload = null;
    this._progress = null;
    peer.send({ type: 'hello', live: inspector.liveCommand, maxSize: inspector.maxSize });
    this.update();
  }

  /** Sends what has changed. It may be called at any time. */
  update() {
    this._again = true;
    if (!this._pumping) this._pump();
  }

  async _pump() {
    this._pumping = true;
    while (this._again && this._peer.isOpen) {
      this._again = false;
      // Changes of one turn are sent together.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await this._sendChanges();
    }
    this._pumping = false;
  }

  async _sendChanges() {
    const { session } = this._inspector;
    if (this._generation !== session.generation) {
      this._generation = session.generation;
      this._frames = this._connections = this._notes = 0;
      // Rows are made when they are sent, so that they have the changes before.
      this._changes = session.changes.length;
      this._connectionChanges = session.connectionChanges.length;
      this._peer.send({ type: 'reset', title: session.title, isLive: session.isLive });
    }
    this._sendNew('connections', session.connections, connectionRow);
    this._sendNew('notes', session.notes, (note) => note);
    this._sendProgress(session);
    while (this._frames < session.frames.length && this._generation === session.generation && this._peer.isOpen) {
      const rows = session.frames.slice(this._frames, this._frames + BATCH).map((frame) => rowOf(session, frame));
      this._sendNew('connections', session.connections, connectionRow);
      this._sendProgress(session);
      this._peer.send({ type: 'frames', from: this._frames, rows });
      this._frames += rows.length;
      await this._peer.drained();
    }
    if (this._generation !== session.generation) return;
    await this._sendChanged('connectionChanges', session.connections, 'connectionsChanged', connectionRow);
    await this._sendChanged('changes', session.frames, 'changed', (frame) => rowOf(session, frame));
  }

  async _sendChanged(field, list, type, format) {
    const { session } = this._inspector;
    if (this._generation !== session.generation) return;
    const changed = [...new Set(session[field].slice(this[`_${field}`]))];
    this[`_${field}`] = session[field].length;
    for (let i = 0; i < changed.length; i += BATCH) {
      const rows = changed.slice(i, i + BATCH).map((index) => [index, format(list[index])]);
      this._peer.send({ type, rows });
      await this._peer.drained();
      if (this._generation !== session.generation) return;
    }
  }

  _sendProgress({ progress }) {
    if (progress === this._progress) return;
    this._progress = progress;
    this._peer.send({ type: 'progress', part: progress });
  }

  _sendNew(type, list, format) {
    const field = `_${type}`;
    while (this[field] < list.length) {
      const part = list.slice(this[field], this[field] + BATCH).map(format);
      this._peer.send({ type, from: this[field], [type]: part });
      this[field] += part.length;
    }
  }

  /** A message of the page. */
  receive(message) {
    if (Buffer.isBuffer(message)) {
      this._receivePart(message);
      return;
    }
    const { type, index, count, query, number } = message ?? {};
    if (type === 'detail') this._peer.send({ type, detail: detailOf(this._inspector.session, index, count) });
    else if (type === 'search') this._runSearch(String(query ?? ''), number);
    else if (type === 'open') this._beginUpload(message);
    else if (type === 'copy') this._copy(message);
    else if (type === 'export') this._export(exportFrames(this._inspector.session, message.format, message.indexes));
    else if (type === 'sample') this._inspector.openSample();
    else if (type === 'clear') this._inspector.clear();
    else throw new TypeError('The page sent an unknown message');
  }

  _copy({ index, part }) {
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
    const send = async (done) => {
      this._peer.send({ type: 'export', part: Buffer.concat(parts).toString('base64'), done });
      parts = [];
      size = 0;
      await this._peer.drained();
    };
    try {
      for (const part of file) {
        parts.push(Buffer.from(part));
        size += parts.at(-1).length;
        if (size < EXPORT_PART) continue;
        await send(false);
        if (!this._peer.isOpen || generation !== session.generation) return;
      }
      await send(true);
    } catch (error) {
      this._peer.send({ type: 'export', error: error.message });
    }
  }

  async _runSearch(query, number) {
    const own = ++this._search;
    const { session } = this._inspector;
    const { generation } = session;
    const found = await search(session, query, () => own === this._search && generation === session.generation);
    if (found !== null) this._peer.send({ type: 'found', number, found, searched: session.frames.length });
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
