'use strict';

const { notOpenError, outOfRange } = require('../shared/errors');
const { checkObject } = require('../shared/option-names');
const { checkSignal, checkWebSocket, onceOf } = require('./once-of');
const { adapterOf } = require('./websocket');

const BELOW = 64 * 1024;
const CONNECTING = 0;
const OPEN = 1;

/**
 * See ws.d.ts.
 *
 * A socket says by 'drain' when its bytes have left, if there were more than its high-water mark;
 * lower marks would need a timer.
 */
async function drained(websocket, options = {}) {
	checkWebSocket(websocket);
	const { below = BELOW, signal } = checkObject(options);
	checkSignal(signal);
	signal?.throwIfAborted();
	if (typeof below !== 'number' || !(below > 0)) throw outOfRange('below', 'a number above 0', below);
	if (websocket.readyState === CONNECTING) await change(websocket, signal, (done) => onceOf(websocket, 'open', done));
	await whenBelow(websocket, () => websocket.bufferedAmount, below, signal);
}

/** Waits until an amount of bytes that wait on an open connection is below a mark. */
async function whenBelow(websocket, amount, below, signal) {
	for (;;) {
		const adapter = websocket.readyState === OPEN ? adapterOf(websocket) : null;
		if (adapter === null) throw notOpenError();
		const { socket } = adapter;
		if (amount(adapter) < Math.max(below, socket.writableHighWaterMark)) return;
		if (socket.writableNeedDrain) await change(websocket, signal, (done) => onceOf(socket, 'drain', done));
		else await change(websocket, signal, (done) => adapter.watchSender(done));
	}
}

/**
 * Waits for an event or a promise, but not beyond the end of the connection or the signal.
 *
 * @param {(resolve: Function, reject: Function) => (() => void)} subscribe returns its undoing
 */
function change(websocket, signal, subscribe) {
	return new Promise((resolve, reject) => {
		const undos = [];
		const settle = (act) => (value) => {
			for (const undo of undos) undo();
			act(value);
		};
		undos.push(subscribe(settle(resolve), settle(reject)));
		undos.push(onceOf(websocket, 'close', () => settle(reject)(notOpenError())));
		if (signal === undefined) return;
		const abort = () => settle(reject)(signal.reason);
		undos.push(onceOf(signal, 'abort', abort));
		// Such as by the source that has just been asked.
		if (signal.aborted) abort();
	});
}

/** Waits for a promise, but not beyond the end of the connection or the signal. */
function settled(websocket, signal, start) {
	return change(websocket, signal, (resolve, reject) => {
		start().then(resolve, reject);
		return () => {};
	});
}

module.exports = { drained, settled, whenBelow };
