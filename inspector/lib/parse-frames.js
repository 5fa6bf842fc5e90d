'use strict';

// Frames for display. A Decoder ends at the first error and keeps no headers; here every frame of a
// stream is found, good or bad, and nothing is judged. lib/judge.js has the Decoder judge.

const { opcodeName } = require('./rfc');

/**
 * @typedef {object} ParsedFrame
 * @property {number} start the index of its first byte
 * @property {number} end the index after its last byte that is there
 * @property {Buffer} bytes header and payload as they came, as far as they are there
 * @property {boolean} fin
 * @property {number} rsv RSV1 is 4, RSV2 is 2, RSV3 is 1
 * @property {number} opcode
 * @property {boolean | null} masked null if the second byte is missing
 * @property {number | null} length the announced length of the payload, null if its bytes are
 *   missing. Above 2^53 it is rounded
 * @property {number} headerSize as far as it is there
 * @property {Buffer | null} key
 * @property {boolean} complete
 */

/** @returns {ParsedFrame} of the bytes from `start` on, of which there is at least one */
function parseFrame(stream, start) {
  const bytes = stream.subarray(start);
  const [first, second] = bytes;
  const frame = {
    start,
    end: stream.length,
    bytes,
    fin: first >= 0x80,
    rsv: (first & 0x70) >> 4,
    opcode: first & 0x0f,
    masked: null,
    length: null,
    headerSize: bytes.length,
    key: null,
    complete: false
  };
  if (second === undefined) return frame;
  frame.masked = second >= 0x80;
  const lengthSize = sizeOfLength(second);
  if (bytes.length < 2 + lengthSize) return frame;
  frame.length = Number(readLength(bytes, lengthSize));
  const headerSize = 2 + lengthSize + (frame.masked ? 4 : 0);
  if (bytes.length < headerSize) return frame;
  frame.headerSize = headerSize;
  if (frame.masked) frame.key = bytes.subarray(headerSize - 4, headerSize);
  const end = headerSize + frame.length;
  if (bytes.length < end) return frame;
  return Object.assign(frame, { end: start + end, bytes: bytes.subarray(0, end), complete: true });
}

/** How many bytes of extended length follow the second byte. */
const sizeOfLength = (second) => ({ 126: 2, 127: 8 })[second & 0x7f] ?? 0;

function readLength(bytes, size) {
  if (size === 0) return bytes[1] & 0x7f;
  return size === 2 ? bytes.readUInt16BE(2) : bytes.readBigUInt64BE(2);
}

/** Yields the frames of a stream, one after the other. The last one may be incomplete. */
function* parseFrames(bytes) {
  for (let position = 0; position < bytes.length; ) {
    const frame = parseFrame(bytes, position);
    yield frame;
    position = frame.end;
  }
}

/** @returns {Buffer} a copy of the payload's first `count` bytes, unmasked */
function unmasked({ bytes, headerSize, key }, count = Infinity) {
  const copy = Buffer.from(bytes.subarray(headerSize, Math.min(headerSize + count, bytes.length)));
  if (key !== null) for (let i = 0; i < copy.length; i++) copy[i] ^= key[i & 3];
  return copy;
}

const binary = (value, width) => value.toString(2).padStart(width, '0');

/**
 * The fields of a frame's header, bit by bit (RFC 6455 section 5.2).
 * @returns {string[][]} of each its name, the index of its first byte, its bits, its value, the
 *   meaning, and the section
 */
function headerFields({ bytes, fin, rsv, opcode }) {
  const [, second] = bytes;
  const sectionOfOpcode = opcode === 0 ? '5.4' : opcode >= 8 ? '5.5' : '5.6';
  const bit = (name, byte, isSet, [set, unset], section = '5.2') => {
    const value = isSet ? '1' : '0';
    return [name, byte, value, value, isSet ? set : unset, section];
  };
  const reserved = ['set: only an extension may give it a meaning', 'unused'];
  const fields = [
    bit('FIN', '0', fin, ['the last frame of its message', 'more follow']),
    ...[4, 2, 1].map((mask, i) => bit(`RSV${i + 1}`, '0', rsv & mask, reserved)),
    ['opcode', '0', binary(opcode, 4), `0x${opcode.toString(16)}`, opcodeName(opcode), sectionOfOpcode]
  ];
  if (second === undefined) return fields;
  const binaryOf = (part) => [...part].map((byte) => binary(byte, 8)).join(' ');
  const short = second & 0x7f;
  const size = sizeOfLength(second);
  const meaning = size === 0 ? `${short} bytes` : `the next ${size} bytes are the length`;
  fields.push(bit('MASK', '1', second >= 0x80, ['masked, as clients do', 'not masked, as servers do'], '5.1'), [
    'Payload length',
    '1',
    binary(short, 7),
    String(short),
    meaning,
    '5.2'
  ]);
  if (size > 0) {
    const part = bytes.subarray(2, 2 + size);
    const value = part.length < size ? null : lengthText(readLength(bytes, size));
    const said = value === null ? 'cut off' : `${value} bytes`;
    fields.push([`Extended payload length (${size * 8} bits)`, '2', binaryOf(part), value ?? '?', said, '5.2']);
  }
  const key = bytes.subarray(2 + size, 6 + size);
  if (second >= 0x80 && key.length > 0) {
    const place = String(2 + size);
    const use = 'each byte of the payload is XORed with it';
    fields.push(['Masking key', place, binaryOf(key), key.toString('hex'), use, '5.3']);
  }
  return fields;
}

/** The exact length, which may be above 2^53. */
const lengthText = (length) => (length > Number.MAX_SAFE_INTEGER ? `${length} (above 2^53 - 1)` : String(length));

module.exports = { headerFields, parseFrame, parseFrames, unmasked };
