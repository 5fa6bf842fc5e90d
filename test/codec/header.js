'use strict';

// Frame headers (RFC 6455 section 5.2), read and written.

const assert = require('node:assert/strict');
const t = require('tap');
const { header, headerSize, readHeader, writeHeader } = require('../../lib/codec/header');
const { acceptsFirstByte } = require('../../lib/shared/protocol');
const { assertBytes, forEachCase } = require('../support/cases');
const { BINARY, KEY, TEXT, frame } = require('../support/frames');

const MASKED = 0x80;
const RSV1 = 0x40;
const MODES = [
  { name: 'a client', mode: 0 },
  { name: 'a server', mode: MASKED },
  { name: 'a client with RSV1', mode: RSV1 },
  { name: 'a server with RSV1', mode: MASKED | RSV1 }
];

/**
 * What `readHeader` found: the header, the error and its close code, or 'more' if the header is not
 * complete.
 */
function read(bytes, mode, position = 0, end = bytes.length) {
  if (readHeader(bytes, position, end, mode)) {
    const { firstByte: first, length, key, size, error } = header;
    assert.equal(error, null, 'a header without an error');
    return mode & MASKED ? { first, length, size, key } : { first, length, size };
  }
  const { error } = header;
  return error === null ? 'more' : `${error.code.replace('FRAMEMASK_ERR_', '')} ${error.closeCode}`;
}

/**
 * Sections 5.2, 5.4 and 5.5 as a list: FIN and opcode, and RSV1 on the first frame of a message.
 */
function mayBegin(first, mode) {
  const starts = [0x00, 0x80, 0x01, 0x81, 0x02, 0x82, 0x88, 0x89, 0x8a];
  return starts.includes(first) || ((mode & RSV1) !== 0 && [0x41, 0xc1, 0x42, 0xc2].includes(first));
}

/** The rule that a first byte breaks. */
function broken(first, mode) {
  const opcode = first & 15;
  const rsv = first & 0x70;
  const rsv1Allowed = rsv === 0x40 && (mode & RSV1) !== 0 && (opcode === 1 || opcode === 2);
  if (rsv !== 0 && !rsv1Allowed) return 'RESERVED_BITS 1002';
  return opcode >= 8 && opcode <= 10 ? 'CONTROL_FRAGMENTED 1002' : 'OPCODE 1002';
}

t.test('5.2: each of 256 first bytes is taken or refused', (t) => {
  forEachCase(MODES, ({ mode }) => {
    for (let first = 0; first < 256; first++) {
      const accepted = mayBegin(first, mode);
      assert.equal(acceptsFirstByte(first, mode), accepted, `acceptsFirstByte, ${first}`);
      assert.equal(read(Buffer.from([first]), mode), accepted ? 'more' : broken(first, mode), `readHeader, ${first}`);
    }
  });
  t.end();
});

t.test('5.2: the error of a bad first byte names the rule', (t) => {
  t.equal(read(Buffer.from('c1', 'hex'), 0), 'RESERVED_BITS 1002', 'RSV1');
  t.equal(read(Buffer.from('a1', 'hex'), RSV1), 'RESERVED_BITS 1002', 'RSV2');
  t.equal(read(Buffer.from('91', 'hex'), RSV1), 'RESERVED_BITS 1002', 'RSV3');
  t.equal(read(Buffer.from('c0', 'hex'), RSV1), 'RESERVED_BITS 1002', 'RSV1 on a continuation frame');
  t.equal(read(Buffer.from('c9', 'hex'), RSV1), 'RESERVED_BITS 1002', 'RSV1 on a control frame');
  t.equal(read(Buffer.from('09', 'hex'), 0), 'CONTROL_FRAGMENTED 1002');
  t.equal(read(Buffer.from('83', 'hex'), 0), 'OPCODE 1002');
  t.equal(read(Buffer.from('0f', 'hex'), 0), 'OPCODE 1002');
  t.end();
});

t.test('5.1, 5.5: each of 256 second bytes is taken or refused', (t) => {
  forEachCase(MODES, ({ mode }) => {
    const wrongMask = (mode & MASKED) === 0 ? 'MASK_UNWANTED 1002' : 'MASK_MISSING 1002';
    for (const first of [0x00, 0x01, 0x82, 0x88, 0x89, 0x8a]) {
      for (let second = 0; second < 256; second++) {
        const length = second & 127;
        let expected = 'more';
        if ((second & MASKED) !== (mode & MASKED)) expected = wrongMask;
        else if (length > 125 && first >= 0x88) expected = 'CONTROL_LENGTH 1002';
        else if (length <= 125 && (mode & MASKED) === 0) expected = { first, length, size: 2 };
        assert.deepEqual(read(Buffer.from([first, second]), mode), expected, `bytes ${first} ${second}`);
      }
    }
  });
  t.end();
});

t.test('5.2: a bad length is refused with its last byte, before the masking key', (t) => {
  const cases = [
    { name: '0 in 16 bits', size: 4, hex: '827e0000', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '0 in 16 bits, text', size: 4, hex: '817e0000', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '125 in 16 bits', size: 4, hex: '827e007d', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '0 in 64 bits', size: 10, hex: '827f0000000000000000', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '65535 in 64 bits', size: 10, hex: '827f000000000000ffff', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '2^63', size: 10, hex: '827f8000000000000000', expected: 'LENGTH 1002' },
    { name: '2^64 - 1', size: 10, hex: '827fffffffffffffffff', expected: 'LENGTH 1002' },
    { name: '2^63 + 1', size: 10, hex: '827f8000000000000001', expected: 'LENGTH 1002' },
    { name: '2^53', size: 10, hex: '827f0020000000000000', expected: 'MESSAGE_TOO_BIG 1009' },
    { name: '2^62', size: 10, hex: '827f4000000000000000', expected: 'MESSAGE_TOO_BIG 1009' },
    { name: '2^63 - 1', size: 10, hex: '827f7fffffffffffffff', expected: 'MESSAGE_TOO_BIG 1009' }
  ];
  forEachCase(cases, ({ size, hex, expected }) => {
    const bytes = Buffer.from(hex, 'hex');
    const masked = Buffer.from(bytes);
    masked[1] |= 0x80;
    for (let end = 1; end < size; end++) {
      assert.equal(read(bytes, 0, 0, end), 'more', `${end} bytes`);
      assert.equal(read(masked, MASKED, 0, end), 'more', `${end} bytes, masked`);
    }
    assert.equal(read(bytes, 0), expected, 'all bytes');
    assert.equal(read(masked, MASKED), expected, 'all bytes, masked, without the key');
  });
  t.end();
});

const LENGTHS = [0n, 1n, 125n, 126n, 127n, 255n, 256n, 65535n, 65536n, 65537n, 2n ** 31n - 1n, 2n ** 31n];
LENGTHS.push(2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 52n + 1n, 2n ** 53n - 1n);

t.test('5.2: a good header is read at any position, once all of it is there', (t) => {
  forEachCase(LENGTHS, (length) => {
    for (const opcode of [0, TEXT, BINARY]) {
      for (const fin of [true, false]) {
        for (const key of [null, KEY]) {
          const bytes = frame(opcode, '', { key, fin, length });
          const mode = key === null ? 0 : MASKED;
          const first = (fin ? 0x80 : 0) | opcode;
          const expected = { first, length: Number(length), size: bytes.length };
          if (key !== null) expected.key = 0x3d21fa37;
          for (const position of [0, 1, 7]) {
            const what = `first byte ${first}, ${key === null ? 'not ' : ''}masked, at ${position}`;
            const placed = Buffer.concat([Buffer.alloc(position, 0xff), bytes, Buffer.alloc(3, 0xff)]);
            assert.deepEqual(read(placed, mode, position), expected, what);
            for (let end = position + 1; end < position + bytes.length; end++) {
              // Bytes beyond `end` do not count.
              assert.equal(read(placed, mode, position, end), 'more', `${what}, cut after ${end - position} bytes`);
            }
          }
        }
      }
    }
  });
  t.end();
});

t.test('5.3: a key is a signed number, its first byte the lowest', (t) => {
  const keys = [
    ['00000000', 0],
    ['01000000', 1],
    ['00000080', -(2 ** 31)],
    ['ffffffff', -1],
    ['01020384', 0x84030201 | 0]
  ];
  for (const [hex, expected] of keys) {
    t.equal(read(frame(TEXT, '', { key: Buffer.from(hex, 'hex') }), MASKED).key, expected, hex);
  }
  t.end();
});

t.test('5.2: writeHeader writes the shortest header, and nothing around it', (t) => {
  forEachCase([0, 1, 125, 126, 127, 65535, 65536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1], (length) => {
    for (const maskBit of [0, MASKED]) {
      for (const first of [0x00, 0x81, 0x82, 0x41]) {
        for (const at of [0, 5]) {
          const what = `mask bit ${maskBit}, first byte ${first}, at ${at}`;
          const target = Buffer.alloc(24, 0xaa);
          const key = writeHeader(target, at, first, length, maskBit);
          const size = headerSize(length, maskBit);
          const expected = frame(first & 15, '', { length, key: maskBit === 0 ? null : Buffer.alloc(4) });
          expected[0] = first;
          assert.equal(size, expected.length, `${what}: headerSize`);
          const found = maskBit === 0 ? { first, length, size } : { first, length, size, key };
          assert.deepEqual(read(target, maskBit | RSV1, at), found, `${what}: what readHeader finds`);
          assert.equal(key !== 0, maskBit !== 0, `${what}: the key`);
          target.fill(0, at + size - (maskBit === 0 ? 0 : 4), at + size);
          assertBytes(target.subarray(at, at + size), expected, `${what}: the bytes without the key`);
          target.fill(0xaa, at, at + size);
          assertBytes(target, Buffer.alloc(24, 0xaa), `${what}: the bytes around it`);
        }
      }
    }
  });
  t.end();
});

t.test('readHeader resets the error of the header before', (t) => {
  t.equal(read(Buffer.from('83', 'hex'), 0), 'OPCODE 1002');
  t.equal(read(Buffer.from('81', 'hex'), 0), 'more');
  t.same(read(Buffer.from('8100', 'hex'), 0), { first: 0x81, length: 0, size: 2 });
  t.equal(header.error, null);
  t.end();
});
