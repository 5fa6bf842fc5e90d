'use strict';

const assert = require('node:assert/strict');
const t = require('tap');

t.test('5.3: keys are random and never 0, over several batches', (t) => {
  const { nextMaskingKey } = require('../../lib/codec/masking-key');
  const keys = Array.from({ length: 10_000 }, nextMaskingKey);
  t.ok(keys.every((key) => key === (key | 0) && key !== 0));
  // More than three equal pairs among 10,000 of 2^32 keys come once in 50 million runs.
  t.ok(new Set(keys).size > 9_996);
  for (let bit = 0; bit < 32; bit++) {
    const set = keys.filter((key) => (key >>> bit) & 1).length;
    assert.ok(Math.abs(set - 5000) < 350, `bit ${bit} is 1 in ${set} of 10,000 keys: more than 7 sigma off`);
  }
  t.end();
});

t.test('a key of 0, which would mask nothing, is skipped', (t) => {
  const { nextMaskingKey } = t.mockRequire('../../lib/codec/masking-key', {
    '../../lib/shared/node-modules': {
      crypto: {
        randomFillSync(keys) {
          keys.fill(0);
          keys[5] = 7;
        }
      },
      v8: {}
    }
  });
  t.equal(nextMaskingKey(), 7);
  t.equal(nextMaskingKey(), 7, 'in the next batch');
  t.end();
});

t.test('keys are forgotten before a startup snapshot', (t) => {
  const callbacks = [];
  const batches = [];
  const { nextMaskingKey } = t.mockRequire('../../lib/codec/masking-key', {
    '../../lib/shared/node-modules': {
      crypto: {
        randomFillSync(keys) {
          keys.fill(batches.push(keys));
        }
      },
      v8: {
        startupSnapshot: {
          isBuildingSnapshot: () => true,
          addSerializeCallback: (callback) => callbacks.push(callback)
        }
      }
    }
  });
  t.equal(nextMaskingKey(), 1);
  t.equal(callbacks.length, 1);
  callbacks[0]();
  t.ok(batches[0].every((key) => key === 0));
  t.equal(nextMaskingKey(), 2, 'of a new batch');
  t.end();
});
