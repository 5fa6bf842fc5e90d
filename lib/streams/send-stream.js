'use strict';

const { Buffer, sizeOf, toBytes } = require('../shared/buffers');
const { goneError, invalidState, invalidType, notOpenError } = require('../shared/errors');
const { checkObject } = require('../shared/option-names');
const { Queue } = require('../shared/queue');
const { nextTick, setImmediate } = require('../shared/ticks');
const { endOfPairs } = require('../shared/utf8');
const { settled, whenBelow } = require('./drained');
const { checkSignal, onceOf } = require('./once-of');
const { peerOf, wayOutOf } = require('./peer');

/**
 * The source is asked for the next chunk when fewer bytes than this wait in the socket, or than its
 * `writableHighWaterMark` if that is more. A turn of the event loop sends as many.
 */
const HIGH_WATER_MARK = 64 * 1024;
/** How many bytes a chunk counts for in a turn, beside its own. */
const CHUNK_COST = 64;
const INTERNAL_ERROR = 1011;
const OPEN = 1;

/** The SendTurns of each connection that has sent a stream. */
const turns = new WeakMap();

/**
 * The order of messages on a connection that sends a stream: RFC 6455 section 5.4 allows no other
 * message between fragments, so that calls of `send`, and other streams, wait for its end.
 */
class SendTurns {
	/** @param {import('./peer').WayOut} wayOut */
	constructor(wayOut) {
		this._wayOut = wayOut;
		this._isTaken = false;
		/** Calls of `send`, and functions that begin the turn of a stream. */
		this._waiting = new Queue();
		this._sendsOwn = false;
	}

	/** @returns {Promise<void>} resolved in the stream's turn */
	take(signal) {
		if (!this._isTaken) {
			this._isTaken = true;
			this._wayOut.redirectSends((...call) => this._redirected(call));
			return Promise.resolve();
		}
		return new Promise((resolve, reject) => {
			const waiting = { begin: resolve, fail: reject };
			this._waiting.push(waiting);
			if (signal === undefined) return;
			const withdraw = onceOf(signal, 'abort', () => {
				waiting.begin = null;
				waiting.fail(signal.reason);
			});
			const settle = (act) => (value) => {
				withdraw();
				act(value);
			};
			Object.assign(waiting, { begin: settle(resolve), fail: settle(reject) });
		});
	}

	/** Sends a fragment of the stream whose turn it is. */
	send(peer, ...call) {
		this._sendsOwn = true;
		try {
			peer.send(...call);
		} finally {
			this._sendsOwn = false;
		}
	}

	/** Ends a turn: the calls that waited are made, up to the next stream. */
	end() {
		let next = this._waiting.shift();
		for (; next !== null; next = this._waiting.shift()) {
			if (next.call !== undefined) {
				this._wayOut.heldBytes -= next.size;
				this._sendNow(next);
			} else if (next.begin !== null) {
				next.begin();
				return;
			}
		}
		this._isTaken = false;
		this._wayOut.redirectSends(null);
	}

	/**
	 * Makes a call that waited. Its error is its caller's: memory may have been transferred
	 * meanwhile.
	 */
	_sendNow({ call, size }) {
		try {
			if (sizeOf(call[0]) < size) throw goneError();
			this._wayOut.sendHeld(call);
		} catch (error) {
			nextTick(() => {
				if (typeof call[2] !== 'function') throw error;
				call[2](error);
			});
		}
	}

	/** Fails the calls and streams that wait: the connection closes in the middle of a message. */
	fail(error) {
		for (let next = this._waiting.shift(); next !== null; next = this._waiting.shift()) {
			const { call, size, fail } = next;
			if (call === undefined) {
				fail(error);
			} else {
				this._wayOut.heldBytes -= size;
				const callback = call[2];
				if (typeof callback === 'function') nextTick(callback, error);
			}
		}
	}

	_redirected(call) {
		if (this._sendsOwn) {
			this._wayOut.sendHeld(call);
			return;
		}
		const size = this._wayOut.holdCall(call);
		this._wayOut.heldBytes += size;
		this._waiting.push({ call, size });
	}
}

/** Turns the chunks of a source into the payloads of frames. */
class Fragments {
	constructor(binary) {
		this.isBinary = binary;
		// The first half of a character whose second half begins the next string.
		this._rest = '';
	}

	next(chunk) {
		if (typeof chunk !== 'string') return this._toBytes(chunk);
		this.isBinary ??= false;
		const text = this._rest + chunk;
		const end = endOfPairs(text);
		this._rest = text.slice(end);
		const whole = text.slice(0, end);
		return this.isBinary ? Buffer.from(whole) : whole;
	}

	last() {
		this.isBinary ??= true;
		return this._rest;
	}

	_toBytes(chunk) {
		const bytes = toBytes('chunk', chunk);
		this.isBinary ??= true;
		const rest = this._rest;
		this._rest = '';
		return rest === '' ? bytes : Buffer.concat([Buffer.from(rest), bytes]);
	}
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** See index.d.ts. */
async function sendStream(connection, source, options = {}) {
	const peer = peerOf(connection);
	const { binary, compress, signal } = checkObject(options);
	const iterator = iteratorOf(source);
	let turn = null;
	let isBegun = false;
	try {
		checkSignal(signal);
		signal?.throwIfAborted();
		turn = await takeTurn(peer, signal);
		const fragments = new Fragments(binary);
		const optionsOf = (fin) => ({ binary: fragments.isBinary, fin, ...(compress === undefined ? {} : { compress }) });
		let ofTurn = 0;
		for (;;) {
			// A source that never waits would stop the event loop while the socket takes everything.
			if (ofTurn >= HIGH_WATER_MARK) {
				await settled(peer, signal, nextTurn);
				ofTurn = 0;
			}
			await whenBelow(peer, ({ queuedAmount }) => queuedAmount, HIGH_WATER_MARK, signal);
			const { value, done } = await settled(peer, signal, () => pull(iterator));
			if (peer.readyState !== OPEN) throw notOpenError();
			if (done) break;
			const data = fragments.next(value);
			ofTurn += data.length + CHUNK_COST;
			if (data.length === 0) continue;
			turn.send(peer, data, optionsOf(false));
			isBegun = true;
		}
		const data = fragments.last();
		const sent = new Promise((resolve, reject) => {
			const { socket } = wayOutOf(peer);
			// A write that a reset has cut is called back without an error.
			const settle = (error) => (error || socket.destroyed ? reject(error ?? notOpenError()) : resolve());
			turn.send(peer, data, optionsOf(true), settle);
		});
		turn.end();
		turn = null;
		await settled(peer, signal, () => sent);
	} catch (error) {
		leave(source, iterator);
		if (turn !== null) {
			// A fragmented message can't be taken back (RFC 6455 section 5.4).
			if (isBegun && peer.readyState === OPEN) peer.close(INTERNAL_ERROR);
			if (peer.readyState !== OPEN) turn.fail(error);
			turn.end();
		}
		throw error;
	}
}

/** @returns {Promise<SendTurns>} when the messages before it have been sent */
async function takeTurn(peer, signal) {
	const wayOut = peer.readyState === OPEN ? wayOutOf(peer) : null;
	if (wayOut === null) throw notOpenError();
	let turn = turns.get(wayOut);
	if (turn === undefined) {
		turn = new SendTurns(wayOut);
		turns.set(wayOut, turn);
	}
	await turn.take(signal);
	if (!wayOut.isFragmenting) return turn;
	turn.end();
	throw invalidState('A message has been begun by send() with the option fin: false');
}

function iteratorOf(source) {
	// The iterator of a ReadableStream could not be left while it waits for a chunk.
	if (typeof source?.getReader === 'function') {
		const reader = source.getReader();
		return { next: () => reader.read(), return: () => reader.cancel() };
	}
	const iterate =
		typeof source === 'string' ? undefined : (source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator]);
	if (typeof iterate !== 'function') throw invalidType('source', 'a stream or an iterable of chunks', source);
	// The iterator of a Readable listens from the first chunk on, and throws an earlier error then.
	if (typeof source.destroy === 'function') source.on?.('error', () => {});
	return iterate.call(source);
}

async function pull(iterator) {
	const { value, done } = await iterator.next();
	return { value: await value, done };
}

/** Ends the source, and ignores its errors. */
async function leave(source, iterator) {
	try {
		// The iterator of a Readable could not be left while it waits for a chunk.
		if (typeof source.destroy === 'function') source.destroy();
		else await iterator.return?.();
	} catch {}
}

module.exports = { sendStream };
