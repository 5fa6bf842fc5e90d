'use strict';

const { Buffer, toBytes } = require('../shared/buffers');
const { headerSize, writeHeader } = require('./header');
const { FIN, Opcode, RSV1 } = require('../shared/protocol');

/** A message framed once, for any number of connections. */
class PreparedMessage {
  /**
   * @param {Buffer} frame header and payload
   * @param {number} length of the payload, in bytes
   */
  constructor(frame, length) {
    this.frame = frame;
    this.length = length;
  }
}

/**
 * Frames a message once, to be sent to many clients: a broadcast to a room, say.
 *
 * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data a string for a text message,
 *   bytes for a binary one
 * @param {{ binary?: boolean, rsv1?: boolean }} [options] `binary: false` says that bytes are UTF-8, for a text message
 * @returns {PreparedMessage} for `Encoder.prototype.prepared` of encoders in the server role
 * @throws {TypeError} if the data is none of these
 */
function prepare(data, options = {}) {
  const bytes = typeof data === 'string' ? Buffer.from(data) : toBytes('data', data);
  const binary = options.binary ?? typeof data !== 'string';
  const first = FIN | (options.rsv1 ? RSV1 : 0) | (binary ? Opcode.BINARY : Opcode.TEXT);
  const size = headerSize(bytes.length, 0);
  const frame = Buffer.allocUnsafeSlow(size + bytes.length);
  writeHeader(frame, 0, first, bytes.length, 0);
  frame.set(bytes, size);
  return new PreparedMessage(frame, bytes.length);
}

module.exports = { PreparedMessage, prepare };
