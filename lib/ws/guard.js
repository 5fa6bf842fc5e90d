'use strict';

const { backpressureError, silenceError } = require('../shared/errors');
const { readTime, readWhole } = require('../shared/option-names');
const { nextTick } = require('../shared/ticks');
const { ASK, GIVE_UP, Heartbeat, joinClock, leaveClock } = require('../sockets/heartbeat');
const { kWayOut } = require('../streams/peer');
const { ws } = require('./internals');
const { connections } = require('./report');

const { OPEN } = ws.WebSocket;

/** @throws {TypeError | RangeError} for a server's options that a Guard can't take */
function readLimits(options) {
	return {
		maxBackpressure: readWhole(options, 'maxBackpressure', 0, Infinity, Infinity),
		heartbeat: readTime(options, 'heartbeat', 0)
	};
}

/** A server's end of a connection that is ended if its peer reads nothing, or is silent. */
class Guard {
	constructor(websocket, socket, { maxBackpressure, heartbeat }) {
		this._websocket = websocket;
		this._maxBackpressure = maxBackpressure;
		this._isOver = false;
		this._socket = socket;
		this._heartbeat = null;
		if (heartbeat === 0) return;
		this._heartbeat = new Heartbeat(socket);
		joinClock(heartbeat, this, onTick);
		socket.once('close', () => leaveClock(heartbeat, this));
	}

	/**
	 * Whether nothing may be sent any more: more bytes wait than are allowed. Then the callback is
	 * told.
	 */
	refuses(waiting, callback) {
		if (waiting <= this._maxBackpressure) return false;
		const error = backpressureError(this._maxBackpressure);
		if (typeof callback === 'function') nextTick(callback, error);
		this._end(error, 'maxBackpressure');
		return true;
	}

	/** In the next tick 'error' is emitted: the program may be in the midst of a broadcast. */
	_end(error, option) {
		if (this._isOver) return;
		this._isOver = true;
		connections.ended[option]++;
		this._websocket[kWayOut].error ??= error;
		nextTick(() => this._websocket.emit('error', error));
		this._websocket.terminate();
	}

	/** A tick of the heartbeat's clock. It stands still while nothing is read, and after the end. */
	tick() {
		if (this._websocket.readyState !== OPEN || this._socket.isPaused()) return;
		const due = this._heartbeat.tick();
		if (due === ASK) this._websocket[kWayOut].ping();
		else if (due === GIVE_UP) this._end(silenceError(), 'heartbeat');
	}
}

/** @returns {Guard | null} null if the server limits nothing */
function createGuard(websocket, socket, options) {
	const limits = readLimits(options);
	return limits.maxBackpressure === Infinity && limits.heartbeat === 0 ? null : new Guard(websocket, socket, limits);
}

const onTick = (guard) => guard.tick();

module.exports = { createGuard, readLimits };
