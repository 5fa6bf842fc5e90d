'use strict';

const { randomBytes } = require('node:crypto');
const { frame } = require('../../test/support/frames');
const { createRandom } = require('../../test/support/random');

const TEXT = 0x81;
const BINARY = 0x82;

/** @returns {Buffer} the bytes of a masking key are ASCII, too */
const createKey = () => randomBytes(4).map((byte) => 1 + (byte % 127));

/** @returns {Buffer} a frame with this first byte */
const makeFrame = (first, payload, key) =>
  frame(first & 15, payload, { fin: (first & 0x80) !== 0, rsv: first & 0x70, key });

/**
 * A frame as a client sends it, of an ASCII payload. A decoder that unmasks in place leaves ASCII,
 * and the same bytes can be decoded again and again without a copy that would be timed too.
 */
const maskedFrame = (first, payload) => makeFrame(first, payload, createKey());

/** A frame as a server sends it. */
const unmaskedFrame = (first, payload) => makeFrame(first, payload, null);

/** @returns {number} the bytes of a frame before its payload */
const headerSize = (size, masked) => (size < 126 ? 2 : size < 65536 ? 4 : 10) + (masked ? 4 : 0);

/** @param {number} length @returns {Buffer} printable ASCII */
const asciiPayload = (length) => Buffer.from({ length }, (_, i) => 32 + ((i * 7) % 95));

/** @param {number} length @returns {Buffer} characters of two bytes; a last byte is ASCII */
const utf8Payload = (length) => Buffer.from('é'.repeat(length >> 1) + '-'.repeat(length & 1));

/**
 * @returns {Buffer[]} records that are alike, as an API sends them: all different, and the same
 *   ones in each run
 */
function jsonPayloads(size, count) {
  const random = createRandom(size);
  const names = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald'];
  const tags = ['a', 'b'];
  return Array.from({ length: count }, () => {
    let text = '[';
    while (text.length < size) {
      const user = names[random(names.length)];
      text += `${JSON.stringify({ id: random(1e6), user, price: random(1e5) / 100, on: random(2) === 1, tags })},`;
    }
    return Buffer.from(text.slice(0, size));
  });
}

/**
 * @returns {{ first: number, payload: Buffer }[]} half text and half binary, with lengths from 0 to
 *   65,535 bytes, all equally likely; the same ones in each run
 */
function uniformMessages(count) {
  const most = asciiPayload(65535);
  const random = createRandom(count);
  return Array.from({ length: count }, (_, i) => {
    return { first: i % 2 === 0 ? TEXT : BINARY, payload: most.subarray(0, random(65536)) };
  });
}

/** @returns {Buffer[]} pieces of `size` bytes, each in its own memory, as a socket delivers them */
function cut(bytes, size) {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) {
    chunks.push(Buffer.from(new Uint8Array(bytes.subarray(at, at + size)).buffer));
  }
  return chunks;
}

module.exports = {
  BINARY,
  TEXT,
  asciiPayload,
  cut,
  headerSize,
  jsonPayloads,
  maskedFrame,
  uniformMessages,
  unmaskedFrame,
  utf8Payload
};
