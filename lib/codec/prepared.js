'use strict';

const { Buffer, lengthOf, toBytes } = require('../shared/buffers');
const { headerSize, writeHeader } = require('./header');
const { showPublicState } = require('../shared/inspect');
const { FIN, Opcode, RSV1 } = require('../shared/protocol');

/**
 * The frame of a message that `prepare` has made, and the length of its payload in bytes. Null for
 * any other value. Assigned below, where the private field can be read.
 *
 * @type {(value: *) => { frame: Buffer, length: number } | null}
 */
let framedMessage;

/**
 * A message framed once, for any number of connections. Its bytes are in a private field, so that
 * no other object passes for one, and nobody changes or transfers bytes that other connections are
 * yet to send.
 */
class PreparedMessage {
  /** The frame, header and payload, and the length of the payload in bytes. */
  #framed;

  /**
   * Frames a message. `message.constructor` is public, so this takes no bytes that are a frame
   * already.
   *
   * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data
   * @param {{ binary?: boolean, rsv1?: boolean }} options
   */
  constructor(data, options) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : toBytes('data', data);
    const length = lengthOf(bytes);
    const binary = options.binary ?? typeof data !== 'string';
    const firstByte = FIN | (options.rsv1 ? RSV1 : 0) | (binary ? Opcode.BINARY : Opcode.TEXT);
    const size = headerSize(length, 0);
    const frame = Buffer.allocUnsafeSlow(size + length);
    writeHeader(frame, 0, firstByte, length, 0);
    frame.set(bytes, size);
    this.#framed = { frame, length };
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

/**
 * Frames a message once, to be sent to many clients: a broadcast to a room, for example.
 *
 * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data a string
 *   for a text message, bytes for a binary one. Bytes are copied
 * @param {{ binary?: boolean, rsv1?: boolean }} [options] `binary: false` makes a text message of
 *   bytes
 * @returns {PreparedMessage} for `Encoder.prototype.prepared` of encoders in the server role
 * @throws {TypeError} if the data is neither a string nor bytes
 */
function prepare(data, options = {}) {
  return new PreparedMessage(data, options);
}

showPublicState(PreparedMessage, ['length']);

module.exports = { framedMessage, prepare };
