'use strict';

const { nodeModule, path } = require('../shared/node-modules');

/**
 * The versions of ws that framemask/ws works with. The peerDependencies of package.json allow all:
 * npm would refuse framemask as bufferutil beside an older ws.
 */
const OLDEST = [8, 17, 1];
const NEWEST_MAJOR = 8;

/** In words, for messages. */
const SUPPORTED = `ws ${OLDEST.join('.')} to ${NEWEST_MAJOR}.x`;

/**
 * @returns {string} the version of the program's own ws
 * @throws {Error} FRAMEMASK_ERR_WS if framemask/ws does not work with it
 */
function checkWs() {
	const version = versionOfWs();
	if (isSupported(version)) return version;
	throw wsError(
		`framemask/ws works on ${SUPPORTED}, and ws ${version} is installed: run \`npm install ws@${NEWEST_MAJOR}\`, with ` +
			`"overrides": { "ws": "$ws" } in your package.json if another package brings it (pnpm has "pnpm.overrides", Yarn ` +
			`"resolutions"); or require 'ws' instead of 'framemask/ws'`
	);
}

// '#ws' is 'ws' in package.json. A test runner or bundler that maps 'ws' does not map it.

function versionOfWs() {
	try {
		const { name, version } = require('#ws/package.json');
		if (name === 'framemask')
			throw wsError(
				`The package "ws" is framemask, by an alias (ws@npm:framemask): framemask/ws works on ws beside it`
			);
		return version;
	} catch (cause) {
		if (cause.code === 'FRAMEMASK_ERR_WS') throw cause;
		if (cause.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return '8.9 or older';
		throw wsError('framemask/ws works on ws, which is not installed: run `npm install ws`', cause);
	}
}

/** @returns {typeof import('ws')} the program's own ws @throws {Error} as checkWs */
function loadWs() {
	checkWs();
	const found = require('#ws');
	const ws = process.versions.bun !== undefined && isOfBun(found) ? loadFile() : found;
	if (typeof ws === 'function' && ws.WebSocket === undefined) {
		throw wsError(
			"framemask/ws is given the file of ws for browsers, by the condition 'browser' of exports. In Jest's environment " +
				"jsdom, set testEnvironmentOptions: { customExportConditions: ['node'] }"
		);
	}
	if (ws.WebSocket === undefined) {
		throw wsError(
			"framemask/ws is given itself in place of ws: an alias of 'ws' holds for framemask's files, too. Leave those in " +
				'node_modules/framemask out of it'
		);
	}
	return ws;
}

function wsError(message, cause) {
	return Object.assign(new Error(message, cause && { cause }), { code: 'FRAMEMASK_ERR_WS' });
}

/** In Bun, `require('ws')` gives a module of Bun's own, unless a bundle holds ws. */
function isOfBun(ws) {
	try {
		new ws.Receiver();
		return false;
	} catch {
		return true; // Not supported yet in Bun
	}
}

/** Loads ws by the path of its file, which Bun loads as it is. */
function loadFile() {
	try {
		const requireFile = nodeModule.createRequire(__filename);
		return requireFile(path.join(path.dirname(requireFile.resolve('#ws/package.json')), 'index.js'));
	} catch (cause) {
		throw wsError(
			'framemask/ws works on the package ws, in whose place Bun puts a module of its own; its files in node_modules ' +
				"can't be loaded. Run framemask/ws from node_modules, or require 'ws' instead of 'framemask/ws'",
			cause
		);
	}
}

function isSupported(version) {
	const numbers = version.split('.', 3).map((part) => Number.parseInt(part, 10));
	if (numbers[0] !== NEWEST_MAJOR) return false;
	const at = numbers.findIndex((number, i) => number !== OLDEST[i]);
	return at === -1 || numbers[at] > OLDEST[at];
}

module.exports = { SUPPORTED, checkWs, isSupported, loadWs };
