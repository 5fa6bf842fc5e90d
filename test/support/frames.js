'use strict';

// Frames as bytes, right ones and wrong ones, made without any code of lib/.

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** The key of the example in RFC 6455, section 5.7. */
const KEY = Buffer.from('37fa213d', 'hex');

/**
 * @typedef {object} FrameOptions
 * @property {boolean} [fin] whether it is the last frame of its message: true if not given
 * @property {number} [rsv] the three reserved bits as they lie in the first byte: 0x40, 0x20, 0x10
 * @property {Uint8Array | null} [key] the masking key; null for a frame that is not masked
 * @property {0 | 2 | 8} [lengthSize] how many bytes the extended length takes: the fewest possible if not given
 * @property {number | bigint} [length] what the header says, if not the length of the payload
 */

/**
 * @param {number} opcode
 * @param {Uint8Array | string} [payload] as it is before it is masked
 * @param {FrameOptions} [options]
 * @returns {Buffer}
 */
function frame(opcode, payload = '', options = {}) {
  const { fin = true, rsv = 0, key = null } = options;
  const data = Buffer.from(payload);
  const length = BigInt(options.length ?? data.length);
  const lengthSize = options.lengthSize ?? (length < 126n ? 0 : length < 65536n ? 2 : 8);
  const size = 2 + lengthSize;
  const header = Buffer.alloc(size + (key === null ? 0 : 4));
  header[0] = (fin ? 0x80 : 0) | rsv | opcode;
  header[1] = (key === null ? 0 : 0x80) | (lengthSize === 0 ? Number(length) : lengthSize === 2 ? 126 : 127);
  if (lengthSize === 2) header.writeUInt16BE(Number(length), 2);
  else if (lengthSize === 8) header.writeBigUInt64BE(length, 2);
  if (key !== null) {
    header.set(key, size);
    for (let i = 0; i < data.length; i++) data[i] ^= key[i & 3];
  }
  return Buffer.concat([header, data]);
}

/**
 * @param {number} code
 * @param {Uint8Array | string} [reason]
 * @returns {Buffer} the payload of a Close frame
 */
function closePayload(code, reason = '') {
  const bytes = Buffer.from(reason);
  return Buffer.concat([Buffer.from([code >> 8, code & 255]), bytes]);
}

/**
 * The frames that a decoder of this role is to receive: masked for a server, not masked for a client.
 *
 * @param {'server' | 'client'} role
 */
function framesFor(role) {
  const key = role === 'server' ? KEY : null;
  const make = (opcode) => (payload, options) => frame(opcode, payload, { key, ...options });
  return {
    key,
    frame: (opcode, payload, options) => frame(opcode, payload, { key, ...options }),
    text: make(TEXT),
    binary: make(BINARY),
    continuation: make(CONTINUATION),
    ping: make(PING),
    pong: make(PONG),
    /** Without a code, without a payload. */
    close: (code, reason) => frame(CLOSE, code === undefined ? '' : closePayload(code, reason), { key })
  };
}

module.exports = { BINARY, CLOSE, CONTINUATION, KEY, PING, PONG, TEXT, closePayload, frame, framesFor };
