'use strict';

// One inspector: a session, the pages that show it, and the programs that send records to it.

const path = require('node:path');
const { PageConnection } = require('./page-connection');
const { answerPage } = require('./page-requests');
const { RecordReader } = require('./records');
const { InspectorServer, createToken } = require('./server');
const { Session } = require('./session');
const { kindOf, open, openSample } = require('./sources');

const LIVE = path.join(__dirname, '../live.js');
const DEFAULT_SIZE = 256 * 1024 * 1024;

class Inspector {
  /** @param {{ maxSize?: number }} [options] `maxSize` is that of a source, in bytes */
  constructor({ maxSize = DEFAULT_SIZE } = {}) {
    this._pages = new Set();
    this.session = new Session((list, index) => {
      for (const page of this._pages) page.update(list, index);
    });
    this.liveCommand = '';
    this._capture = this._keys = null;
    this._opening = Promise.resolve();
    this._pageToken = createToken();
    this._liveToken = createToken();
    this._server = new InspectorServer({
      '/page': {
        token: this._pageToken,
        fromPage: true,
        open: (connection) => this._openPage(connection),
        maxBody: maxSize,
        answer: (...request) => answerPage(this, ...request)
      },
      '/live': { token: this._liveToken, fromPage: false, open: () => this._openLive() }
    });
  }

  /** @param {number} port 0 for any @returns {Promise<string>} the URL of the page */
  async listen(port) {
    const actual = await this._server.listen(port);
    this.liveUrl = `ws://127.0.0.1:${actual}/live?token=${this._liveToken}`;
    this.liveCommand = `FRAMEMASK_INSPECTOR='${this.liveUrl}' node --require '${LIVE}' app.js`;
    return `http://127.0.0.1:${actual}/#${this._pageToken}`;
  }

  close() {
    return this._server.close();
  }

  /** Opens a source, after those that are being opened. */
  open(source) {
    const opened = this._opening.then(() => open(this.session, { ...this._withKeys(source), keys: this._keys }));
    this._opening = opened.catch(() => {});
    return opened;
  }

  /** A log of TLS keys is kept for the capture, which may come before it or after it. */
  _withKeys(source) {
    const kind = kindOf(source.data);
    if (kind !== 'keys') {
      this._capture = kind === 'capture' ? source : null;
      return source;
    }
    this._keys = source.data;
    if (this._capture === null) throw new Error('This is a log of TLS keys. Open the capture that it is of.');
    return this._capture;
  }

  /** Shows the sample, after the sources that are being opened. */
  openSample() {
    this._opening = this._opening.then(() => openSample(this.session));
    return this._opening;
  }

  clear() {
    this._capture = this._keys = null;
    this.session.reset('');
  }

  _openPage(connection) {
    const page = new PageConnection(connection, this);
    this._pages.add(page);
    return { onClose: () => this._pages.delete(page) };
  }

  /** A program that sends its records: see live.js. */
  _openLive() {
    const { session } = this;
    const connections = new Set();
    let reader = null; // of the list that they are in
    return {
      onMessage: (message) => {
        const { records, dropped = 0 } = message ?? {};
        if (!Array.isArray(records)) throw new TypeError('These are no records');
        if (session.records === null) {
          if (session.title !== '') {
            session.note('A program sends records. Clear the list to see them.');
            return;
          }
          session.reset('live', true);
          session.records = new RecordReader(session);
        }
        if (reader !== session.records) connections.clear();
        reader = session.records;
        for (const record of records) connections.add(reader.add(record));
        if (Number(dropped) > 0) session.note('A program has dropped records, because it sent them too fast.');
      },
      onClose: () => {
        if (reader !== session.records) return;
        for (const index of connections) {
          if (session.connections[index]?.isOpen) session.changeConnection(index, { isOpen: false });
        }
      }
    };
  }
}

module.exports = { Inspector };
