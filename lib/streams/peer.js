'use strict';

const { invalidType } = require('../shared/errors');
const { nextTick } = require('../shared/ticks');

/**
 * A Peer is a connection as lib/streams knows it. It has, of the API of ws's WebSocket:
 *
 * - `readyState`, `isPaused`, `bufferedAmount`, `url`, `extensions`, `protocol`
 * - `send`, `close`, `terminate`, `pause`, `resume`
 * - `on` and `off` for 'open', 'message', 'stream', 'error' and 'close'
 * - `addEventListener` for 'close'
 *
 * Of our own it has the event `kClosing` of a call of `close`. With a WayOut it can send streams.
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
 * @property {(call: any[]) => number} holdCall checks a call of `send` that is to wait; returns its
 *   bytes
 * @property {(call: any[]) => void} sendHeld makes the call
 */

/** Functions that are called once, in the tick after `callAll`: frames are in the socket then. */
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

/** @throws {TypeError} for a value other than a Connection or a WebSocket, of any copy of ws */
function peerOf(value) {
	const peer = value?.[kPeer] ?? value;
	if (typeof peer?.on !== 'function' || typeof peer.readyState !== 'number')
		throw invalidType('peer', 'a Connection or a WebSocket', value);
	return peer;
}

/** @returns {WayOut | null} */
const wayOutOf = (peer) => peer[kWayOut] ?? null;

module.exports = { Watchers, kClosing, kPeer, kWayOut, peerOf, wayOutOf };
