'use strict';

const { asyncHooks } = require('../shared/node-modules');
const { Queue } = require('../shared/queue');
const { setImmediate } = require('../shared/ticks');

// The limit of what all connections together inflate on the event loop in one turn of it.

/**
 * A byte of input counts as so many of output: empty blocks take 0.1 µs a byte, and put out
 * nothing.
 */
const INPUT_COUNTS = 16;
/** Each run of zlib counts as so many. */
const RUN_COUNTS = 512;
/** 128 KiB of empty blocks, which take 13 ms, or 300 messages of 1 KiB of JSON. */
const OF_TURN = 2 * 1024 * 1024;
/** A connection that has waited goes on with so much, and waits again after the others. */
const AT_A_TIME = OF_TURN / 16;
/** So much may be of earlier turns: few turns of ordinary traffic need a timer. */
const UNTIMED = OF_TURN / 8;

let work = 0;
let limit = OF_TURN;
let isTimed = false;
const waiting = new Queue();

/** Counts a run of zlib towards this turn. */
function countWork(input, output) {
  work += input * INPUT_COUNTS + output + RUN_COUNTS;
  if (work >= UNTIMED) setTimer();
}

/** Whether this turn has seen enough work. */
function isTurnOver() {
  return work >= limit;
}

/** Calls back in a later turn, in the present asynchronous context. */
function inLaterTurn(callback) {
  const resource = new asyncHooks.AsyncResource('framemask.inflate');
  waiting.push(() => resource.runInAsyncScope(callback));
  setTimer();
}

function setTimer() {
  if (isTimed) return;
  isTimed = true;
  setImmediate(beginTurn);
}

function beginTurn() {
  isTimed = false;
  work = 0;
  try {
    while (waiting.length !== 0 && work < OF_TURN) {
      limit = Math.min(work + AT_A_TIME, OF_TURN);
      waiting.shift()();
    }
  } finally {
    limit = OF_TURN;
    // A handler may have thrown.
    if (waiting.length !== 0) setTimer();
  }
}

module.exports = { countWork, inLaterTurn, isTurnOver };
