'use strict';

// Frames for the tests, made by framemask's Encoder where it makes them.

const { Encoder } = require('framemask');

/**
 * @param {'client' | 'server'} role
 * @param {(encoder: import('framemask').Encoder) => void} fill
 * @returns {Buffer} what the encoder has made
 */
function encode(role, fill) {
  const encoder = new Encoder({ role });
  fill(encoder);
  return Buffer.concat(encoder.take());
}

/** A frame of any header, masked with 1 2 3 4 if it is a client's. */
function rawFrame(firstByte, payload, { masked = true, length = payload.length, size } = {}) {
  const mask = masked ? 0x80 : 0;
  const bytes = size ?? (length <= 125 ? 0 : length <= 0xffff ? 2 : 8);
  const header = Buffer.alloc(2 + bytes);
  header[0] = firstByte;
  header[1] = mask | (bytes === 0 ? length : bytes === 2 ? 126 : 127);
  if (bytes === 2) header.writeUInt16BE(length, 2);
  else if (bytes === 8) header.writeBigUInt64BE(BigInt(length), 2);
  const key = Buffer.from([1, 2, 3, 4]);
  const body = masked ? Buffer.from(payload.map((byte, i) => byte ^ key[i & 3])) : payload;
  return Buffer.concat([header, masked ? key : Buffer.alloc(0), body]);
}

const text = (string) => Buffer.from(string);

/**
 * What Autobahn|Testsuite sends to see it refused (its case in front): bytes of a client, the frame
 * at fault (from 1), and the error of framemask's Decoder for it.
 */
const BAD_CASES = [
  ['2.5', [rawFrame(0x89, Buffer.alloc(126, 0xfe))], 1, 'CONTROL_LENGTH'],
  ['3.1', [rawFrame(0x91, text('Hello, world!'))], 1, 'RESERVED_BITS'],
  ['3.2', [rawFrame(0x81, text('one')), rawFrame(0xa1, text('two')), rawFrame(0x89, text(''))], 2, 'RESERVED_BITS'],
  ['3.7', [rawFrame(0xf8, text(''))], 1, 'RESERVED_BITS'],
  ['4.1.1', [rawFrame(0x83, text(''))], 1, 'OPCODE'],
  ['4.1.3', [rawFrame(0x81, text('Hello')), rawFrame(0x85, text('')), rawFrame(0x89, text(''))], 2, 'OPCODE'],
  ['4.2.2', [rawFrame(0x8c, text('reserved'))], 1, 'OPCODE'],
  ['5.1', [rawFrame(0x09, text('fragment')), rawFrame(0x80, text('ed'))], 1, 'CONTROL_FRAGMENTED'],
  ['5.9', [rawFrame(0x80, text('non-continuation')), rawFrame(0x81, text('Hello'))], 1, 'CONTINUATION'],
  ['5.18', [rawFrame(0x01, text('fragment1')), rawFrame(0x81, text('fragment2'))], 2, 'INTERLEAVED'],
  ['6.3.1', [rawFrame(0x81, Buffer.from('cebae1bdb9cf83cebcceb5eda080656469746564', 'hex'))], 1, 'UTF8'],
  [
    '6.4.1',
    [rawFrame(0x01, Buffer.from('cebae1bdb9cf83cebcceb5f4908080', 'hex')), rawFrame(0x80, text('x'))],
    1,
    'UTF8'
  ],
  ['7.3.2', [rawFrame(0x88, Buffer.from([3]))], 1, 'CLOSE_LENGTH'],
  ['7.5.1', [rawFrame(0x88, Buffer.from('03e8cebaeda080', 'hex'))], 1, 'UTF8'],
  ['7.9.1', [rawFrame(0x88, Buffer.from([0, 0]))], 1, 'CLOSE_CODE'],
  ['7.9.5', [rawFrame(0x88, Buffer.from([0x03, 0xed]))], 1, 'CLOSE_CODE'],
  ['7.9.9', [rawFrame(0x88, Buffer.from([0x07, 0xd0])), rawFrame(0x89, text('after'))], 1, 'CLOSE_CODE'],
  ['not masked', [rawFrame(0x81, text('Hello'), { masked: false })], 1, 'MASK_MISSING'],
  ['length not minimal', [rawFrame(0x82, text('ab'), { size: 2 })], 1, 'LENGTH_NOT_MINIMAL'],
  ['length of 2^63', [Buffer.from('82ff800000000000000001020304aa', 'hex')], 1, 'LENGTH'],
  ['length of 2^62', [Buffer.from('82ff400000000000000001020304aa', 'hex')], 1, 'MESSAGE_TOO_BIG']
].map(([name, frames, at, error]) => ({ name, bytes: Buffer.concat(frames), at, error: `FRAMEMASK_ERR_${error}` }));

module.exports = { BAD_CASES, encode, rawFrame };
