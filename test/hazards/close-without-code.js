'use strict';

// On Deno, Buffer.prototype.utf8Slice refuses a start behind the end, so reading the reason of an
// empty Close frame threw out of `write`.

const assert = require('node:assert/strict');
const t = require('tap');
const { createCodecBackend } = require('../../lib/codec/backend');
const { forEachCase } = require('../support/cases');
const { decoderOver, encoderOver } = require('../support/codecs');
const { nativeKernels } = require('../support/natives');

/** Makes the methods that read strings as strict as Deno's until the test ends. */
function refuseReversedRanges(t) {
  for (const name of ['utf8Slice', 'latin1Slice']) {
    const slice = Buffer.prototype[name];
    t.teardown(() => {
      Buffer.prototype[name] = slice;
    });
    Buffer.prototype[name] = function (start = 0, end = this.length) {
      if (start > end || end > this.length) throw new RangeError('Index out of range');
      return slice.call(this, start, end);
    };
  }
}

function backends() {
  return [{ name: 'js', native: null }, ...nativeKernels()].map(({ name, native }) => ({
    name,
    backend: createCodecBackend(native)
  }));
}

t.test('close() without a code arrives as 1005, in both roles', (t) => {
  refuseReversedRanges(t);
  forEachCase(backends(), ({ backend }) => {
    const DecoderOver = decoderOver(backend);
    const EncoderOver = encoderOver(backend);
    forEachCase(['server', 'client'], (role) => {
      const encoder = new EncoderOver({ role });
      encoder.close();
      const bytes = Buffer.concat(encoder.take());
      assert.equal(bytes.length, role === 'server' ? 2 : 6);
      forEachCase([bytes.length, 1], (size) => {
        const closed = [];
        const decoder = new DecoderOver({
          role: role === 'server' ? 'client' : 'server',
          onClose: (code, reason, bytes) => closed.push([code, reason, bytes.length])
        });
        for (let i = 0; i < bytes.length; i += size) decoder.write(Buffer.from(bytes.subarray(i, i + size)));
        assert.deepEqual(closed, [[1005, '', 0]]);
        assert.equal(decoder.closed, true);
      });
    });
  });
  t.end();
});
