'use strict';

const { Queue } = require('../shared/queue');
const { nextTick } = require('../shared/ticks');

/**
 * How many jobs are in zlib's thread pool at a time. Each has a context of its own, 268 KB to
 * deflate: a broadcast to 10,000 connections would allocate 2.7 GB at once. ws has the same limit.
 */
const MAX_JOBS = 10;

let running = 0;
let isStarting = false;
const waiting = new Queue();

/**
 * Runs a job as soon as there is room for it. It calls `done` once, when it has ended. If it throws
 * instead, `fail` gets the error in a tick of its own.
 */
function runInPool(job, fail) {
  if (running === MAX_JOBS) {
    waiting.push([job, fail]);
    return;
  }
  running++;
  try {
    job(endJob);
  } catch (error) {
    endJob();
    nextTick(fail, error);
  }
}

/** A loop starts the next jobs: thousands that end at once would overflow the stack. */
function endJob() {
  running--;
  if (isStarting) return;
  isStarting = true;
  while (waiting.length !== 0 && running < MAX_JOBS) runInPool(...waiting.shift());
  isStarting = false;
}

module.exports = { MAX_JOBS, runInPool };
