'use strict';

const { asyncHooks } = require('./node-modules');

const outside = new asyncHooks.AsyncResource('framemask');

/**
 * Runs a function in the asynchronous context in which this module was loaded: usually none. What
 * connections share (clocks, the writes of a turn, sessions) would else have the AsyncLocalStorage
 * store of the first request. Takes 15 to 30 ns.
 */
function runOutside(action, ...args) {
	return outside.runInAsyncScope(action, undefined, ...args);
}

module.exports = { runOutside };
