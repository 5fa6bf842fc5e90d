'use strict';

const t = require('tap');

t.test('keys are random, never 0, and come from more than one batch', (t) => {
  const { nextMaskingKey } = require('../../lib/codec/masking-key');
  const keys = Array.from({ length: 10_000 }, nextMaskingKey);
  t.ok(keys.every((key) => key === (key | 0) && key !== 0));
  // Of 10,000 out of 2^32 more than three pairs alike are to be expected once in 50 million runs.
  t.ok(new Set(keys).size > 9_996);
  for (let bit = 0; bit < 32; bit++) {
    const set = keys.filter((key) => (key >>> bit) & 1).length;
    t.ok(Math.abs(set - 5000) < 350, `bit ${bit}: ${set} of 10,000 (7 sigma)`);
  }
  t.end();
});

t.test('a key of 0, which would mask nothing, is passed over', (t) => {
  const { nextMaskingKey } = t.mockRequire('../../lib/codec/masking-key', {
    '../../lib/shared/node-modules': {
      crypto: {
        randomFillSync(keys) {
          keys.fill(0);
          keys[5] = 7;
        }
      }
    }
  });
  t.equal(nextMaskingKey(), 7);
  t.equal(nextMaskingKey(), 7, 'in the next batch');
  t.end();
});
