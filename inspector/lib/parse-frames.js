'use strict';

// Frames for display. A Decoder ends at the first error and keeps no headers; here every frame of a
// stream is found, good or bad, and nothing is judged. lib/judge.js has the Decoder judge.

const { opcodeName } = require('./rfc');

const MAX_INTEGER = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * @typedef {object} ParsedFrame
 * @property {number} start the index of its first byte
 * @property {number} end the index after its last byte that is there
 * @property {Buffer} bytes header and payload as they came, as far as they are there
 * @property {number} firstByte
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

/**
 * @param {Buffer} bytes
 * @param {number} start less than the length of `bytes`
 * @returns {ParsedFrame}
 */
function parseFrame(bytes, start) {
  const available = bytes.length - start;
  const firstByte = bytes[start];
  const frame = {
    start,
    end: bytes.length,
    bytes: bytes.subarray(start),
    firstByte,
    fin: (firstByte & 0x80) !== 0,
    rsv: (firstByte & 0x70) >> 4,
    opcode: firstByte & 0x0f,
    masked: null,
    length: null,
    headerSize: available,
    key: null,
    complete: false
  };
  if (available < 2) return frame;
  frame.masked = (bytes[start + 1] & 0x80) !== 0;
  const lengthSize = sizeOfLength(bytes[start + 1] & 0x7f);
  if (available < 2 + lengthSize) return frame;
  frame.length = readLength(bytes, start + 1, lengthSize);
  const headerSize = 2 + lengthSize + (frame.masked ? 4 : 0);
  if (available < headerSize) return frame;
  frame.headerSize = headerSize;
  if (frame.masked) frame.key = bytes.subarray(start + headerSize - 4, start + headerSize);
  if (available - headerSize < frame.length) return frame;
  frame.end = start + headerSize + frame.length;
  frame.bytes = bytes.subarray(start, frame.end);
  frame.complete = true;
  return frame;
}

/** How many bytes of extended length follow the second byte. */
const sizeOfLength = (shortLength) => ({ 126: 2, 127: 8 })[shortLength] ?? 0;

function readLength(bytes, at, size) {
  if (size === 0) return bytes[at] & 0x7f;
  return size === 2 ? bytes.readUInt16BE(at + 1) : Number(bytes.readBigUInt64BE(at + 1));
}

/** Yields the frames of a stream, one after the other. The last one may be incomplete. */
function* parseFrames(bytes) {
  for (let position = 0; position < bytes.length; ) {
    const frame = parseFrame(bytes, position);
    yield frame;
    position = frame.end;
  }
}

/**
 * @param {ParsedFrame} frame
 * @param {number} [from] the first byte of the payload that is wanted
 * @param {number} [count] how many
 * @returns {Buffer} a copy of that part of the payload, unmasked
 */
function unmasked({ bytes, headerSize, key }, from = 0, count = Infinity) {
  const end = Math.min(headerSize + from + count, bytes.length);
  const copy = Buffer.from(bytes.subarray(Math.min(headerSize + from, end), end));
  if (key === null) return copy;
  for (let i = 0; i < copy.length; i++) copy[i] ^= key[(from + i) & 3];
  return copy;
}

/**
 * The fields of a frame's header, bit by bit (RFC 6455 section 5.2).
 *
 * @param {ParsedFrame} frame
 * @returns {{ name: string, byte: number, bits: string, value: string, meaning: string,
 *   section: string }[]} `byte` is the index of its first byte
 */
function headerFields({ bytes, firstByte, fin, opcode }) {
  const fields = [];
  const add = (name, byte, bits, value, meaning, section) => {
    fields.push({ name, byte, bits, value: String(value), meaning, section });
  };
  const binary = (value, width) => value.toString(2).padStart(width, '0');
  const binaryOf = (part) => [...part].map((byte) => binary(byte, 8)).join(' ');
  add('FIN', 0, binary(firstByte >> 7, 1), fin ? 1 : 0, fin ? 'the last frame of its message' : 'more follow', '5.2');
  for (const name of ['RSV1', 'RSV2', 'RSV3']) {
    const bit = (firstByte >> (7 - name[3])) & 1;
    add(name, 0, String(bit), bit, bit === 0 ? 'unused' : 'set: only an extension may give it a meaning', '5.2');
  }
  add('opcode', 0, binary(opcode, 4), `0x${opcode.toString(16)}`, opcodeName(opcode), sectionOf(opcode));
  if (bytes.length < 2) return fields;
  const mask = bytes[1] >> 7;
  add('MASK', 1, String(mask), mask, mask === 1 ? 'masked, as clients do' : 'not masked, as servers do', '5.1');
  const short = bytes[1] & 0x7f;
  const size = sizeOfLength(short);
  const meaning = size === 0 ? `${short} bytes` : `the next ${size} bytes are the length`;
  add('Payload length', 1, binary(short, 7), short, meaning, '5.2');
  if (size > 0) {
    const part = bytes.subarray(2, 2 + size);
    const value = part.length < size ? 'cut off' : lengthText(bytes, size);
    add(`Extended payload length (${size * 8} bits)`, 2, binaryOf(part), value, `${value} bytes`, '5.2');
  }
  if (mask === 1 && bytes.length > 2 + size) {
    const key = bytes.subarray(2 + size, 6 + size);
    const hex = key.toString('hex');
    add('Masking key', 2 + size, binaryOf(key), hex, 'each byte of the payload is XORed with it', '5.3');
  }
  return fields;
}

/** The section that defines an opcode, or reserves it. */
const sectionOf = (opcode) => (opcode === 0 ? '5.4' : opcode >= 8 ? '5.5' : '5.6');

/** The exact length, which may be above 2^53. */
function lengthText(bytes, size) {
  const length = size === 2 ? bytes.readUInt16BE(2) : bytes.readBigUInt64BE(2);
  return length > MAX_INTEGER ? `${length} (above 2^53 - 1)` : String(length);
}

module.exports = { headerFields, parseFrame, parseFrames, unmasked };
