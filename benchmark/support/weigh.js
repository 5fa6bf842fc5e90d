'use strict';

/** @returns {Promise<number>} bytes of heap and external memory, after a collection: node must run with `--expose-gc` */
async function memoryUse() {
  // Twice: memory outside the heap is freed after a collection, not by it.
  for (let i = 0; i < 2; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Measures what objects of one kind hold. */
async function weigh(create, count) {
  const each = create().length;
  // 100 connections are made before, so that what all share is not weighed.
  const kept = Array.from({ length: each * (count + 100) }, () => null);
  const fill = (start, end) => {
    for (let i = start; i < end; i += each) {
      const objects = create();
      for (let j = 0; j < each; j++) kept[i + j] = objects[j];
    }
  };
  fill(0, each * 100);
  const before = await memoryUse();
  fill(each * 100, kept.length);
  const after = await memoryUse();
  if (kept.includes(null)) throw new Error('an object was not kept');
  return (after - before) / count;
}

module.exports = { memoryUse, weigh };
