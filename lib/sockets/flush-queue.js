'use strict';

// The connections that hold bytes back until the end of the turn. One tick flushes them all, and
// takes the replies of asynchronous listeners along.

const { SMALL_SLABS } = require('../codec/slabs');
const { ofProcess } = require('../shared/of-process');
const { runOutside } = require('../shared/outside');
const { nextTick, process } = require('../shared/ticks');

/**
 * So many bytes that are held back on all connections are sent at once: a message of 4 KiB for 300
 * connections would leave the processor's cache before it is sent.
 */
const HELD_BACK = 64 * 1024;

/**
 * What all copies hold back: connections, each after the function that flushes it and does not
 * throw. One listener of 'exit' serves them: only the first copy is kept.
 */
const held = ofProcess('held.2', () => ({
	queue: [],
	bytes: 0,
	/** The connections whose chunk is being decoded: they flush when it has been. */
	reads: [],
	listensForExit: false,
	exits: false
}));
const { reads } = held;

/** Flushes a connection at the end of the turn, or before. It must not be in the queue. */
function flushLater(flush, connection, bytes) {
	if (held.queue.length === 0) nextTick(flushQueue);
	held.queue.push(flush, connection);
	held.bytes += bytes;
	if (held.bytes >= HELD_BACK || held.queue.length >= 2 * SMALL_SLABS) flushQueue();
}

/** Begins the read of a connection, which flushes it itself after `endRead`. Reads are nested. */
function beginRead(flush, connection) {
	reads.push(flush, connection);
}

function endRead() {
	// To set `length` takes 70 ns.
	reads.pop();
	reads.pop();
}

/** A program may end itself in the turn in which it has sent something, and send in the end. */
function listenForExit() {
	if (held.listensForExit) return;
	held.listensForExit = true;
	process.on('exit', () => {
		held.exits = true;
		flushAll(reads);
		flushQueue();
	});
}

/** Whether the process ends, so that nothing can wait. */
const isExiting = () => held.exits;

function flushQueue() {
	const { queue } = held;
	held.queue = [];
	held.bytes = 0;
	runOutside(flushAll, queue);
}

function flushAll(pairs) {
	for (let i = 0; i < pairs.length; i += 2) pairs[i](pairs[i + 1]);
}

module.exports = { beginRead, endRead, flushLater, isExiting, listenForExit };
