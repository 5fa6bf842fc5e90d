'use strict';

const { process } = require('./ticks');

/**
 * A value that all copies of framemask in the process share, under a symbol of it. A test runner
 * loads a copy in a vm context for each test file, and drops the context afterwards: what the
 * process keeps must not keep the context.
 *
 * @param {string} name with a number, which changes with the form of the value
 * @param {() => T} create for the first copy
 */
function ofProcess(name, create) {
	const key = Symbol.for(`framemask.${name}`);
	process[key] ??= create();
	return process[key];
}

module.exports = { ofProcess };
