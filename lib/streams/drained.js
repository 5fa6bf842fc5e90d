'use strict';

const { notOpenError, outOfRange } = require('../shared/errors');
const { checkObject } = require('../shared/option-names');
const { checkSignal, onceOf } = require('./once-of');
const { peerOf, wayOutOf } = require('./peer');

const BELOW = 64 * 1024;
const CONNECTING = 0;
const OPEN = 1;

/**
 * See index.d.ts.
 *
 * A socket says by 'drain' when its bytes have left, if there were more than its high-water mark;
 * lower marks would need a timer.
 */
async function drained(connection, options = {}) {
	const peer = peerOf(connection);
	const { below = BELOW, signal } = checkObject(options);
	checkSignal(signal);
	signal?.throwIfAborted();
	if (typeof below !== 'number' || !(below > 0)) throw outOfRange('below', 'a number above 0', below);
	if (peer.readyState === CONNECTING) await change(peer, signal, (done) => onceOf(peer, 'open', done));
	await whenBelow(peer, () => peer.bufferedAmount, below, signal);
}

/** Waits until an amount of bytes that wait on an open connection is below a mark. */
async function whenBelow(peer, amount, below, signal) {
	for (;;) {
		const wayOut = peer.readyState === OPEN ? wayOutOf(peer) : null;
		if (wayOut === null) throw notOpenError();
		const { socket } = wayOut;
		if (amount(wayOut) < Math.max(below, socket.writableHighWaterMark)) return;
		if (socket.writableNeedDrain) await change(peer, signal, (done) => onceOf(socket, 'drain', done));
		else await change(peer, signal, (done) => wayOut.watchSender(done));
	}
}

/**
 * Waits for an event or a promise, but not beyond the end of the connection or the signal.
 *
 * @param {(resolve: Function, reject: Function) => (() => void)} subscribe returns its undoing
 */
function change(peer, signal, subscribe) {
	return new Promise((resolve, reject) => {
		const undos = [];
		const settle = (act) => (value) => {
			for (const undo of undos) undo();
			act(value);
		};
		undos.push(subscribe(settle(resolve), settle(reject)));
		undos.push(onceOf(peer, 'close', () => settle(reject)(notOpenError())));
		if (signal === undefined) return;
		const abort = () => settle(reject)(signal.reason);
		undos.push(onceOf(signal, 'abort', abort));
		// Such as by the source that has just been asked.
		if (signal.aborted) abort();
	});
}

/** Waits for a promise, but not beyond the end of the connection or the signal. */
function settled(peer, signal, start) {
	return change(peer, signal, (resolve, reject) => {
		start().then(resolve, reject);
		return () => {};
	});
}

module.exports = { drained, settled, whenBelow };
