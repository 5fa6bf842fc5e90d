'use strict';

const { FastBuffer, copyOf } = require('../shared/buffers');
const modules = require('../shared/node-modules');
const { joinRounds, leaveRounds } = require('./rounds');

/**
 * Long reads cost more in rounds than by themselves (1.2 times with 50 × 1 KiB), so that a socket
 * with so many more long than short ones leaves, and comes back after as many short ones.
 */
const LONG_READ = 16 * 1024;
const MOSTLY_LONG = 8;

const kBatching = Symbol('batching');

/**
 * When a socket is read in rounds: from its first read on, but while most of its reads are long, and
 * until its listener is removed. TLS, if it takes the socket over, reads past JavaScript.
 */
class Batching {
  /** @param {(socket: object) => boolean} isAlone whether only `listener` would see a chunk */
  constructor(socket, listener, isAlone) {
    this._socket = socket;
    this._listener = listener;
    this._isAlone = isAlone;
    this._hasJoined = false;
    /** Whether the socket is read in rounds, or will be again. */
    this.isActive = true;
    /** How much longer reads prevail since it has joined: 0 to MOSTLY_LONG. */
    this._longReads = 0;
  }

  /** Joins at first, and comes back when short reads prevail. Libuv has read so many bytes. */
  afterRead(length) {
    if (!this.isActive) return;
    if (!this._hasJoined) this._join();
    else if (this._longReads > 0 && this._countRead(length) === 0) this._enter();
  }

  /** Node.js does not emit 'removeListener' for the only listener of a stream. */
  _join() {
    const socket = this._socket;
    this._hasJoined = true;
    removals ??= ['off', 'removeAllListeners', 'removeListener'].map(leaveAfter);
    this.isActive = removals.every(({ name, original }) => socket[name] === original);
    if (!this.isActive) return;
    socket[kBatching] = this;
    for (const { name, value } of removals) {
      Object.defineProperty(socket, name, { value, writable: true, configurable: true });
    }
    this._enter();
  }

  _enter() {
    joinRounds(this._socket, this);
  }

  leaveIfRemoved() {
    if (this._socket.listeners('data').includes(this._listener)) return;
    this.isActive = false;
    leaveRounds(this._socket);
  }

  /** The rounds have received so many bytes. False stops reading. */
  receive(bytes, start, length) {
    const socket = this._socket;
    if (!this._isAlone(socket)) return socket.push(copyOf(bytes, start, start + length));
    this._listener.call(socket, new FastBuffer(bytes.buffer, start, length));
    if (length >= LONG_READ || this._longReads > 0) {
      if (this._countRead(length) === MOSTLY_LONG) leaveRounds(socket);
    }
    return true;
  }

  /** @returns {number} 0 if short reads prevail, MOSTLY_LONG if long ones do */
  _countRead(length) {
    this._longReads = Math.min(this._longReads + (length >= LONG_READ ? 1 : -1), MOSTLY_LONG);
    return this._longReads;
  }
}

/** The methods that remove listeners, and those that are put in front of them. */
let removals = null;

function leaveAfter(name) {
  const original = modules.net.Socket.prototype[name];
  const value = function (...args) {
    const result = original.apply(this, args);
    this[kBatching].leaveIfRemoved();
    return result;
  };
  return { name, original, value };
}

module.exports = { Batching };
