'use strict';

const { Buffer } = require('../shared/buffers');
const { throwLater } = require('../shared/call-in-order');
const { FrameError, backpressureError, invalidType, notOpenError, silenceError } = require('../shared/errors');
const { keepContext } = require('../shared/keep-context');
const { log } = require('../shared/log');
const { NO_STATUS } = require('../shared/protocol');
const { isOver, watchDestroy } = require('../shared/stream-state');
const { nextTick } = require('../shared/ticks');
const { callInTurn } = require('../shared/turn');
const { traceClose, traceOpen } = require('../tracing');
const { Closing, END, SEND_CLOSE } = require('./closing');
const { decoderOptions } = require('./decoder-options');
const { ASK, GIVE_UP, Heartbeat, joinClock, leaveClock } = require('../sockets/heartbeat');
const { Outgoing } = require('../sockets/outgoing');
const { BY_PROGRAM, BY_READER, Input } = require('./input');
const { Output } = require('./output');

/** Where a stream keeps its Endpoint. */
const kEndpoint = Symbol('endpoint');

/**
 * While so many bytes wait for a peer that does not read, one read of its messages at a time is
 * answered.
 */
const HOLD_FROM = 64 * 1024;
/** As uWebSockets in Bun: a slow reader may leave so many bytes. */
const MAX_BACKPRESSURE = 16 * 1024 * 1024;
/** So many Pings of a read are answered, and the last one: a read of 64 KiB may have 10,000. */
const MAX_PONGS = 64;

/**
 * A Connection within: its Input decodes, its Output encodes, and Closing says how it ends.
 * Handlers of the program run between steps; if one throws, nothing here changes.
 */
class Endpoint {
	constructor(connection, socket, role, settings, deflate, trace) {
		this.connection = connection;
		this.socket = socket;
		this.settings = settings;
		this.closing = new Closing(role);
		const onDeflated = deflate === null ? undefined : () => this._onDeflated();
		this._outgoing = new Outgoing(socket, this);
		this.output = new Output(socket, this._outgoing, role, deflate, trace, onDeflated);
		this.input = new Input(socket, onSocketData, decoderOptions(this, role, deflate, trace));
		this.trace = trace;
		// A client's program decides itself how much waits for the server that it has chosen.
		this._maxBackpressure = settings.maxBackpressure ?? (role === 'server' ? MAX_BACKPRESSURE : Infinity);
		/** What is counted for `framemask:close`; null if nobody listened at first. */
		this.counts = null;
		/** Whether a step has called a handler that may have answered. */
		this.hasHeard = false;
		this._heartbeat = null;
		this._closeTimer = null;
	}

	/** Listens to the stream. */
	start(isPaused) {
		const { socket, settings } = this;
		if (isPaused) this.input.pause(BY_PROGRAM);
		listenTo(socket, this);
		// Such as during a login.
		if (!isPaused && socket.isPaused?.()) socket.resume();
		if (isOver(socket)) {
			this.closing.lose();
			// What has come before a loss is delivered.
			nextTick(socket.destroyed ? lose : terminate, this);
		}
		if (settings.heartbeat !== 0) {
			this._heartbeat = new Heartbeat(socket);
			joinClock(settings.heartbeat, this, onTick);
		}
		this.counts = traceOpen(this.connection, this.trace);
	}

	/** Whether a frame can be sent. If not, its callback is told. */
	maySend(callback) {
		if (callback !== undefined && typeof callback !== 'function') throw invalidType('callback', 'a function', callback);
		if (this.closing.maySend) {
			const { _maxBackpressure: maxBackpressure } = this;
			if (this.output.bufferedAmount <= maxBackpressure) return true;
			const error = backpressureError(maxBackpressure);
			if (callback !== undefined) nextTick(callback, error);
			this._drop(error);
		} else if (callback !== undefined) {
			nextTick(callback, notOpenError());
		}
		return false;
	}

	/**
	 * Adds a message.
	 *
	 * @returns {boolean} false if the program should wait, or the connection is lost
	 */
	send(data, options, callback) {
		try {
			this.output.send(data, options);
		} catch (error) {
			if (!(error instanceof FrameError)) throw error;
			if (callback !== undefined) nextTick(callback, error);
			this._drop(error);
			return false;
		}
		if (this.counts !== null) this.counts.sent(data, options?.fin ?? true);
		return this.added(callback);
	}

	/** A frame has been added. @returns {boolean} false if the program should wait for `onDrain` */
	added(callback) {
		this.output.added(callback);
		if (this._outgoing.added()) this.flushQueued();
		return !this.output.isFull;
	}

	close(code, reason) {
		if (!this.closing.maySend) return;
		// It comes first, as it throws for a code that must not be sent.
		this._sendClose(code, reason);
		this.follow(this.closing.close() & ~SEND_CLOSE);
		if (!this._outgoing.isReading) this.flushQueued();
	}

	terminate() {
		if (this.closing.isOver) return;
		this.closing.terminate();
		this.flushQueued();
		this.input.discard();
		this.socket.destroy();
		// An end that waits for `resume` need not wait any more.
		nextTick(settle, this);
	}

	pause() {
		if (this.closing.mayRead) this.input.pause(BY_PROGRAM);
	}

	resume() {
		if (!this.input.isPaused) return;
		this.input.resume(BY_PROGRAM);
		nextTick(deliver, this);
	}

	/** The reader of a stream must take what it has before more is delivered. */
	holdForReader() {
		this.input.pause(BY_READER);
	}

	releaseReader() {
		this.input.resume(BY_READER);
		deliver(this);
	}

	_sendClose(code, reason) {
		this.output.encoder.close(code, reason);
		this._sentCode = code ?? NO_STATUS;
		this.peer?.awaitClose();
	}

	/** Takes the steps of Closing; `code` is a Close frame's. The time is limited from now on. */
	follow(steps, code) {
		if ((steps & SEND_CLOSE) !== 0) this._sendClose(code);
		if ((steps & END) !== 0) this._mustEnd = true;
		this._leaveClock();
		this._closeTimer ??= setTimeout(terminate, this.settings.closeTimeout, this);
		if (!this.closing.mayRead) this.input.discard();
	}

	/**
	 * "The endpoint MAY elect to send a Pong frame for only the most recently processed Ping frame"
	 * (RFC 6455 section 5.5.3): one that waits for a peer that does not read is for all that follow.
	 */
	answer(ping) {
		if (!this.settings.autoPong || !this.closing.maySend) return;
		if (this._awaitsLeft || this._pongs === MAX_PONGS) {
			this._lastPing = Buffer.from(ping);
			return;
		}
		this._pongs++;
		this.output.encoder.pong(ping);
		this.added(undefined);
		if (this.output.isFull) this._awaitLeft();
	}

	_answerLast() {
		const ping = this._lastPing;
		this._lastPing = null;
		if (ping !== null) this.answer(ping);
	}

	/** Calls a handler of the program, if there is one. Its error is thrown in the next tick. */
	call(name, ...args) {
		try {
			this.settings[name]?.apply(this.connection, args);
		} catch (error) {
			throwLater(error);
		}
	}

	/** Runs a step in which handlers may be called. Their replies leave in one write. */
	run(step, argument) {
		// A stream in memory may deliver in the midst of a write.
		if (this._outgoing.isReading) {
			step(this, argument);
			return;
		}
		this._outgoing.beginRead();
		try {
			step(this, argument);
		} finally {
			this._outgoing.endRead();
			this.flushQueued();
		}
		this._settle();
	}

	/** After a step: reads on or not, and ends if the time has come. */
	_settle() {
		const { closing, input } = this;
		if (closing.isOver) return;
		input.settle();
		if (this._pongs !== 0) {
			this._pongs = 0;
			if (!this._awaitsLeft) this._answerLast();
		}
		if (this.hasHeard) {
			this.hasHeard = false;
			if (this._isUnread) this._holdPeer();
		}
		if (this._hasEnded && input.isIdle) {
			const steps = closing.endByPeer();
			if (steps !== 0) this.follow(steps);
		}
		if (this._mustEnd && !this.output.isCompressing) {
			this._mustEnd = false;
			this.flushQueued();
			this.socket.end();
		}
		if (this._isGone && input.isIdle) this._finish();
	}

	_finish() {
		const { closing } = this;
		closing.finish();
		clearTimeout(this._closeTimer);
		this._leaveClock();
		this.input.discard();
		this.output.stop();
		const error = this._error ?? this.fault;
		traceClose(this.connection, this.trace, this.counts, this._sentCode, error);
		if (error !== null) noteLoss(error, this.settings.onError !== undefined || this.peer?.hearsErrors === true);
		if (this._error !== null) this.call('onError', this._error);
		this.call('onClose', closing.code, closing.reason);
		this.peer?.finish(closing.code, closing.reason, error);
	}

	/** Sends what has collected, at the end of a turn or before. */
	flushQueued() {
		const { output } = this;
		try {
			output.flush();
		} catch (error) {
			this._drop(error);
		}
	}

	/**
	 * Whether the peer has sent messages, and does not read. A client reads on: if both ends waited
	 * for the other to read, neither would.
	 */
	get _isUnread() {
		const { output } = this;
		return (
			output.isFull && output.bufferedAmount >= HOLD_FROM && this.closing.mayRead && this.connection.role === 'server'
		);
	}

	/** However much the program sends, the peer is heard again when what waits now has left. */
	_holdPeer() {
		this.input.holdPeer();
		this._awaitLeft();
	}

	_awaitLeft() {
		if (this._awaitsLeft) return;
		this._awaitsLeft = true;
		this.output.whenLeft((error) => {
			if (!error) this._noteLeft();
		});
	}

	_noteLeft() {
		this._awaitsLeft = false;
		this._answerLast();
		if (this.input.releasePeer()) nextTick(deliver, this);
	}

	/** The connection can't go on. `onError` gets the error before `onClose`. */
	_drop(error) {
		this._error ??= error;
		this.terminate();
	}

	_leaveClock() {
		if (this._heartbeat === null) return;
		this._heartbeat = null;
		leaveClock(this.settings.heartbeat, this);
	}

	/** Messages have been compressed in the thread pool. */
	_onDeflated() {
		const wasFull = this.output.isFull;
		this.output.noteFramed();
		this.run(noop);
		this.afterWrites(wasFull);
		this.peer?.watchers.callAll();
	}

	/** The stream, or the Encoder, may take more than before. */
	afterWrites(wasFull) {
		if (!wasFull || this.output.isFull) return;
		this._noteLeft();
		if (this.settings.onDrain !== undefined) callInTurn([keepContext(() => this._callDrain())], null);
	}

	/** In a later turn the program may have sent again, or the connection may be over. */
	_callDrain() {
		if (!this.output.isFull && !this.closing.isOver) this.call('onDrain');
	}
}

// Own properties of few:
/** how many Pings of a read have been answered, and the payload of the last that has not been, */
Endpoint.prototype._pongs = 0;
Endpoint.prototype._lastPing = null;
/** whether the end of what waits is awaited: a Pong is among it, or the peer is not heard, */
Endpoint.prototype._awaitsLeft = false;
/** whether the peer's half has ended, whether ours is to end, and whether the stream is closed, */
Endpoint.prototype._hasEnded = false;
Endpoint.prototype._mustEnd = false;
Endpoint.prototype._isGone = false;
/** why the connection is lost, for `onError`, or the rule that the peer has broken, */
Endpoint.prototype._error = null;
Endpoint.prototype.fault = null;
/** the code of the Close frame that has been sent, */
Endpoint.prototype._sentCode = null;
/** the connection as lib/streams knows it, and what takes the messages while a stream is sent. */
/** @type {import('./peer').ConnectionPeer | null} */
Endpoint.prototype.peer = null;
Endpoint.prototype.redirect = null;

let hasWarned = false;

/** Tells of a connection that is lost, if its program does not hear it: once by a warning. */
function noteLoss({ code, message }, isHeard) {
	log('a connection is lost: %s (%s)', message, code);
	if (isHeard || hasWarned || !code?.startsWith('FRAMEMASK_')) return;
	hasWarned = true;
	process.emitWarning(`A connection is lost, and its options lack onError: ${message}`, {
		type: 'FramemaskWarning',
		code: 'FRAMEMASK_WARN_LOST',
		detail: 'See "A connection" in docs/codec.md of the repository. NODE_DEBUG=framemask tells each loss'
	});
}

// Listeners of streams, which all connections share.

function listenTo(stream, endpoint) {
	stream[kEndpoint] = endpoint;
	// An HTTP server's would end a connection that is idle.
	stream.setTimeout?.(0);
	stream.setNoDelay?.(true);
	stream.on('data', onSocketData);
	stream.on('drain', onSocketDrain);
	stream.on('end', onSocketEnd);
	stream.on('error', onSocketError);
	stream.on('close', onSocketClose);
	watchDestroy(stream, () => lose(endpoint));
}

function onSocketData(chunk) {
	this[kEndpoint].run(decode, chunk);
}

function onSocketDrain() {
	const endpoint = this[kEndpoint];
	const wasFull = endpoint.output.isFull;
	endpoint.output.noteDrained();
	endpoint.afterWrites(wasFull);
}

function onSocketEnd() {
	const endpoint = this[kEndpoint];
	endpoint._hasEnded = true;
	endpoint.run(noop);
}

/**
 * Node.js leaves it to a listener to end the stream: after an error of TLS renegotiations, or
 * without `autoDestroy`. Once the connection closes or has failed, the error is not told.
 */
function onSocketError(error) {
	const endpoint = this[kEndpoint];
	if (endpoint.closing.mayRead) endpoint._error ??= error;
	this.destroy();
}

function onSocketClose() {
	lose(this[kEndpoint]);
}

/** The stream is gone, and nothing shared keeps the connection, which may be paused for ever. */
function lose(endpoint) {
	endpoint._isGone = true;
	endpoint._leaveClock();
	endpoint.closing.lose();
	if (endpoint.input.releasePeer()) nextTick(deliver, endpoint);
	endpoint.run(endpoint.closing.mayRead ? decodeRest : noop);
}

const decode = (endpoint, chunk) => endpoint.input.write(chunk);
const decodeRest = (endpoint) => endpoint.input.writeRest();
const decodeHeld = (endpoint) => endpoint.input.deliver();
const settle = (endpoint) => endpoint._settle();
const terminate = (endpoint) => endpoint.terminate();
const noop = () => {};

/** Goes on after `resume`, unless it has been paused again. */
function deliver(endpoint) {
	if (!endpoint.input.mayDeliver) return;
	endpoint.run(decodeHeld);
	endpoint.input.readOn();
}

/** A tick of the heartbeat's clock, which stands still while the program does not read. */
function onTick(endpoint) {
	if (endpoint.input.awaitsProgram) return;
	const due = endpoint._heartbeat.tick();
	if (due === ASK) {
		endpoint.output.encoder.ping();
		endpoint.added(undefined);
	} else if (due === GIVE_UP) {
		endpoint._drop(silenceError());
	}
}

module.exports = { Endpoint };
