'use strict';

// What is special to the JavaScript functions. kernels.js tests them at every alignment, length and
// phase.

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const t = require('tap');
const fallback = require('../../lib/masking/fallback');
const { assertBytes } = require('../support/cases');

const { advanceKey, copyMasked, maskRange, unmaskRange } = fallback;

t.test('5.3: advanceKey rotates the key by a number of bytes', (t) => {
  const key = 0xf8035ca1;
  t.same(
    [0, 1, 2, 3, 4, 5].map((bytes) => advanceKey(key, bytes)),
    [0xf8035ca1, 0xa1f8035c, 0x5ca1f803, 0x035ca1f8, 0xf8035ca1, 0xa1f8035c]
  );
  t.equal(advanceKey(key, 2 ** 31 + 1), 0xa1f8035c);
  t.equal(advanceKey(key, 2 ** 53 - 1), 0x035ca1f8, 'only the lowest two bits of the number count');
  t.equal(advanceKey(0xffffffff, 3), 0xffffffff, 'the result is unsigned');
  t.end();
});

t.test('5.3: the lowest byte of the key masks the first byte of the payload', (t) => {
  const bytes = Buffer.alloc(6);
  unmaskRange(bytes, 0, 6, 0x04030201);
  t.same([...bytes], [1, 2, 3, 4, 1, 2]);
  t.end();
});

t.test('5.7: masks and unmasks the example of the RFC', (t) => {
  const payload = Buffer.from('7f9f4d5158', 'hex');
  const output = Buffer.alloc(9, '.');
  maskRange(payload, 0, output, 2, 5, 0x3d21fa37);
  t.equal(output.toString(), '..Hello..');
  unmaskRange(payload, 0, 5, 0x3d21fa37);
  t.equal(payload.toString(), 'Hello');
  t.end();
});

t.test('gives the same bytes around the length from which it works on words', (t) => {
  for (let length = 136; length <= 152; length++) {
    for (let start = 0; start < 8; start++) {
      const bytes = randomBytes(start + length + 8);
      const expected = Buffer.from(bytes);
      for (let i = 0; i < length; i++) expected[start + i] ^= 0x04030201 >>> ((i & 3) * 8);
      unmaskRange(bytes, start, length, 0x04030201);
      assertBytes(bytes, expected, `${length} bytes from ${start} on`);
    }
  }
  t.end();
});

t.test('takes a view with a byte offset', (t) => {
  for (const byteOffset of [0, 1, 2, 3, 5]) {
    const memory = randomBytes(1024);
    const before = Buffer.from(memory);
    const view = new Uint8Array(memory.buffer, memory.byteOffset + byteOffset, 600);
    unmaskRange(view, 7, 500, 0x04030201);
    for (let i = 0; i < 500; i++) before[byteOffset + 7 + i] ^= 0x04030201 >>> ((i & 3) * 8);
    assertBytes(memory, before, `byte offset ${byteOffset}`);
  }
  t.end();
});

t.test('5.3: a key of zero copies the source', (t) => {
  const source = randomBytes(200);
  const output = Buffer.alloc(210);
  maskRange(source, 10, output, 5, 190, 0);
  assertBytes(output, Buffer.concat([Buffer.alloc(5), source.subarray(10), Buffer.alloc(15)]));
  t.end();
});

t.test('copyMasked gives the bytes of maskRange', (t) => {
  for (const length of [0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 63, 64]) {
    const source = randomBytes(length + 4);
    const [output, expected] = [Buffer.alloc(length + 9, '.'), Buffer.alloc(length + 9, '.')];
    copyMasked(source, 2, output, 3, length, 0xf8035ca1);
    maskRange(source, 2, expected, 3, length, 0xf8035ca1);
    assertBytes(output, expected, `${length} bytes`);
  }
  t.end();
});

t.test('finds a byte that is not ASCII in any place', (t) => {
  const key = 0xf8035ca1;
  for (const length of [0, 1, 2, 3, 4, 5, 8, 11, 23, 40, 96, 97, 131, 150]) {
    const masked = Buffer.alloc(length + 3, 'a');
    unmaskRange(masked, 3, length, key);
    const check = (expected, what) => {
      assert.equal(unmaskRange(Buffer.from(masked), 3, length, key), expected, `unmaskRange, ${what}`);
      assert.equal(maskRange(masked, 3, Buffer.alloc(length), 0, length, key), expected, `maskRange, ${what}`);
      assert.equal(copyMasked(masked, 3, Buffer.alloc(length), 0, length, key), expected, `copyMasked, ${what}`);
    };
    check(true, `${length} bytes of ASCII`);
    for (let i = 0; i < length; i++) {
      masked[3 + i] ^= 0x80;
      check(false, `${length} bytes, byte ${i} is not ASCII`);
      masked[3 + i] ^= 0x80;
    }
  }
  t.end();
});

t.test('a view that is out of bounds is empty', (t) => {
  const memory = new ArrayBuffer(64, { maxByteLength: 64 });
  const view = new Uint8Array(memory, 32, 16);
  memory.resize(8);
  t.doesNotThrow(() => {
    maskRange(view, 0, Buffer.alloc(4), 0, 0, 1);
    maskRange(Buffer.alloc(4), 0, view, 0, 0, 1);
    unmaskRange(view, 0, 0, 1);
  });
  t.end();
});

t.test('does not call the constructor of a subclass for views of the source', (t) => {
  class Fixed extends Uint8Array {
    constructor() {
      super(16);
    }
  }
  const source = new Fixed();
  source.fill(1);
  const output = Buffer.alloc(8);
  maskRange(source, 4, output, 0, 8, 0);
  t.same([...output], Array(8).fill(1));
  t.end();
});
