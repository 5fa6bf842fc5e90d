'use strict';

// The connections that hold bytes back until the end of the turn. One tick flushes them all, and
// takes the replies of asynchronous listeners along.

const { nextTick } = require('../shared/ticks');

/**
 * When so many bytes are held back on all connections together they are sent at once. A message of
 * 4 KiB for 300 connections would otherwise leave the processor's cache before it is sent.
 */
const HELD_BACK = 64 * 1024;

let queue = [];
let heldBack = 0;
let listensForExit = false;
let exits = false;

/** The connections whose chunk is being decoded: they flush when it has been. */
const reads = [];

/** @param {import('./sender-adapter').SenderAdapter} adapter one that is not in the queue */
function addToQueue(adapter) {
  adapter.isQueued = true;
  if (queue.length === 0) nextTick(flushQueue);
  queue.push(adapter);
  heldBack += adapter.pending;
  if (heldBack >= HELD_BACK) flushQueue();
}

/** A program may end itself in the turn in which it has sent something, and send in the end. */
function listenForExit() {
  if (listensForExit) return;
  listensForExit = true;
  process.on('exit', () => {
    exits = true;
    for (const adapter of reads) adapter.flushThrowingLater();
    flushQueue();
  });
}

/** Whether the process ends, so that nothing can wait. */
const isExiting = () => exits;

function flushQueue() {
  const adapters = queue;
  queue = [];
  heldBack = 0;
  for (const adapter of adapters) {
    adapter.isQueued = false;
    adapter.flushThrowingLater();
  }
}

module.exports = { addToQueue, isExiting, listenForExit, reads };
