'use strict';

// Chunks that arrive while the decoder is paused. Taking each off an array would move all others:
// 200,000 took 37 s.

const assert = require('node:assert/strict');
const t = require('tap');
const { ChunkQueue } = require('../../lib/codec/chunk-queue');
const { forEachDecoder } = require('../support/decoders');

t.test('200,000 chunks held by pause are delivered in order', { timeout: 60_000 }, (t) => {
  const COUNT = 200_000;
  forEachDecoder(({ Decoder, role, f }) => {
    let next = 0;
    const decoder = new Decoder({
      role,
      onMessage(data) {
        if (data.length !== 0) assert.fail(`message ${next} has ${data.length} bytes`);
        next++;
      }
    });
    const chunk = f.binary('');
    decoder.pause();
    for (let i = 0; i < COUNT; i++) decoder.write(chunk);
    decoder.resume();
    assert.equal(next, COUNT);
  });
  t.end();
});

t.test('a queue keeps order and moves each chunk a bounded number of times', (t) => {
  const queue = new ChunkQueue();
  let moved = 0;
  const { splice } = Array.prototype;
  queue._chunks.splice = function (...args) {
    moved += this.length - args[1];
    return splice.apply(this, args);
  };
  let pushed = 0;
  let shifted = 0;
  for (let round = 0; round < 1000; round++) {
    for (let i = 0; i < 30; i++) queue.push(pushed++);
    for (let i = 0; i < 29; i++) assert.equal(queue.shift(), shifted++);
  }
  while (shifted < pushed) assert.equal(queue.shift(), shifted++);
  t.equal(queue.shift(), null);
  t.ok(moved <= pushed, `${moved} moves for ${pushed} chunks`);
  t.end();
});
