'use strict';

const { setTimeout: sleep } = require('node:timers/promises');

/** The processes and threads of a test may take long to start. */
const PATIENCE = 60_000;

/** Waits until a condition holds. */
async function until(condition) {
  for (const end = Date.now() + PATIENCE; !condition(); ) {
    if (Date.now() > end) throw new Error(`never: ${condition}`);
    await sleep(5);
  }
}

/** As Promise.withResolvers of Node.js 22. */
function withResolvers() {
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}

module.exports = { until, withResolvers };
