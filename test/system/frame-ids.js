'use strict';

const { MAX_SIGMA, checkOrdered, checkRandom, withRestlessClock } = require('../support/frame-id-checks');

module.exports = {
  summary: 'millions of frame ids: repeats, bits, order',
  details: `All must have the right version and variant. Version 4 may not repeat, and each random bit must be 1 in half of the
ids, within ${MAX_SIGMA} standard deviations. Version 7 must increase strictly, also with a clock that stops and steps back.`,
  options: {
    count: {
      type: 'string',
      default: '10000000',
      value: 'n',
      text: 'ids in each of the three runs (10000000: 10 s, 300 MB)'
    }
  },

  run({ count: given }, { progress }) {
    const count = Number(given);
    if (!Number.isSafeInteger(count) || count < 1)
      throw new RangeError(`--count must be an integer above 0, not ${given}`);
    const shown = (name) => (made) => progress(`${name}: ${made} of ${count}`);
    const random = checkRandom(count, shown('version 4'));
    const ordered = checkOrdered(count, shown('version 7'));
    const restless = withRestlessClock(count, () => checkOrdered(count, shown('version 7, restless clock')));
    console.log({ random, ordered, restless });
    return (
      random.malformed === 0 &&
      random.repeats === 0 &&
      random.worstSigma <= MAX_SIGMA &&
      [ordered, restless].every(({ malformed, disordered }) => malformed === 0 && disordered === 0)
    );
  }
};
