'use strict';

// What register has done with each ws that the program has asked for, for report() and to be seen:
// register loads this module, and it loads neither ws nor the codec.

const { log } = require('../shared/log');
const { workerThreads } = require('../shared/node-modules');

/**
 * @typedef {{ path: string, version: string, replaced: boolean, reason: string | null }} Copy a ws, as
 *   in the result of report(): see ws.d.ts
 */

/** @type {Map<string, Copy>} by folder */
const copies = new Map();
let registered = false;
/** In the thread of register-hooks.mjs: the way to the program's thread. */
let toMain = null;
/** In the program's thread: the way from that one. */
let fromHooks = null;

/** Notes a copy and tells of it, the first time that its folder comes. @param {Copy} copy */
function noteCopy(copy) {
	if (copies.has(copy.path)) return;
	copies.set(copy.path, copy);
	if (toMain !== null) toMain.postMessage(copy);
	else if (copy.replaced) log('ws %s of %s is replaced', copy.version, copy.path);
	else warnOfCopy(copy);
}

function warnOfCopy({ path: folder, version, reason }) {
	const name = `ws ${version}`.trim();
	log('%s of %s stays: %s', name, folder, reason);
	process.emitWarning(`framemask/ws/register leaves ${name} of ${folder} as it is: ${reason}`, {
		type: 'FramemaskWarning',
		code: 'FRAMEMASK_WARN_WS_LEFT',
		detail: 'See "Without changing a line" in docs/ws.md of the repository'
	});
}

/** For register. */
function setRegistered(version) {
	registered = true;
	log('registered in place of ws %s', version);
}

/** @returns {object} options of `module.register`: the way from the thread of hooks to this one */
function channelToHooks(isMainThread = workerThreads.isMainThread) {
	// --require loads register in the thread of hooks, too: Node.js 20 ends there if it gets a port.
	if (!isMainThread) return {};
	const { port1: own, port2: port } = new workerThreads.MessageChannel();
	fromHooks = own.on('message', noteCopy);
	// The program may end while it listens.
	own.unref();
	return { data: { port }, transferList: [port] };
}

function sendTo(port) {
	toMain = port;
}

/** @returns {{ registered: boolean, copies: Copy[] }} a part of the result of report() */
function describeRegister() {
	while (fromHooks !== null) {
		const received = workerThreads.receiveMessageOnPort(fromHooks);
		if (received === undefined) break;
		noteCopy(received.message);
	}
	return { registered, copies: [...copies.values()] };
}

module.exports = { channelToHooks, describeRegister, noteCopy, sendTo, setRegistered };
