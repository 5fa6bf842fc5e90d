'use strict';

// 5.4: a continuation frame that continues nothing, and a message inside another, are refused as
// such (1002), however long they say that they are, in one piece and byte by byte.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase } = require('../support/cases');
const { forEachDecoder } = require('../support/decoders');

t.test('5.4: the rule of continuation comes before the limits of a length', (t) => {
  forEachDecoder(({ decode, f }) => {
    forEachCase([0n, 125n, 65_536n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 62n], (length) => {
      const options = { maxPayload: 1000 };
      const continuation = f.continuation('', { length, fin: false });
      assert.deepEqual(decode([continuation], options), [['error', 'CONTINUATION', 1002]]);
      const inside = [f.text('a', { fin: false }), f.binary('', { length })];
      assert.deepEqual(decode(inside, options), [['error', 'INTERLEAVED', 1002]]);
      if (length > 1000n) {
        assert.deepEqual(decode([f.binary('', { length })], options), [['error', 'MESSAGE_TOO_BIG', 1009]]);
        const continued = [f.text('a', { fin: false }), continuation];
        assert.deepEqual(decode(continued, options), [['error', 'MESSAGE_TOO_BIG', 1009]]);
      }
    });
  });
  t.end();
});
