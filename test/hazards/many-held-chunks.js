'use strict';

// Chunks that arrive while the decoder is paused. Taking each off an array would move all others:
// 200,000 took 37 s.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');

/**
 * Counts the elements that `shift` and `splice` move to the front of arrays.
 *
 * @param {() => void} work
 * @returns {number} those that are moved during `work`
 */
function countMoved(work) {
  const { shift, splice } = Array.prototype;
  let moved = 0;
  Array.prototype.shift = function () {
    moved += this.length;
    return shift.call(this);
  };
  Array.prototype.splice = function (start, count, ...added) {
    moved += this.length - start - count;
    return splice.call(this, start, count, ...added);
  };
  try {
    work();
  } finally {
    Object.assign(Array.prototype, { shift, splice });
  }
  return moved;
}

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
    for (let i = 0; i < 1000; i++) decoder.write(chunk);
    const moved = countMoved(() => decoder.resume());
    assert.equal(next, 1000, 'of the first 1000 chunks');
    assert.ok(moved <= 1000, `${moved} moves for 1000 chunks`);
    decoder.pause();
    for (let i = 0; i < COUNT; i++) decoder.write(chunk);
    decoder.resume();
    assert.equal(next, 1000 + COUNT);
  });
  t.end();
});

t.test('a queue keeps order and moves each chunk a bounded number of times', (t) => {
  const { ChunkQueue } = require('../../lib/codec/chunk-queue');
  const queue = new ChunkQueue();
  let pushed = 0;
  let shifted = 0;
  const moved = countMoved(() => {
    for (let round = 0; round < 1000; round++) {
      for (let i = 0; i < 30; i++) queue.push(pushed++);
      for (let i = 0; i < 29; i++) assert.equal(queue.shift(), shifted++);
      // Chunks that have left must not fill the memory of a queue that is never empty.
      assert.ok(queue._chunks.length <= 2 * (pushed - shifted), `${queue._chunks.length} places`);
    }
    while (shifted < pushed) assert.equal(queue.shift(), shifted++);
  });
  t.equal(queue.shift(), null);
  t.ok(moved <= pushed, `${moved} moves for ${pushed} chunks`);
  t.end();
});
