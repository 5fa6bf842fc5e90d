'use strict';

// `node --import framemask/ws/register app.js`: each `require('ws')` and `import 'ws'` of the
// process gets framemask/ws. Nothing else requires this module.

const Module = require('node:module');
const { pathToFileURL } = require('node:url');

const { channelToHooks, setRegistered } = require('./copies');
const { checkWs } = require('./load-ws');
const { noteLoaded, redirectFile, redirectUrl } = require('./redirect');

// First: without a ws for framemask, the program ends here, and not at its first require. The
// program loads ws itself: a tracer may start before that, and finds node:http unused, too.
const version = checkWs();

if (process.versions.bun !== undefined || process.versions.deno !== undefined) {
	throw new Error("framemask/ws/register works in Node.js only: require 'framemask/ws' instead of 'ws'");
}

if (Module.registerHooks !== undefined) {
	// Node.js 22.15, 23.5 and later: for require and import.
	Module.registerHooks({
		resolve: (specifier, context, nextResolve) => redirectUrl(specifier, context, nextResolve(specifier, context))
	});
} else {
	// For import alone.
	Module.register('./register-hooks.mjs', pathToFileURL(__filename), channelToHooks());
}

/**
 * `Module._resolveFilename` is not documented, but loaders and tracers have replaced it for as
 * long. It redirects require without `registerHooks`, and tells tracers, which keep modules of `ws`
 * by the name of their file, of another file.
 */
const { _resolveFilename: resolveFilename } = Module;
Module._resolveFilename = function (request, parent, ...others) {
	const file = resolveFilename.call(this, request, parent, ...others);
	return redirectFile(request, file, parent?.filename);
};

noteLoaded(Object.keys(require.cache));
setRegistered(version);
