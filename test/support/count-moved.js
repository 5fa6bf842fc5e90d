'use strict';

/**
 * Counts the elements that `shift` and `splice` move to the front of arrays: N calls of an array's
 * `shift` move N * N / 2, and 200,000 of them take half a minute.
 *
 * @param {() => unknown} work may return a promise
 * @returns {Promise<number>} those that are moved during `work`
 */
async function countMoved(work) {
  const { shift, splice } = Array.prototype;
  let moved = 0;
  Array.prototype.shift = function () {
    moved += this.length;
    return shift.call(this);
  };
  Array.prototype.splice = function (...args) {
    const [start, count = this.length - start] = args;
    moved += this.length - start - count;
    return splice.apply(this, args);
  };
  try {
    await work();
  } finally {
    Object.assign(Array.prototype, { shift, splice });
  }
  return moved;
}

module.exports = { countMoved };
