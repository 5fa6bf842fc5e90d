'use strict';

const { randomBytes } = require('node:crypto');
const { createRandom } = require('../../test/support/random');

const TEXT = 0x81;
const BINARY = 0x82;

/**
 * A frame as a client sends it. Its payload is ASCII, and so are the bytes of its masking key. A
 * decoder that unmasks in place therefore leaves ASCII behind, and the same bytes can be decoded
 * again and again without a copy that would be timed too.
 *
 * @param {number} first the frame's first byte
 * @param {Buffer} payload of ASCII
 * @returns {Buffer}
 */
function maskedFrame(first, payload) {
  const { length } = payload;
  const size = length < 126 ? 2 : length < 65536 ? 4 : 10;
  const frame = Buffer.alloc(size + 4 + length);
  frame[0] = first;
  frame[1] = 0x80 | (size === 2 ? length : size === 4 ? 126 : 127);
  if (size === 4) frame.writeUInt16BE(length, 2);
  else if (size === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  for (let i = 0; i < 4; i++) frame[size + i] = 1 + (randomBytes(1)[0] % 127);
  for (let i = 0; i < length; i++) frame[size + 4 + i] = payload[i] ^ frame[size + (i & 3)];
  return frame;
}

/**
 * A frame as a server sends it.
 *
 * @param {number} first the frame's first byte
 * @param {Buffer} payload of ASCII
 * @returns {Buffer}
 */
function unmaskedFrame(first, payload) {
  const masked = maskedFrame(first, payload);
  const size = masked.length - 4 - payload.length;
  masked[1] &= 0x7f;
  return Buffer.concat([masked.subarray(0, size), payload]);
}

/**
 * @param {number} length
 * @returns {Buffer} printable ASCII
 */
function asciiPayload(length) {
  return Buffer.from({ length }, (_, i) => 32 + ((i * 7) % 95));
}

/**
 * Records that are alike, as an API sends them.
 *
 * @param {number} size
 * @param {number} count
 * @returns {Buffer[]} all different, and the same ones in each run
 */
function jsonPayloads(size, count) {
  const random = createRandom(size);
  const names = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald'];
  return Array.from({ length: count }, () => {
    let text = '[';
    while (text.length < size) {
      const user = names[random(names.length)];
      text += `${JSON.stringify({ id: random(1e6), user, price: random(1e5) / 100, on: random(2) === 1, tags: ['a', 'b'] })},`;
    }
    return Buffer.from(text.slice(0, size));
  });
}

/**
 * @param {number} count
 * @returns {{ first: number, payload: Buffer }[]} half text and half binary, with lengths from 0 to
 *   65,535 bytes, all equally likely; the same ones in each run
 */
function uniformMessages(count) {
  const most = asciiPayload(65535);
  let state = 1;
  return Array.from({ length: count }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return { first: i % 2 === 0 ? TEXT : BINARY, payload: most.subarray(0, state >>> 16) };
  });
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @returns {Buffer[]} pieces of `size` bytes, each in memory of its own, as a socket delivers them
 */
function cut(bytes, size) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    const chunk = Buffer.from(new ArrayBuffer(piece.length));
    piece.copy(chunk);
    chunks.push(chunk);
  }
  return chunks;
}

/**
 * @param {string} text one message a line, or a JSON array of messages
 * @returns {Buffer[]} those that are not empty
 * @throws {RangeError} if there are none
 */
function parseMessages(text) {
  const array = parseArray(text);
  const texts =
    array?.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))) ?? text.split(/\r?\n/);
  const messages = texts.filter((message) => message !== '').map((message) => Buffer.from(message));
  if (messages.length === 0) throw new RangeError('the file has no messages');
  return messages;
}

/** @returns {unknown[] | null} null for other text, such as lines of which each is an array */
function parseArray(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

module.exports = {
  BINARY,
  TEXT,
  asciiPayload,
  cut,
  jsonPayloads,
  maskedFrame,
  parseMessages,
  uniformMessages,
  unmaskedFrame
};
