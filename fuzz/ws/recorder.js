'use strict';

// What fuzz/ws.js compares: the logs of a run.

const { createHash } = require('node:crypto');

/**
 * Logs by the name of their endpoint and channel: `server.events`, `client.callbacks`,
 * `client.wire`. Each has a line where a step begins, so that a thing that comes too late differs.
 */
class Logs {
  /** Grows with each line; when it stays, nothing happens. */
  count = 0;
  /** @type {Record<string, string[]>} */
  channels = {};
  #step = '';
  #timeless;

  /** @param {string[]} timeless channels whose lines may come in any step */
  constructor(timeless) {
    this.#timeless = timeless;
  }

  /** @param {string} name of the step that begins */
  begin(name) {
    this.#step = name;
    for (const channel of Object.keys(this.channels)) this.#mark(channel);
  }

  #mark(channel) {
    if (this.#step !== '' && !this.#timeless.includes(channel)) this.channels[channel].push(`-- ${this.#step}`);
  }

  /** Adds a line to a channel. */
  add(channel, line) {
    this.count++;
    if (this.channels[channel] === undefined) {
      this.channels[channel] = [];
      this.#mark(channel);
    }
    this.channels[channel].push(line);
  }
}

/** @returns {string} the length of some bytes, and they or their hash */
function describeBytes(bytes) {
  const { length } = bytes;
  const text = length <= 24 ? Buffer.from(bytes).toString('hex') : createHash('md5').update(bytes).digest('base64');
  return `${length} ${text}`;
}

/** Describes the data of a message, ping or pong. */
function describeData(data) {
  if (typeof data === 'string') return `string ${describeBytes(Buffer.from(data))}`;
  if (Buffer.isBuffer(data)) return `Buffer ${describeBytes(data)}`;
  if (ArrayBuffer.isView(data))
    return `view ${describeBytes(Buffer.from(data.buffer, data.byteOffset, data.byteLength))}`;
  if (data instanceof ArrayBuffer) return `ArrayBuffer ${describeBytes(new Uint8Array(data))}`;
  if (Array.isArray(data)) return `[${data.map(describeData).join(', ')}]`;
  if (data instanceof Blob) return `Blob ${data.size} '${data.type}'`;
  return `${data?.constructor?.name} ${String(data)}`;
}

/** @param {Error | null | undefined} error */
const describeError = (error) => (error ? `${error.name} ${error.code} ${error.message}` : String(error));

module.exports = { Logs, describeBytes, describeData, describeError };
