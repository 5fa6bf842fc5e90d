'use strict';

const { Buffer, lengthOf, toBytes, view } = require('../shared/buffers');
const { headerSize, writeHeader } = require('./header');
const { showPublicState } = require('../shared/inspect');
const { FIN, Opcode, RSV1 } = require('../shared/protocol');

/**
 * The frame of a message, and the length of its payload in bytes. `deflated` has the same for each
 * way to compress that a connection has asked for; null if the message is not to be compressed.
 *
 * @typedef {{ frame: Buffer, length: number, deflated: Map<string, Framed> | null }} Framed
 */

/**
 * What `prepare` has made; null for any other value. Assigned below, where the private field can be
 * read.
 *
 * @type {(value: *) => Framed | null}
 */
let framedMessage;

/**
 * A message framed once, for any number of connections. Its bytes are in a private field, so that
 * no other object passes for one, and nobody changes or transfers bytes that other connections are
 * yet to send.
 */
class PreparedMessage {
  /** @type {Framed} */
  #framed;

  /**
   * Frames a message. `message.constructor` is public, so this takes no bytes that are a frame
   * already.
   *
   * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data
   * @param {{ binary?: boolean, rsv1?: boolean, deflate?: boolean }} options
   */
  constructor(data, options) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : toBytes('data', data);
    const length = lengthOf(bytes);
    const binary = options.binary ?? typeof data !== 'string';
    const firstByte = FIN | (options.rsv1 ? RSV1 : 0) | (binary ? Opcode.BINARY : Opcode.TEXT);
    const deflated = options.deflate && !options.rsv1 ? new Map() : null;
    this.#framed = { ...frameBytes(firstByte, bytes, length), deflated };
  }

  static {
    framedMessage = (value) => (typeof value === 'object' && value !== null && #framed in value ? value.#framed : null);
  }

  /** A copy of the frame: header and payload. */
  get frame() {
    return Buffer.from(this.#framed.frame);
  }

  /** The length of the payload in bytes. */
  get length() {
    return this.#framed.length;
  }
}

/** @returns {{ frame: Buffer, length: number }} */
function frameBytes(firstByte, bytes, length) {
  const size = headerSize(length, 0);
  const frame = Buffer.allocUnsafeSlow(size + length);
  writeHeader(frame, 0, firstByte, length, 0);
  frame.set(bytes, size);
  return { frame, length };
}

/**
 * The frame of a message for a connection that compresses: the same for all that compress alike,
 * made for the first of them.
 *
 * @param {Framed} framed
 * @param {import('../deflate/deflation').Deflation} deflation
 * @returns {Framed} the message as it is if it is not to be compressed, or does not shrink
 */
function framedFor(framed, deflation) {
  const { frame, length, deflated } = framed;
  // A sink may have transferred the memory.
  if (deflated === null || !deflation.sharesFrom(length) || frame[0] === undefined) return framed;
  const { key } = deflation;
  let made = deflated.get(key);
  if (made === undefined) {
    const bytes = deflation.deflateShared(view(frame, headerSize(length, 0), frame.length));
    made = bytes.length < length ? { ...frameBytes(frame[0] | RSV1, bytes, bytes.length), deflated: null } : framed;
    deflated.set(key, made);
  }
  return made;
}

/**
 * Frames a message once, to be sent to many clients: a broadcast to a room, for example.
 *
 * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data a string
 *   for a text message, bytes for a binary one. Bytes are copied
 * @param {{ binary?: boolean, rsv1?: boolean, deflate?: boolean }} [options] `binary: false` makes
 *   a text message of bytes, `deflate` compresses it for connections that have agreed on it
 * @returns {PreparedMessage} for `Encoder.prototype.prepared` of encoders in the server role
 * @throws {TypeError} if the data is neither a string nor bytes
 */
function prepare(data, options = {}) {
  return new PreparedMessage(data, options);
}

showPublicState(PreparedMessage, ['length']);

module.exports = { framedFor, framedMessage, prepare };
