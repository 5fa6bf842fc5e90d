'use strict';

const { createHistogram } = require('node:perf_hooks');

/** @returns {number} microseconds of the clock that all processes of a machine share */
function sharedTime() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1000;
}

/** Takes latencies, in microseconds, and gives their 99th percentile. */
function createLatencies() {
  const histogram = createHistogram();
  return {
    add: (latency) => histogram.record(Math.max(1, Math.round(latency * 1000))),
    percentile: () => histogram.percentile(99) / 1000
  };
}

module.exports = { createLatencies, sharedTime };
