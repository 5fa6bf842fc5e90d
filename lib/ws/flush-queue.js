'use strict';

// The connections that hold bytes back until the end of the turn. One tick flushes them all, and
// takes the replies of asynchronous listeners along.

const { ofProcess } = require('../shared/of-process');
const { nextTick, process } = require('../shared/ticks');

/**
 * When so many bytes are held back on all connections together they are sent at once. A message of
 * 4 KiB for 300 connections would otherwise leave the processor's cache before it is sent.
 */
const HELD_BACK = 64 * 1024;

/** What all copies hold back. One listener of 'exit' serves them: only the first copy is kept. */
const held = ofProcess('held.1', () => ({
  /** @type {import('./sender-adapter').SenderAdapter[]} */
  queue: [],
  bytes: 0,
  /** The connections whose chunk is being decoded: they flush when it has been. */
  reads: [],
  listensForExit: false,
  exits: false
}));
const { reads } = held;

/** @param {import('./sender-adapter').SenderAdapter} adapter one that is not in the queue */
function addToQueue(adapter) {
  adapter.isQueued = true;
  if (held.queue.length === 0) nextTick(flushQueue);
  held.queue.push(adapter);
  held.bytes += adapter.pending;
  if (held.bytes >= HELD_BACK) flushQueue();
}

/** A program may end itself in the turn in which it has sent something, and send in the end. */
function listenForExit() {
  if (held.listensForExit) return;
  held.listensForExit = true;
  process.on('exit', () => {
    held.exits = true;
    for (const adapter of reads) adapter.flushThrowingLater();
    flushQueue();
  });
}

/** Whether the process ends, so that nothing can wait. */
const isExiting = () => held.exits;

function flushQueue() {
  const { queue } = held;
  held.queue = [];
  held.bytes = 0;
  for (const adapter of queue) {
    adapter.isQueued = false;
    adapter.flushThrowingLater();
  }
}

module.exports = { addToQueue, isExiting, listenForExit, reads };
