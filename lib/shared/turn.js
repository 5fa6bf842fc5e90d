'use strict';

const { asyncHooks } = require('./node-modules');
const { callInOrder } = require('./call-in-order');
const { runOutside } = require('./outside');
const { Queue } = require('./queue');
const { setImmediate } = require('./ticks');

// How much a turn of the event loop does for all connections together: how much it inflates, and
// how many callbacks of writes it calls. A program that sends the next message in each would else
// never let the event loop read, nor any timer run.

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

/** The callbacks of a write count as so many, which are 10 µs: 1,024 writes are a turn. */
const CALL_COUNTS = 2048;
/** A byte that is compressed on the event loop counts as so many: 2 KB take 25 µs. */
const DEFLATED_COUNTS = 2;

let work = 0;
let limit = OF_TURN;
let isTimed = false;
const waiting = new Queue();

/** The work of sending in this turn, and the callbacks of writes that wait for a later one. */
let sent = 0;
const calls = new Queue();

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

function countDeflated(length) {
	countSent(length * DEFLATED_COUNTS);
}

function countSent(count) {
	sent += count;
	if (sent >= UNTIMED) setTimer();
}

/**
 * Calls the callbacks of a write, each after those before it: now, or in a later turn if this one
 * has seen enough. With an error they are called now, before the connection's 'close'.
 *
 * @param {Function[]} callbacks each in a context of its own, none of which throws
 */
function callInTurn(callbacks, error) {
	if (error) callWaiting(calls.length);
	countSent(CALL_COUNTS);
	if (error || (sent < OF_TURN && calls.length === 0)) callInOrder(callbacks, error);
	else calls.push(callbacks);
}

/** Calls the callbacks of so many writes that wait, as far as they fit into this turn. */
function callWaiting(count, most = Infinity) {
	for (let left = count; left > 0 && calls.length !== 0 && sent < most; left--) {
		sent += CALL_COUNTS;
		callInOrder(calls.shift(), null);
	}
}

function setTimer() {
	if (isTimed) return;
	isTimed = true;
	runOutside(setImmediate, beginTurn);
}

function beginTurn() {
	isTimed = false;
	work = 0;
	sent = 0;
	try {
		callWaiting(calls.length, OF_TURN);
		while (waiting.length !== 0 && work < OF_TURN) {
			limit = Math.min(work + AT_A_TIME, OF_TURN);
			waiting.shift()();
		}
	} finally {
		limit = OF_TURN;
		// A handler may have thrown.
		if (waiting.length !== 0 || calls.length !== 0) setTimer();
	}
}

module.exports = { callInTurn, countDeflated, countWork, inLaterTurn, isTurnOver };
