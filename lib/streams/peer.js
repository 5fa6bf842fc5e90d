'use strict';

const { invalidType } = require('../shared/errors');
const { nextTick } = require('../shared/ticks');

/**
 * What lib/streams asks of a connection: of the API of ws's WebSocket, `readyState`, `isPaused`, `url`,
 * `extensions`, `protocol`, `bufferedAmount`, `on` and `off` for 'open', 'message', 'stream', 'error' and
 * 'close', `addEventListener` for 'close', `send`, `close`, `terminate`, `pause` and `resume`. Of our own,
 * the event `kClosing` of a call of `close`, and the way out, without which nothing can be streamed:
 *
 * @typedef {object} WayOut
 * @property {import('node:stream').Duplex} socket
 * @property {number} queuedAmount the bytes that wait for the socket, or for compression
 * @property {number} heldBytes those of messages that wait for the end of a stream
 * @property {boolean} isFragmenting whether the next data frame continues a message
 * @property {(callback: () => void) => (() => void)} watchSender calls back once, when `queuedAmount`
 *   is less for another reason than the socket's 'drain'; returns its undoing
 * @property {(take: ((...call: any[]) => void) | null) => void} redirectSends has a function take the
 *   calls of `send`; null: no longer
 * @property {(call: any[]) => number} holdCall checks and keeps a call of `send` that waits; returns its bytes
 * @property {(call: any[]) => void} sendHeld makes the call
 */

/** Functions that are called once, in the tick after `callAll`: the frames are in the socket then. */
class Watchers {
	constructor() {
		this._callbacks = new Set();
	}

	/** @returns {() => void} withdraws it */
	add(callback) {
		this._callbacks.add(callback);
		return () => this._callbacks.delete(callback);
	}

	callAll() {
		const callbacks = this._callbacks;
		if (callbacks.size === 0) return;
		this._callbacks = new Set();
		nextTick(() => {
			for (const callback of callbacks) callback();
		});
	}
}

/** Where a connection that is no Peer has its own. */
const kPeer = Symbol('peer');
/** Where a Peer has its WayOut: null before it is open; plain ws lacks it. */
const kWayOut = Symbol('wayOut');
/** The event before `close` of the program: whether it ends an open connection by itself. */
const kClosing = Symbol('closing');

/** @throws {TypeError} for what is neither a Connection nor a WebSocket, of any copy of ws */
function peerOf(value) {
	const peer = value?.[kPeer] ?? value;
	if (typeof peer?.on !== 'function' || typeof peer.readyState !== 'number')
		throw invalidType('peer', 'a Connection or a WebSocket', value);
	return peer;
}

/** @returns {WayOut | null} */
const wayOutOf = (peer) => peer[kWayOut] ?? null;

module.exports = { Watchers, kClosing, kPeer, kWayOut, peerOf, wayOutOf };
