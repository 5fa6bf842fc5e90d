'use strict';

const t = require('tap');
const { header, headerSize, readHeader, writeHeader } = require('../../lib/codec/header');
const { acceptsFirstByte } = require('../../lib/shared/protocol');
const { BINARY, KEY, TEXT, frame } = require('../support/frames');

const MASKED = 0x80;
const RSV1 = 0x40;
const MODES = [0, MASKED, RSV1, MASKED | RSV1];

/** What `readHeader` says: the header, the name of the error and its close code, or 'more'. */
function read(bytes, mode, position = 0, end = bytes.length) {
  if (readHeader(bytes, position, end, mode)) {
    const { first, length, key, size, error } = header;
    if (error !== null) throw new Error('an error besides a header');
    return mode & MASKED ? { first, length, size, key } : { first, length, size };
  }
  const { error } = header;
  return error === null ? 'more' : `${error.code.replace('FRAMEMASK_ERR_', '')} ${error.closeCode}`;
}

/** Section 5.2, 5.4 and 5.5 as a list: FIN and opcode, and RSV1 on the first frame of a message. */
function mayBegin(first, mode) {
  const starts = [0x00, 0x80, 0x01, 0x81, 0x02, 0x82, 0x88, 0x89, 0x8a];
  return starts.includes(first) || ((mode & RSV1) !== 0 && [0x41, 0xc1, 0x42, 0xc2].includes(first));
}

/** Which rule a first byte breaks. */
function broken(first, mode) {
  const opcode = first & 15;
  const rsv = first & 0x70;
  if (rsv !== 0 && !(rsv === 0x40 && (mode & RSV1) !== 0 && (opcode === 1 || opcode === 2)))
    return 'RESERVED_BITS 1002';
  return opcode >= 8 && opcode <= 10 ? 'CONTROL_FRAGMENTED 1002' : 'OPCODE 1002';
}

t.test('every first byte', (t) => {
  for (const mode of MODES) {
    for (let first = 0; first < 256; first++) {
      const accepted = mayBegin(first, mode);
      const said = read(Buffer.from([first]), mode);
      if (acceptsFirstByte(first, mode) !== accepted) t.fail(`first byte ${first}, mode ${mode}`);
      if (said !== (accepted ? 'more' : broken(first, mode))) t.fail(`first byte ${first}, mode ${mode}: ${said}`);
    }
  }
  t.equal(read(Buffer.from('c1', 'hex'), 0), 'RESERVED_BITS 1002');
  t.equal(read(Buffer.from('a1', 'hex'), RSV1), 'RESERVED_BITS 1002');
  t.equal(read(Buffer.from('91', 'hex'), RSV1), 'RESERVED_BITS 1002');
  t.equal(read(Buffer.from('c0', 'hex'), RSV1), 'RESERVED_BITS 1002', 'RSV1 on a continuation frame');
  t.equal(read(Buffer.from('c9', 'hex'), RSV1), 'RESERVED_BITS 1002', 'RSV1 on a control frame');
  t.equal(read(Buffer.from('09', 'hex'), 0), 'CONTROL_FRAGMENTED 1002');
  t.equal(read(Buffer.from('83', 'hex'), 0), 'OPCODE 1002');
  t.equal(read(Buffer.from('0f', 'hex'), 0), 'OPCODE 1002');
  t.end();
});

t.test('every second byte', (t) => {
  for (const mode of MODES) {
    const wrongMask = (mode & MASKED) === 0 ? 'MASK_UNWANTED 1002' : 'MASK_MISSING 1002';
    for (const first of [0x00, 0x01, 0x82, 0x88, 0x89, 0x8a]) {
      for (let second = 0; second < 256; second++) {
        const length = second & 127;
        let expected = 'more';
        if ((second & MASKED) !== (mode & MASKED)) expected = wrongMask;
        else if (length > 125 && first >= 0x88) expected = 'CONTROL_LENGTH 1002';
        else if (length <= 125 && (mode & MASKED) === 0) expected = { first, length, size: 2 };
        t.strictSame(read(Buffer.from([first, second]), mode), expected, `${first} ${second} ${mode}`);
      }
    }
  }
  t.end();
});

t.test('the least header that says it is enough to refuse it', (t) => {
  const cases = [
    ['0x7e 00 00', 4, '817e0000', 'LENGTH_NOT_MINIMAL 1002'],
    ['125 in two bytes', 4, '827e007d', 'LENGTH_NOT_MINIMAL 1002'],
    ['0 in eight bytes', 10, '827f0000000000000000', 'LENGTH_NOT_MINIMAL 1002'],
    ['65535 in eight bytes', 10, '827f000000000000ffff', 'LENGTH_NOT_MINIMAL 1002'],
    ['2^63', 10, '827f8000000000000000', 'LENGTH 1002'],
    ['2^64 - 1', 10, '827fffffffffffffffff', 'LENGTH 1002'],
    ['2^63 and a minimal length', 10, '827f8000000000000001', 'LENGTH 1002'],
    ['2^53', 10, '827f0020000000000000', 'MESSAGE_TOO_BIG 1009'],
    ['2^62', 10, '827f4000000000000000', 'MESSAGE_TOO_BIG 1009'],
    ['2^63 - 1', 10, '827f7fffffffffffffff', 'MESSAGE_TOO_BIG 1009']
  ];
  for (const [name, size, hex, expected] of cases) {
    const bytes = Buffer.from(hex, 'hex');
    const masked = Buffer.from(bytes);
    masked[1] |= 0x80;
    for (let end = 1; end < size; end++) {
      t.equal(read(bytes, 0, 0, end), 'more', `${name}, ${end} bytes`);
      t.equal(read(masked, MASKED, 0, end), 'more');
    }
    t.equal(read(bytes, 0), expected, name);
    t.equal(read(masked, MASKED), expected, `${name}, without the key`);
  }
  t.end();
});

t.test('headers that are right, at any position, and cut anywhere', (t) => {
  const lengths = [0n, 1n, 125n, 126n, 127n, 255n, 256n, 65535n, 65536n, 65537n, 2n ** 31n - 1n, 2n ** 31n];
  lengths.push(2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 52n + 1n, 2n ** 53n - 1n);
  for (const length of lengths) {
    for (const opcode of [0, TEXT, BINARY]) {
      for (const fin of [true, false]) {
        for (const key of [null, KEY]) {
          const bytes = frame(opcode, '', { key, fin, length });
          const mode = key === null ? 0 : MASKED;
          const first = (fin ? 0x80 : 0) | opcode;
          const expected = { first, length: Number(length), size: bytes.length };
          if (key !== null) expected.key = 0x3d21fa37;
          for (const position of [0, 1, 7]) {
            const placed = Buffer.concat([Buffer.alloc(position, 0xff), bytes, Buffer.alloc(3, 0xff)]);
            t.strictSame(read(placed, mode, position), expected, `${length} at ${position}`);
            for (let end = position + 1; end < position + bytes.length; end++) {
              // What lies beyond the end does not count.
              if (read(placed, mode, position, end) !== 'more') t.fail(`${length}, cut at ${end - position}`);
            }
          }
        }
      }
    }
  }
  t.end();
});

t.test('the key is signed, its first byte lowest', (t) => {
  for (const [hex, expected] of [
    ['00000000', 0],
    ['01000000', 1],
    ['00000080', -(2 ** 31)],
    ['ffffffff', -1],
    ['01020384', 0x84030201 | 0]
  ]) {
    t.equal(read(frame(TEXT, '', { key: Buffer.from(hex, 'hex') }), MASKED).key, expected);
  }
  t.end();
});

t.test('what is written is what is read', (t) => {
  for (const length of [0, 1, 125, 126, 127, 65535, 65536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]) {
    for (const maskBit of [0, MASKED]) {
      for (const first of [0x00, 0x81, 0x82, 0x41]) {
        for (const at of [0, 5]) {
          const target = Buffer.alloc(24, 0xaa);
          const key = writeHeader(target, at, first, length, maskBit);
          const size = headerSize(length, maskBit);
          const expected = frame(first & 15, '', { length, key: maskBit === 0 ? null : Buffer.alloc(4) });
          expected[0] = first;
          t.equal(size, expected.length, `${length} ${maskBit}`);
          const said = read(target, maskBit | RSV1, at);
          t.strictSame(said, maskBit === 0 ? { first, length, size } : { first, length, size, key });
          t.equal(key !== 0, maskBit !== 0);
          target.fill(0, at + size - (maskBit === 0 ? 0 : 4), at + size);
          t.ok(target.subarray(at, at + size).equals(expected), 'with the fewest bytes for the length');
          target.fill(0xaa, at, at + size);
          t.ok(target.equals(Buffer.alloc(24, 0xaa)), 'and nothing around it');
        }
      }
    }
  }
  t.end();
});

t.test('an error does not stay', (t) => {
  t.equal(read(Buffer.from('83', 'hex'), 0), 'OPCODE 1002');
  t.equal(read(Buffer.from('81', 'hex'), 0), 'more');
  t.strictSame(read(Buffer.from('8100', 'hex'), 0), { first: 0x81, length: 0, size: 2 });
  t.equal(header.error, null);
  t.end();
});
