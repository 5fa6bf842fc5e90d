'use strict';

const { nextTick } = require('./ticks');

/**
 * Calls callbacks one after the other. One that throws does not keep the others from being called:
 * they are called in the next tick.
 */
function callInOrder(callbacks, error) {
	let called = 0;
	try {
		while (called < callbacks.length) callbacks[called++](error);
	} finally {
		if (called < callbacks.length) nextTick(callInOrder, callbacks.slice(called), error);
	}
}

/** Throws an error of the program in the next tick, where it is nobody else's. */
function throwLater(error) {
	nextTick(() => {
		throw error;
	});
}

module.exports = { callInOrder, throwLater };
