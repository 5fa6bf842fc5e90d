'use strict';

// The connection from a program to an inspector. It never keeps the program alive, but for a moment
// at its end, so that the last records arrive.

const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { Connection } = require('./framemask');

/** Milliseconds that records wait for others. */
const DELAY = 20;
/** Records of one message, and characters of their payloads: the server takes messages of 4 MiB. */
const BATCH = 500;
const BATCH_CHARACTERS = 1024 * 1024;
/**
 * Records that wait for the connection, or for an inspector that does not read; more are dropped.
 */
const MAX_WAITING = 20_000;
/** Bytes that the socket may hold. */
const MAX_QUEUED = 4 * 1024 * 1024;
/** Milliseconds that the end of a program may take longer. */
const LAST_WAIT = 1000;

class LiveSender {
  /** `onEnd` is called once there is no connection any more. */
  constructor(url, onEnd) {
    this._onEnd = onEnd;
    this._waiting = [];
    this._dropped = 0;
    this._timer = null;
    this._connection = null;
    this._ended = false;
    this._connect(url);
  }

  async _connect(url) {
    try {
      this._connection = await Connection.connect(url, {
        trace: false,
        createConnection: (options) => net.connect(options).unref(),
        onClose: () => this._end()
      });
    } catch ({ message, statusCode }) {
      const answer = `the inspector answered ${statusCode}; is this the address of one that runs now?`;
      console.error(`framemask-inspector: no records are sent: ${statusCode === undefined ? message : answer}`);
      this._end();
      return;
    }
    if (this._ended) this._connection.terminate();
    else this._flush();
  }

  /** Sends a record, soon. */
  send(record) {
    if (this._ended) return;
    if (this._waiting.length >= MAX_WAITING) {
      this._dropped++;
      return;
    }
    this._waiting.push(record);
    this._timer ??= setTimeout(() => this._flush(), DELAY).unref();
  }

  _flush() {
    clearTimeout(this._timer);
    this._timer = null;
    if (this._connection === null) return;
    while (this._waiting.length > 0 && this._connection.bufferedAmount < MAX_QUEUED) {
      const message = { records: this._takeBatch(), dropped: this._dropped };
      this._connection.send(JSON.stringify(message));
      this._dropped = 0;
    }
    if (this._waiting.length > 0) this._timer = setTimeout(() => this._flush(), DELAY).unref();
  }

  _takeBatch() {
    let count = 0;
    for (let size = 0; size < BATCH_CHARACTERS && count < Math.min(this._waiting.length, BATCH); count++) {
      size += this._waiting[count].payload?.length ?? 0;
    }
    return this._waiting.splice(0, count);
  }

  /** Keeps the program until the last records are sent, or a second has passed. */
  async finish() {
    const limit = performance.now() + LAST_WAIT;
    while (!this._ended && (this._waiting.length > 0 || this._connection?.bufferedAmount > 0)) {
      if (performance.now() > limit) this._end();
      this._flush();
      await sleep(5);
    }
  }

  _end() {
    if (this._ended) return;
    this._ended = true;
    clearTimeout(this._timer);
    this._waiting = [];
    this._connection?.terminate();
    this._onEnd();
  }
}

module.exports = { LiveSender };
