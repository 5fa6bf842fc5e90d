'use strict';

// A message for which there is no memory ends the decoder with MESSAGE_TOO_BIG: nothing is
// dropped silently, and nothing is delivered that lacks bytes.

const assert = require('node:assert/strict');
const t = require('tap');
const { constants } = require('node:buffer');
const buffers = require('../../lib/shared/buffers');
const { forEachCase } = require('../support/cases');
const { forEachDecoder } = require('../support/decoders');

const TOO_BIG = ['FRAMEMASK_ERR_MESSAGE_TOO_BIG', 1009];

/** Makes allocations of `size` bytes and more fail while `work` runs, as V8 does without memory. */
function withoutMemory(size, work) {
  const { allocUnsafeSlow } = buffers.Buffer;
  buffers.Buffer.allocUnsafeSlow = (length) => {
    if (length >= size) throw new RangeError('Array buffer allocation failed');
    return allocUnsafeSlow(length);
  };
  try {
    work();
  } finally {
    buffers.Buffer.allocUnsafeSlow = allocUnsafeSlow;
  }
}

t.test('an allocation that fails', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const kinds = {
      'a binary message in pieces': [f.binary(Buffer.alloc(5000))],
      'text in pieces': [f.text('x'.repeat(5000))],
      fragments: Array.from({ length: 50 }, (_, i) => f.frame(i === 0 ? 2 : 0, Buffer.alloc(100), { fin: i === 49 }))
    };
    forEachCase(Object.keys(kinds), (name) => {
      const bytes = Buffer.concat(kinds[name]);
      const events = [];
      let message = '';
      const decoder = new Decoder({
        role,
        onMessage: (data) => events.push(data.length),
        onError: (error) => {
          events.push([error.code, error.closeCode], error.cause.message);
          message = error.message;
        }
      });
      withoutMemory(2000, () => {
        for (let at = 0; at < bytes.length; at += 700) decoder.write(Buffer.from(bytes.subarray(at, at + 700)));
      });
      assert.deepEqual(events, [TOO_BIG, 'Array buffer allocation failed']);
      // Of fragments that have not arrived nobody knows the length.
      const size = name === 'fragments' ? '\\d+' : 5000;
      assert.match(message, new RegExp(`^There is no memory for a message of ${size} bytes$`));
      assert.equal(decoder.closed, true);
    });
  });
  t.end();
});

t.test('a length beyond what memory can have, without a limit', (t) => {
  forEachDecoder(({ decodeCut, f }) => {
    const options = { maxPayload: Number.POSITIVE_INFINITY };
    const most = BigInt(Math.min(constants.MAX_LENGTH, 2 ** 53 - 1));
    forEachCase([most + 1n, 2n ** 53n, 2n ** 62n], (length) => {
      assert.deepEqual(decodeCut(f.binary('', { length }), [], options), [['error', 'MESSAGE_TOO_BIG', 1009]]);
      assert.deepEqual(decodeCut(f.text('', { length }), [3], options), [['error', 'MESSAGE_TOO_BIG', 1009]]);
    });
  });
  t.end();
});
