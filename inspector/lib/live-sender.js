'use strict';

// The connection from a program to an inspector. It never keeps the program alive, but for a moment
// at its end, so that the last records arrive.

const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { offerUpgrade } = require('./framemask');
const { Peer } = require('./peer');

/** Milliseconds that records wait for others. */
const DELAY = 20;
const BATCH = 500;
/** Records that wait for the connection, or for an inspector that does not read; more are dropped. */
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
    this._peer = null;
    this._socket = null;
    this._ended = false;
    this._connect(url);
  }

  _connect(url) {
    const offer = offerUpgrade();
    const request = http.get({
      host: url.hostname.replace(/[[\]]/g, ''),
      port: url.port,
      path: url.pathname + url.search,
      agent: false,
      headers: offer.headers
    });
    const fail = (reason) => {
      console.error(`framemask-inspector: no records are sent: ${reason}`);
      this._end();
    };
    request.on('socket', (socket) => socket.unref());
    request.on('error', (error) => fail(error.message));
    request.on('response', (response) => {
      response.resume();
      fail(`the inspector answered ${response.statusCode}; is this the address of one that runs now?`);
    });
    request.on('upgrade', (response, socket) => {
      try {
        offer.readAnswer(response);
      } catch (error) {
        socket.destroy();
        fail(error.message);
        return;
      }
      socket.unref();
      this._socket = socket;
      this._peer = new Peer(socket, { role: 'client', onClose: () => this._end() });
      this._flush();
    });
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
    if (this._peer === null) return;
    while (this._waiting.length > 0 && this._peer.queued < MAX_QUEUED) {
      this._peer.send({ records: this._waiting.splice(0, BATCH), dropped: this._dropped });
      this._dropped = 0;
    }
    if (this._waiting.length > 0) this._timer = setTimeout(() => this._flush(), DELAY).unref();
  }

  /** Keeps the program until the last records are sent, or a second has passed. */
  async finish() {
    const limit = performance.now() + LAST_WAIT;
    while (!this._ended && (this._waiting.length > 0 || this._peer?.queued > 0)) {
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
    this._socket?.destroy();
    this._onEnd();
  }
}

module.exports = { LiveSender };
