'use strict';

const t = require('tap');
const { Pieces } = require('../../lib/shared/pieces');
const { createRandom, seed } = require('../support/random');

/** A copy in memory that nothing else is in. */
const own = (bytes) => Buffer.from(Uint8Array.from(bytes).buffer);

t.test(`pieces joined are all bytes, whose memory may have changed since (seed ${seed})`, async (t) => {
  const random = createRandom(seed);
  for (let round = 0; round < 100; round++) {
    const pieces = new Pieces(own);
    const all = [];
    for (let count = random(300); count > 0; count--) {
      const piece = Buffer.alloc(random([2, 100, 5000, 20_000][random(4)]), random(256));
      all.push(Buffer.from(piece));
      pieces.add(piece);
      piece.fill(0);
    }
    const joined = pieces.join();
    t.ok(joined.equals(Buffer.concat(all)), 'the bytes');
    t.equal(joined.buffer.byteLength, joined.length, 'in memory of their own');
  }
});

t.test('small pieces take a Buffer for each 12 KiB, and those between larger ones no memory more', async (t) => {
  const { allocUnsafeSlow } = Buffer;
  t.teardown(() => {
    Buffer.allocUnsafeSlow = allocUnsafeSlow;
  });
  for (const sizes of [[1], [4095], [1, 4096], [1, 4095]]) {
    const pieces = new Pieces((bytes) => bytes);
    const large = Buffer.alloc(4096);
    let made = 0;
    let small = 0;
    Buffer.allocUnsafeSlow = (size) => {
      made += size;
      return allocUnsafeSlow(size);
    };
    for (let i = 0; i < 30_000; i++) {
      const size = sizes[i % sizes.length];
      if (size < 4096) small += size;
      pieces.add(large.subarray(0, size));
    }
    // Those before the first 16 KiB double; then each has 12 KiB at least.
    t.ok(made <= (small * 4) / 3 + 64 * 1024, `${made} bytes for ${small}, in pieces of ${sizes}`);
  }
});
