'use strict';

// Frames as bytes, good and bad, and a server's handshake, made without code of lib/.

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** The masking key of the examples in RFC 6455 section 5.7. */
const KEY = Buffer.from('37fa213d', 'hex');

/**
 * @typedef {object} FrameOptions
 * @property {boolean} [fin] the bit FIN, by default true
 * @property {number} [rsv] the reserved bits: RSV1 is 0x40, RSV2 0x20, RSV3 0x10
 * @property {Uint8Array | null} [key] the masking key; null, the default, makes a frame that is not
 *   masked
 * @property {0 | 2 | 8} [lengthSize] the bytes of the extended length, by default as few as
 *   possible
 * @property {number | bigint} [length] the length in the header, by default that of the payload
 */

/**
 * @param {number} opcode
 * @param {Uint8Array | string} [payload] before masking
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
 * Reads the first of some frames, without a look at its rules.
 *
 * @param {Buffer} bytes
 * @returns {{ header: Buffer, key: Buffer, payload: Buffer, end: number } | null} `header` ends
 *   before the masking key, which is empty without a mask; null if a part of the frame is missing
 */
function readFrame(bytes) {
  const short = bytes[1] & 0x7f;
  const size = short < 126 ? 2 : short === 126 ? 4 : 10;
  const start = size + (bytes[1] > 127 ? 4 : 0);
  if (bytes.length < start) return null;
  const length = size === 2 ? short : size === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = start + length;
  if (bytes.length < end) return null;
  const key = bytes.subarray(size, start);
  const payload = Buffer.from(bytes.subarray(start, end));
  if (key.length > 0) for (let i = 0; i < length; i++) payload[i] ^= key[i & 3];
  return { header: bytes.subarray(0, size), key, payload, end };
}

/** @returns {Buffer[]} bytes in pieces of `size` */
function piecesOf(bytes, size) {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

/** Unmasks the frames of a client with the keys in them, no two of which may be the same. */
function unmasked(bytes) {
  const frames = [];
  const keys = new Set();
  for (let position = 0; position < bytes.length; ) {
    const { header, key, payload, end } = readFrame(bytes.subarray(position));
    assert.equal(key.length, 4, 'a frame of a client is masked');
    assert.ok(!keys.has(key.toString('hex')), 'a masking key is used once');
    keys.add(key.toString('hex'));
    frames.push(frame(header[0] & 15, payload, { fin: header[0] >= 128, rsv: header[0] & 0x70 }));
    position += end;
  }
  return Buffer.concat(frames);
}

/** @returns {Buffer} the payload of a Close frame */
function closePayload(code, reason = '') {
  return Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]);
}

/** Whether RFC 6455 section 7.4, or IANA's registry since, lets an endpoint send a close code. */
const mayBeSent = (code) => {
  const registered = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014];
  return registered.includes(code) || (code >= 3000 && code < 5000);
};

/** The head of an HTTP request or answer. */
const head = (...lines) => `${lines.join('\r\n')}\r\n\r\n`;

/** A client's handshake, with the key of RFC 6455 section 1.3. */
const HANDSHAKE = [
  'GET / HTTP/1.1',
  'Host: localhost',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
];

/** @returns {string} the answer of a server to a handshake with this Sec-WebSocket-Key */
function upgradeAnswer(key) {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  return head(...lines, `Sec-WebSocket-Accept: ${accept}`);
}

/** Makes frames for a decoder of this role: masked for a server, not masked for a client. */
function framesFor(role) {
  const key = role === 'server' ? KEY : null;
  const make = (opcode) => (payload, options) => frame(opcode, payload, { key, ...options });
  return {
    key,
    frame: (opcode, payload, options) => make(opcode)(payload, options),
    text: make(TEXT),
    binary: make(BINARY),
    continuation: make(CONTINUATION),
    /** All fragments of a message, of which the first has the reserved bits `rsv`. */
    fragments: (opcode, payloads, rsv = 0) =>
      payloads.map((payload, i) => {
        const fin = i === payloads.length - 1;
        return i === 0 ? make(opcode)(payload, { fin, rsv }) : make(CONTINUATION)(payload, { fin });
      }),
    ping: make(PING),
    pong: make(PONG),
    /** Without a code there is no payload. */
    close: (code, reason) => frame(CLOSE, code === undefined ? '' : closePayload(code, reason), { key })
  };
}

module.exports = {
  BINARY,
  CLOSE,
  CONTINUATION,
  HANDSHAKE,
  KEY,
  PING,
  PONG,
  TEXT,
  closePayload,
  frame,
  framesFor,
  head,
  mayBeSent,
  readFrame,
  piecesOf,
  unmasked,
  upgradeAnswer
};
