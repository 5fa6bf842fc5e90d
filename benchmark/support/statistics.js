'use strict';

/**
 * @param {number[]} values at least one
 * @returns {number}
 */
function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * @param {number[]} values at least one
 * @returns {[number, number, number]} the first quartile, the median and the third quartile
 */
function quartiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.25, 0.5, 0.75].map((share) => {
    const position = share * (sorted.length - 1);
    const below = Math.floor(position);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
  });
}

module.exports = { median, quartiles };
