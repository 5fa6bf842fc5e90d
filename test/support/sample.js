'use strict';

/**
 * Whether the tests that would take long try all of their cases: FRAMEMASK_TEST=all, as .ci/run
 * sets it once. Else they try a sample in which each hazard is met, and their titles name it.
 */
const TRIES_ALL = process.env.FRAMEMASK_TEST === 'all';

/** The options of a case that takes longer than others on a busy machine: see case-limit.mjs. */
const LONG = { timeout: 300_000 };

/**
 * @param {string} title of a test
 * @param {string} sample
 * @returns {string} the title, with the sample if that is all that is tried
 */
function titleOf(title, sample) {
  return TRIES_ALL ? title : `${title} (${sample})`;
}

module.exports = { LONG, TRIES_ALL, titleOf };
