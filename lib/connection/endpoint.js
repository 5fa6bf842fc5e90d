'use strict';

const { Buffer } = require('../shared/buffers');
const { throwLater } = require('../shared/call-in-order');
const { backpressureError, invalidType, notOpenError, silenceError } = require('../shared/errors');
const { nextTick } = require('../shared/ticks');
const { traceClose, traceOpen } = require('../tracing');
const { beginRead, endRead, flushLater, isExiting, listenForExit } = require('../sockets/flush-queue');
const { Closing, END, SEND_CLOSE } = require('./closing');
const { decoderOptions } = require('./decoder-options');
const { ASK, GIVE_UP, Heartbeat, joinClock, leaveClock } = require('../sockets/heartbeat');
const { BY_BACKPRESSURE, Input } = require('./input');
const { Output } = require('./output');

/** Where a stream keeps its Endpoint. */
const kEndpoint = Symbol('endpoint');

/**
 * From so many bytes on, frames are sent at once: a program that sends until it is to wait must see
 * them.
 */
const SEND_FROM = 16 * 1024;
/**
 * The same in a read, whose replies leave together: more than a read of 64 KiB brings. A write amid
 * a read makes the echo of 64 KiB 13 % slower: the rest of the read leaves the processor's cache.
 */
const SEND_REPLIES_FROM = 128 * 1024;

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
    this.output = new Output(socket, role, deflate, trace, onDeflated);
    this.input = new Input(socket, onSocketData, decoderOptions(this, role, deflate, trace));
    this.trace = trace;
    /** What is counted for `framemask:close`; null if nobody listened at first. */
    this.counts = null;
    this._isReading = false;
    this._isQueued = false;
    this._heartbeat = null;
    this._closeTimer = null;
  }

  /** Listens to the stream. */
  start(isPaused) {
    const { socket, settings } = this;
    if (isPaused) this.input.pause();
    listenForExit();
    listenTo(socket, this);
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
      const { maxBackpressure } = this.settings;
      if (this.output.bufferedAmount <= maxBackpressure) return true;
      const error = backpressureError(maxBackpressure);
      if (callback !== undefined) nextTick(callback, error);
      this._drop(error);
    } else if (callback !== undefined) {
      nextTick(callback, notOpenError());
    }
    return false;
  }

  /** A frame has been added. @returns {boolean} false if the program should wait for `onDrain` */
  added(callback) {
    const { output } = this;
    output.added(callback);
    const { pending } = output.encoder;
    if (pending >= (this._isReading ? SEND_REPLIES_FROM : SEND_FROM) || isExiting()) this._flush();
    else if (!this._isReading && !this._isQueued) {
      this._isQueued = true;
      flushLater(flushQueued, this, pending);
    }
    return !output.isFull;
  }

  close(code, reason) {
    if (!this.closing.maySend) return;
    // It comes first, as it throws for a code that must not be sent.
    this.output.encoder.close(code, reason);
    this.follow(this.closing.close() & ~SEND_CLOSE);
    if (!this._isReading) this._flush();
  }

  terminate() {
    if (this.closing.isOver) return;
    this.closing.terminate();
    this._flush();
    this.input.discard();
    this.socket.destroy();
    // An end that waits for `resume` need not wait any more.
    nextTick(settle, this);
  }

  pause() {
    if (this.closing.mayRead) this.input.pause();
  }

  resume() {
    if (!this.input.isPaused) return;
    this.input.resume();
    nextTick(deliver, this);
  }

  /** Takes the steps of Closing; `code` is a Close frame's. The time is limited from now on. */
  follow(steps, code) {
    if ((steps & SEND_CLOSE) !== 0) this.output.encoder.close(code);
    if ((steps & END) !== 0) this._mustEnd = true;
    this._leaveClock();
    this._closeTimer ??= setTimeout(terminate, this.settings.closeTimeout, this);
    if (!this.closing.mayRead) this.input.discard();
  }

  /**
   * "If an endpoint receives a Ping frame and has not yet sent Pong frame(s) in response to
   * previous Ping frame(s), the endpoint MAY elect to send a Pong frame for only the most recently
   * processed Ping frame" (RFC 6455 section 5.5.3): so a peer that does not read can't fill our
   * memory.
   */
  answer(ping) {
    if (!this.settings.autoPong || !this.closing.maySend) return;
    if (this.output.isFull) {
      this._lastPing = Buffer.from(ping);
    } else {
      this.output.encoder.pong(ping);
      this.added(undefined);
    }
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
    if (this._isReading) {
      step(this, argument);
      return;
    }
    this._isReading = true;
    beginRead(flushQueued, this);
    try {
      step(this, argument);
    } finally {
      this._isReading = false;
      endRead();
      this._flush();
    }
    this._settle();
  }

  /** After a step: reads on or not, and ends if the time has come. */
  _settle() {
    const { closing, input } = this;
    if (closing.isOver) return;
    input.settle();
    if (this._hasEnded && input.isIdle) {
      const steps = closing.endByPeer();
      if (steps !== 0) this.follow(steps);
    }
    if (this._mustEnd && !this.output.isCompressing) {
      this._mustEnd = false;
      this._flush();
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
    traceClose(this.connection, this.trace, this.counts);
    if (this._error !== null) this.call('onError', this._error);
    this.call('onClose', closing.code, closing.reason);
  }

  /** Sends what has collected. */
  _flush() {
    const { output } = this;
    try {
      output.flush();
    } catch (error) {
      this._drop(error);
      return;
    }
    // A client reads on: if both ends waited for the other to read, neither would.
    if (output.isFull && this.closing.mayRead && this.connection.role === 'server') this.input.hold(BY_BACKPRESSURE);
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
    this._afterWrites(wasFull);
  }

  /** The stream, or the Encoder, may take more than before. */
  _afterWrites(wasFull) {
    if (!wasFull || this.output.isFull) return;
    const ping = this._lastPing;
    this._lastPing = null;
    if (ping !== null) this.answer(ping);
    this.input.release(BY_BACKPRESSURE);
    this.call('onDrain');
  }
}

// Own properties of few:
/** the payload of the last Ping frame that could not be answered yet, */
Endpoint.prototype._lastPing = null;
/** whether the peer's half has ended, whether ours is to end, and whether the stream is closed, */
Endpoint.prototype._hasEnded = false;
Endpoint.prototype._mustEnd = false;
Endpoint.prototype._isGone = false;
/** and why the connection is lost, for `onError`. */
Endpoint.prototype._error = null;

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
  // Such as during a login: it emits 'close' no more.
  if (stream.closed) nextTick(() => onSocketClose.call(stream));
}

function onSocketData(chunk) {
  this[kEndpoint].run(decode, chunk);
}

function onSocketDrain() {
  const endpoint = this[kEndpoint];
  const wasFull = endpoint.output.isFull;
  endpoint.output.noteDrained();
  endpoint._afterWrites(wasFull);
}

function onSocketEnd() {
  const endpoint = this[kEndpoint];
  endpoint._hasEnded = true;
  endpoint.run(noop);
}

/** 'close' follows. After the closing handshake, or a failure that has been told, it is no news. */
function onSocketError(error) {
  const endpoint = this[kEndpoint];
  if (endpoint.closing.mayRead) endpoint._error ??= error;
}

function onSocketClose() {
  const endpoint = this[kEndpoint];
  endpoint._isGone = true;
  endpoint.closing.lose();
  endpoint.run(endpoint.closing.mayRead ? decodeRest : noop);
}

const decode = (endpoint, chunk) => endpoint.input.write(chunk);
const decodeRest = (endpoint) => endpoint.input.writeRest();
const decodeHeld = (endpoint) => endpoint.input.deliver();
const settle = (endpoint) => endpoint._settle();
const terminate = (endpoint) => endpoint.terminate();
const noop = () => {};

/** Goes on after `resume`, unless the program has paused again. */
function deliver(endpoint) {
  if (endpoint.input.isPaused) return;
  endpoint.run(decodeHeld);
  endpoint.input.readOn();
}

/** At the end of the turn, or of the process. */
function flushQueued(endpoint) {
  endpoint._isQueued = false;
  endpoint._flush();
}

/** A tick of the heartbeat's clock, which stands still while the program pauses. */
function onTick(endpoint) {
  if (endpoint.input.isPaused) return;
  const due = endpoint._heartbeat.tick();
  if (due === ASK) {
    endpoint.output.encoder.ping();
    endpoint.added(undefined);
  } else if (due === GIVE_UP) {
    endpoint._drop(silenceError());
  }
}

module.exports = { Endpoint };
