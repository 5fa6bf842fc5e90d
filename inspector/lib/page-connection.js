'use strict';

// Sends a page that is open the rows of the list, as they come. page-requests.js answers it.

const { setTimeout: sleep } = require('node:timers/promises');
const { connectionRow } = require('./detail');
const { rowOf } = require('./rows');

/** Rows in one message: few enough that the page shows each without a pause. */
const BATCH = 4000;

/** The lists of the session, and their rows on the page: a frame's connection comes before it. */
const ROWS = { connections: connectionRow, notes: (note) => note, frames: rowOf };

/** Sends a page what the session has, and then what is new in it. */
class PageConnection {
  constructor(connection, inspector) {
    this._connection = connection;
    this._inspector = inspector;
    this._generation = -1;
    this._pumping = false;
    this._again = false;
    this._progress = null;
    this._send({ type: 'hello', live: inspector.liveCommand });
    this.update();
  }

  /** Sends the changes soon: the `index` of a list, if one is named, and all that is new. */
  update(list, index) {
    if (index < this._sent?.[list]) this._changed[list].add(index);
    this._again = true;
    if (!this._pumping) this._pump();
  }

  get _isOpen() {
    return this._connection.readyState === 1;
  }

  /** Sends a message; `_sending` lasts until the page has read what was sent, or is gone. */
  _send(message) {
    this._sending = new Promise((resolve) => this._connection.send(JSON.stringify(message), resolve));
  }

  async _pump() {
    this._pumping = true;
    while (this._again && this._isOpen) {
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
      this._send({ type: 'reset', title, isLive });
    }
    const sendSome = (list) => this._sendSome(list, session[list]);
    while (this._isOpen && generation === session.generation && Object.keys(ROWS).some(sendSome)) {
      this._sendProgress(session);
      await this._sending;
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
    this._send({ type: list, rows: changed.map((index) => [index, ROWS[list](items[index])]) });
    return true;
  }

  _sendProgress({ progress }) {
    if (progress !== this._progress) this._send({ type: 'progress', part: progress });
    this._progress = progress;
  }
}

module.exports = { PageConnection };
