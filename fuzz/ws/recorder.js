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
    for (const [channel, lines] of Object.entries(this.channels)) this.#mark(channel, lines);
  }

  #mark(channel, lines) {
    if (this.#step !== '' && !this.#timeless.includes(channel)) lines.push(`-- ${this.#step}`);
  }

  /**
   * @param {string} channel
   * @param {string} line
   */
  add(channel, line) {
    this.count++;
    if (this.channels[channel] === undefined) {
      this.channels[channel] = [];
      this.#mark(channel, this.channels[channel]);
    }
    this.channels[channel].push(line);
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {string} the length, and the bytes or their hash
 */
function describeBytes(bytes) {
  const { length } = bytes;
  const text = length <= 24 ? Buffer.from(bytes).toString('hex') : createHash('md5').update(bytes).digest('base64');
  return `${length} ${text}`;
}

/**
 * @param {unknown} data of a message, ping or pong
 * @returns {string}
 */
function describeData(data) {
  if (typeof data === 'string') return `string ${describeBytes(Buffer.from(data))}`;
  if (Buffer.isBuffer(data)) return `Buffer ${describeBytes(data)}`;
  if (data instanceof ArrayBuffer) return `ArrayBuffer ${describeBytes(new Uint8Array(data))}`;
  if (Array.isArray(data)) return `[${data.map(describeData).join(', ')}]`;
  if (data instanceof Blob) return `Blob ${data.size} '${data.type}'`;
  return `${data?.constructor?.name} ${String(data)}`;
}

/**
 * @param {Error | null | undefined} error
 * @returns {string}
 */
function describeError(error) {
  if (error === undefined || error === null) return String(error);
  return `${error.name} ${error.code} ${error.message}`;
}

module.exports = { Logs, describeBytes, describeData, describeError };
