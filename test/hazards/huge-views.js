'use strict';

// From 2 GiB on, an index no longer fits 32 bits with a sign. Each test allocates 2 GiB, so that it
// is skipped where there is little memory.

const assert = require('node:assert/strict');
const os = require('node:os');
const t = require('tap');
const { constants } = require('node:buffer');
const { createCodecBackend } = require('../../lib/codec/backend');
const fallback = require('../../lib/masking/fallback');
const { decoderOver } = require('../support/codecs');
const { framesFor } = require('../support/frames');
const { TRIES_ALL, titleOf } = require('../support/sample');

const SIZE = 2 ** 31 + 64;
const skip =
  (os.freemem() < 6 * 2 ** 30 && 'there is little memory') ||
  (constants.MAX_LENGTH < SIZE && 'this platform has no such views');

t.test(titleOf('the JavaScript fallback masks beyond 2 GiB', 'from 1 MiB below'), { skip }, (t) => {
  const bytes = new Uint8Array(new ArrayBuffer(SIZE));
  assert.equal(fallback.unmaskRange(bytes, SIZE - 200, 200, 0x04030201), true, 'the end alone');
  assert.deepEqual([...bytes.subarray(SIZE - 4)], [1, 2, 3, 4]);
  assert.equal(bytes[SIZE - 201], 0);
  const start = TRIES_ALL ? 0 : SIZE - 2 ** 20;
  fallback.unmaskRange(bytes, start, SIZE - start, 0x04030201);
  assert.deepEqual([...bytes.subarray(SIZE - 4)], [0, 0, 0, 0]);
  assert.deepEqual([...bytes.subarray(2 ** 31 - 400, 2 ** 31 - 396)], [1, 2, 3, 4]);
  assert.deepEqual([...bytes.subarray(start, start + 4)], [1, 2, 3, 4]);
  t.end();
});

t.test('the JavaScript decoder takes a chunk of more than 2 GiB', { skip }, (t) => {
  const JavascriptDecoder = decoderOver(createCodecBackend(null));
  const chunk = Buffer.from(new ArrayBuffer(SIZE));
  const text = framesFor('server').text('x'.repeat(100));
  text.copy(chunk, 0);
  text.copy(chunk, text.length);
  const messages = [];
  const decoder = new JavascriptDecoder({
    role: 'server',
    onMessage(data) {
      messages.push(data.length);
      if (messages.length === 2) decoder.stop();
    }
  });
  decoder.write(chunk);
  t.same(messages, [100, 100]);
  t.end();
});
