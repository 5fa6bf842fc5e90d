'use strict';

const { vm } = require('./node-modules');

/**
 * Node.js's own `nextTick` and `setImmediate`. The fake clock of a test (Jest,
 * @sinonjs/fake-timers) replaces both, and calls nothing until the test advances it: frames would
 * wait. Timers that measure a time are looked up at each call: a test can advance them.
 *
 * Jest evaluates this file in a context of its own, where they may be fake already: those of the
 * process's first context are not.
 */
const { process, setImmediate } = vm.runInThisContext('({ process, setImmediate })');

/** The function in whose place @sinonjs/fake-timers has put a fake one. */
const genuine = (name, found) => found.clock?.[`_${name}`] ?? found;

module.exports = {
	/** Jest's contexts have one of their own. */
	process,
	nextTick: genuine('nextTick', process.nextTick),
	setImmediate: genuine('setImmediate', setImmediate)
};
