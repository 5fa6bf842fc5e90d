'use strict';

const { kTaker } = require('../codec/write-buffer');
const { Buffer } = require('../shared/buffers');
const modules = require('../shared/node-modules');
const { canTake, handleOf, rearm, takeHandle } = require('./lane-handle');
const { MAX_LENGTH } = require('./outbox');

const { AsyncResource } = modules.asyncHooks;
const { getSystemErrorName } = modules.util;

/** How sockets write. A replaced one shall see all writes. */
const { write, _write, _writev } = modules.net.Socket.prototype;

/** The longest time between two attempts to send the last bytes. */
const MAX_DELAY_MS = 64;

/**
 * A socket that is read in rounds. Its handle stays, and asks the lane in place of libuv to start
 * and to stop reading, so that pausing, ending and errors of the socket stay Node.js's.
 */
class Lane {
  /** Must be called while the handle reads, in its context. */
  static open(rounds, socket, receiver) {
    const handle = handleOf(socket);
    if (!canTake(socket)) return;
    const lane = new Lane(rounds, socket, receiver);
    takeHandle(handle, lane);
    if (lane.comeBack()) Object.defineProperty(socket, kTaker, { value: lane, configurable: true });
  }

  constructor(rounds, socket, receiver) {
    this._rounds = rounds;
    this._socket = socket;
    this._handle = handleOf(socket);
    this._receiver = receiver;
    this._resource = null;
    this.slot = -1;
    this._isReading = false;
    this._isHolding = false;
    /** Whether libuv reads the socket. */
    this.isAway = true;
    /** The bytes that were received and sent past the handle. */
    this.bytesRead = 0;
    this.bytesWritten = 0;
    /** Whether the outbox has a reply. */
    this.hasReplies = false;
    /** The bytes that the system did not take, while the handle asks for them. */
    this._rest = null;
    this._isAsked = false;
    /** Whether `sendLast` is at work, and whether libuv reads the socket after that. */
    this._sendsLast = false;
    this._mustGiveBack = false;
  }

  /**
   * Has the rounds read the socket, from a read of libuv's on.
   *
   * @returns {boolean} false if they can't
   */
  comeBack() {
    const slot = this._rounds.enter(this, this._handle.fd);
    if (slot < 0) return false;
    this._handle.readStop();
    this.slot = slot;
    // The context of the handle: a round has the sockets of many.
    this._resource = new AsyncResource('framemask', { requireManualDestroy: true });
    this.isAway = false;
    if (this.start() === 0) return true;
    this.giveBack();
    return false;
  }

  /** @returns {number} 0, or an error of libuv's, as from `readStart` */
  start() {
    const result = this._rounds.watch(this.slot, true);
    this._isReading = result === 0;
    this.changeHold();
    return result;
  }

  stop() {
    this._isReading = false;
    this.changeHold();
    return this._rounds.watch(this.slot, false);
  }

  /** As a handle of libuv, it keeps the loop alive while it reads, unless `unref` was called. */
  changeHold() {
    const holds = this._isReading && this._handle.hasRef();
    if (holds === this._isHolding) return;
    this._isHolding = holds;
    this._rounds.hold(holds);
  }

  /** The socket closes, or libuv reads it again. */
  leave() {
    if (this.isAway) return;
    if (this.hasReplies) this._rounds.outbox.flush();
    this.stop();
    this.isAway = true;
    this._rounds.leave(this.slot);
    this._resource.emitDestroy();
  }

  /** Has libuv read the socket again: it then sees the end, or the error. */
  giveBack() {
    if (this.isAway) return;
    if (this._sendsLast) {
      this._mustGiveBack = true;
      this.stop();
      return;
    }
    this.leave();
    const result = this._handle.reading ? this._handle.readStart() : 0;
    if (result !== 0) this._fail(result, 'read');
  }

  /** Takes an entry of a round: bytes, the end, or an error. */
  receive(start, length) {
    if (this._socket.destroyed) return;
    if (length === 0) this.giveBack();
    else if (length > 0) this._resource.runInAsyncScope(this._receiveBytes, this, start, length);
    else this._resource.runInAsyncScope(this._fail, this, length, 'read');
  }

  /** As Node.js does when a handle has read. */
  _receiveBytes(start, length) {
    const { _socket: socket, _handle: handle } = this;
    this.bytesRead += length;
    rearm(socket);
    if (this._receiver.receive(this._rounds.memory, start, length)) return;
    handle.reading = false;
    if (!socket.destroyed) handle.readStop();
  }

  /**
   * Takes a reply that is sent at the end of the round.
   *
   * @returns {boolean} false if the socket must write it: after other bytes, or if something has been
   *   put in the place of its `write`
   */
  take(bytes) {
    const socket = this._socket;
    const canWait =
      this._rounds.inRound &&
      !this.isAway &&
      socket.writableLength === 0 &&
      socket.writableCorked === 0 &&
      socket.write === write &&
      socket._write === _write &&
      socket._writev === _writev;
    if (!canWait) return false;
    this.hasReplies = true;
    if (!this._rounds.outbox.take(this, bytes)) return false;
    rearm(socket);
    return true;
  }

  /** Takes back bytes that the system did not take: the stream's backpressure begins. */
  takeBack(rest, error) {
    if (error !== 0) this._fail(error, 'write');
    else if (this._isAsked) this._rest = this._rest === null ? rest : Buffer.concat([this._rest, rest]);
    else this._socket.write(rest);
  }

  /** @returns {Buffer | null} the bytes that must go before those that the handle is to write */
  askRest() {
    if (!this.hasReplies) return null;
    this._isAsked = true;
    this._rounds.outbox.flush();
    this._isAsked = false;
    const rest = this._rest;
    this._rest = null;
    return rest;
  }

  /** Sends the last bytes before the end of the stream, which can no longer write them. */
  sendLast(bytes, done, delay = 1) {
    this._sendsLast = true;
    setTimeout(() => {
      if (this.isAway) return;
      const rest = this._sendNow(bytes);
      if (this.isAway) return;
      if (rest !== null) {
        this.sendLast(rest, done, Math.min(delay * 2, MAX_DELAY_MS));
        return;
      }
      this._sendsLast = false;
      done();
      if (this._mustGiveBack) this.giveBack();
    }, delay);
  }

  /** @returns {Buffer | null} the bytes that the system does not take now */
  _sendNow(bytes) {
    for (let at = 0; at < bytes.length && !this.isAway; at += MAX_LENGTH) {
      const end = Math.min(at + MAX_LENGTH, bytes.length);
      this.hasReplies = true;
      this._rounds.outbox.take(this, bytes.subarray(at, end));
      const rest = this.askRest();
      if (rest !== null) return bytes.subarray(end - rest.length);
    }
    return null;
  }

  _fail(errno, syscall) {
    const code = getSystemErrorName(errno);
    this._socket.destroy(Object.assign(new Error(`${syscall} ${code}`), { errno, code, syscall }));
  }
}

module.exports = { Lane };
