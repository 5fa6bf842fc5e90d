'use strict';

// A WebSocket in a program of fuzz/ws.js: does operations, reacts to events, and logs both.

const { makeValue } = require('./values');
const { describeBytes, describeData, describeError } = require('./recorder');

/** How many pieces of data are looked at again in the end. */
const KEPT = 40;

const WHEN = { nextTick: process.nextTick, microtask: queueMicrotask, immediate: setImmediate };

/** What a listener throws on purpose. */
class Thrown extends Error {}

class Endpoint {
  #add;
  #settings;
  #counts = {};
  #calls = 0;
  /** Data that was sent or received, as it was then. */
  #kept = [];
  #blobs = [];
  /**
   * Whether it has sent a Blob: with what waits for it, it stays in ws's Sender if the socket is
   * destroyed in the tick in which the Blob has been read.
   */
  hasSentBlob = false;

  /**
   * @param {import('ws').WebSocket} ws
   * @param {import('node:stream').Duplex} socket under it, because a look at `ws._socket` may have
   *   an effect
   * @param {object} settings its side of the program; whether the operation `throw` throws, and
   *   `bufferedAmount` is shown; and a function that adds a line to a log
   */
  constructor(ws, socket, settings) {
    const { side, createWebSocketStream, add } = settings;
    this.ws = ws;
    this.socket = socket;
    this.#add = add;
    this.#settings = settings;
    ws.binaryType = side.binaryType;
    if (side.style === 'stream') this.#stream(createWebSocketStream(ws));
    this.#listen(side.style);
  }

  #stream(stream) {
    this.stream = stream;
    stream.on('data', (data) => this.#add('stream', `data ${describeData(data)}`));
    for (const name of ['end', 'finish', 'close']) stream.on(name, () => this.#add('stream', name));
    stream.on('error', (error) => this.#add('stream', `error ${describeError(error)}`));
  }

  #listen(style) {
    const { ws } = this;
    for (const name of ['ping', 'pong']) ws.on(name, (data) => this.#onData(name, data, ''));
    ws.on('upgrade', () => this.#onEvent('upgrade', ''));
    if (['on', 'stream', 'parts'].includes(style)) {
      ws.on('open', (...args) => this.#onEvent('open', args.length === 0 ? '' : 'with arguments'));
      ws.on('message', (data, isBinary, ...more) => this.#onData('message', data, `${isBinary}${more.length || ''}`));
      ws.on('stream', (stream, isBinary) => this.#onStream(stream, isBinary));
      ws.on('error', (error) => this.#onEvent('error', describeError(error)));
      ws.on('close', (code, reason) => this.#onEvent('close', `${code} ${describeData(reason)}`));
      return;
    }
    const isOurs = (event) => `${event.type}${event.target === ws ? '' : ' of another'}`;
    const listeners = {
      open: (event) => this.#onEvent('open', isOurs(event)),
      message: (event) => this.#onData('message', event.data, isOurs(event)),
      error: (event) => this.#onEvent('error', `${isOurs(event)} ${event.message}: ${describeError(event.error)}`),
      close: (event) => this.#onEvent('close', `${isOurs(event)} ${event.code} '${event.reason}' ${event.wasClean}`)
    };
    for (const [name, listener] of Object.entries(listeners)) {
      if (style === 'target') ws.addEventListener(name, listener);
      else ws[`on${name}`] = listener;
    }
  }

  #onData(name, data, more) {
    const described = this.#keep('events', data);
    if (data instanceof Blob) {
      this.#blobs.push(data.arrayBuffer().then((bytes) => describeBytes(new Uint8Array(bytes))));
    }
    this.#onEvent(name, `${described} ${more}`);
  }

  /** A message that framemask/ws gives as a stream is one like others when it has ended. */
  #onStream(stream, isBinary) {
    const parts = [];
    stream.on('data', (part) => parts.push(part));
    stream.on('end', () => this.#onData('message', Buffer.concat(parts), `${isBinary}`));
  }

  #onEvent(name, text) {
    this.#add('events', `${name} ${text} [${this.ws.readyState}]`);
    const nth = this.#counts[name] ?? 0;
    this.#counts[name] = nth + 1;
    let throws = false;
    for (const { event, nth: when, ops } of this.#settings.side.reactions) {
      if (event !== name || when !== nth) continue;
      this.perform(ops.filter(({ op }) => op !== 'throw'));
      throws ||= this.#settings.throws && ops.some(({ op }) => op === 'throw');
    }
    if (throws) throw new Thrown(`in a listener of ${name}`);
  }

  /** @param {import('./generator').Operation[]} ops */
  perform(ops) {
    for (const operation of ops) {
      let result = '';
      try {
        const returned = this.#do(operation);
        if (returned !== undefined) result = ` returned ${typeof returned}`;
      } catch (error) {
        result = ` threw ${describeError(error)}`;
      }
      const { readyState, isPaused } = this.ws;
      const amount = this.#settings.showsAmounts ? ` ${this.ws.bufferedAmount} buffered` : '';
      this.#add('operations', `${operation.op}${result} [${readyState}${isPaused ? ' paused' : ''}]${amount}`);
    }
  }

  #do({ op, value, options, mask, callback, code, reason, type, when, ops }) {
    const { ws } = this;
    switch (op) {
      case 'send':
      case 'ping':
      case 'pong': {
        const args = value === undefined ? [] : [this.#make(value)];
        if (options !== undefined) args.push({ ...options });
        if (mask !== undefined) args.push(...(args.length === 0 ? [undefined, mask] : [mask]));
        if (callback !== undefined) args.push(this.#callback(op, callback));
        return ws[op](...args);
      }
      case 'close':
        return ws.close(code, reason === undefined ? undefined : this.#make(reason));
      case 'destroy':
        // What was sent before is written before.
        return void (ws._socket ?? this.socket).destroy();
      case 'streamWrite':
        // Whether it returns true depends on when the callbacks of `send` come.
        return void this.stream.write(this.#make(value), callback && this.#callback(op, callback));
      case 'streamEnd':
        return void this.stream.end();
      case 'streamDestroy':
        return void this.stream.destroy();
      case 'binaryType':
        ws.binaryType = type;
        return undefined;
      case 'later':
        return void WHEN[when](() => this.perform(ops));
      default:
        return ws[op]();
    }
  }

  #make(value) {
    const made = makeValue(value);
    if (value.kind === 'blob') this.hasSentBlob = true;
    this.#keep('operations', made);
    return made;
  }

  #keep(channel, data) {
    const described = describeData(data);
    if (this.#kept.length < KEPT) this.#kept.push({ channel, data, described });
    return described;
  }

  #callback(op, ops) {
    const call = this.#calls++;
    let count = 0;
    return (...args) => {
      const again = count++ === 0 ? '' : ' again';
      this.#add('callbacks', `${op} ${call}${again} ${args.map(describeError).join(', ')}`);
      this.perform(ops);
    };
  }

  /** Checks that no sent or received data has been changed. Logs the bytes of Blobs. */
  async check() {
    for (const blob of await Promise.all(this.#blobs)) this.#add('blobs', blob);
    for (const { channel, data, described } of this.#kept) {
      if (describeData(data) !== described) this.#add(channel, `${described} has changed`);
    }
  }
}

module.exports = { Endpoint, Thrown };
