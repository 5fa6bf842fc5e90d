'use strict';

const { Decoder } = require('../codec/decoder');
const { TAKEN } = require('../codec/dispatcher');
const { copyOf, view } = require('../shared/buffers');
const { FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { toWsError } = require('./frame-errors');
const { Inflation } = require('./inflation');
const {
  DECODING,
  DEFERRED,
  INFLATING,
  deflateOf,
  emptyBuffer,
  isHeardByWsAlone,
  isServer,
  isWaiting,
  receiverOptions,
  showState
} = require('./internals');
const { toBinaryType } = require('./binary-types');

// Where a connection's Receiver finds what its `_write` and `end` need.
const kWebSocket = Symbol('websocket');
const kOutgoing = Symbol('outgoing');
const kIncoming = Symbol('incoming');
const kBorrows = Symbol('borrows');

/**
 * The way in of a connection. ws writes what it reads to its Receiver, a stream.Writable. That
 * stays, and with it the order of 'error', 'drain', 'finish' and 'close'; only its `_write` gives
 * the chunk to a Decoder.
 *
 * The callback of `_write` is called when the chunk is used up. Compressed messages, and the option
 * `allowSynchronousEvents: false`, pause the decoder until they are done.
 */
class Incoming {
  constructor(websocket, receiver, outgoing) {
    this.websocket = websocket;
    this.receiver = receiver;
    /** What emits messages: the Receiver, as with ws, if it has listeners besides ws's. */
    this.emitter = websocket;
    this._listeners = -1;
    // What ends the connection: an error of the peer's.
    this.error = null;
    /** Whether each event has a turn of its own. */
    this.isDeferred = !receiverOptions(receiver).allowSynchronousEvents;
    this._outgoing = outgoing;
    this._inflation = null;
    this._decoder = this._createDecoder();
    this._callback = null;
  }

  write(chunk, callback) {
    this._callback = callback;
    const listeners = this.receiver.listenerCount('message');
    if (listeners !== this._listeners) this._countListeners(listeners);
    this._enter(decodeChunk, chunk);
  }

  /** Looks who hears messages. Not for each chunk: it makes an array, 30 ns. */
  _countListeners(count) {
    this._listeners = count;
    this.emitter = isHeardByWsAlone(this.receiver) ? this.websocket : this.receiver;
  }

  resume() {
    this._enter(resumeDecoder);
  }

  /** Emits an event in a turn of its own, and goes on then. */
  defer(event, data, isBinary) {
    this._decoder.pause();
    showState(this.receiver, DEFERRED);
    setImmediate(() => this._enter(emitAndResume, [event, data, isBinary]));
  }

  /** Emits a message that was inflated during a pause, and goes on. */
  emitInflated(data, isBinary) {
    this._enter(emitAndResume, ['message', data, isBinary]);
  }

  emitControl(event, payload) {
    const data = payload.length === 0 ? emptyBuffer() : payload;
    if (this.isDeferred) this.defer(event, data);
    else this.receiver.emit(event, data);
  }

  fail(error) {
    this.failNow(error);
    this.settleFailure();
  }

  /** Ends the decoding because of an error, during the decoder's `write` or `resume`. */
  failNow(error) {
    this.error = error;
    this._decoder.stop();
  }

  /** Reports an error outside of them. */
  settleFailure() {
    showState(this.receiver, DECODING);
    this._settle();
  }

  /**
   * Runs what may call listeners: replies are sent together, and a listener that throws loses
   * nothing. Its error is thrown in the next tick, for the Receiver would not recover from an error
   * in its `_write`; then the decoder goes on, unless it waits.
   */
  _enter(action, argument) {
    this._outgoing.beginRead();
    try {
      try {
        action(this, argument);
      } finally {
        // The `write` of a stream of the program's own may throw, too.
        this._outgoing.endRead();
      }
    } catch (error) {
      process.nextTick(throwAndResume, this, error);
      return;
    }
    if (!this._decoder.paused) this._settle();
  }

  _settle() {
    const callback = this._callback;
    this._callback = null;
    callback?.(this.error);
  }

  _createDecoder() {
    const { maxFragments, maxPayload, skipUTF8Validation } = receiverOptions(this.receiver);
    const deflate = deflateOf(this.websocket);
    if (deflate !== undefined) {
      const { decompressor } = this._outgoing;
      this._inflation = new Inflation(this, deflate, decompressor, limitOf(maxPayload), !skipUTF8Validation);
    }
    return new Decoder({
      role: isServer(this.websocket) ? 'server' : 'client',
      text: skipUTF8Validation ? 'unchecked' : 'buffer',
      maxPayload: limitOf(maxPayload),
      maxFragments: limitOf(maxFragments),
      fragmentLengths: true,
      borrowed: this.receiver[kBorrows] === true,
      rsv1: deflate !== undefined,
      trace: this._outgoing.trace,
      context: this,
      onMessage,
      onPing,
      onPong,
      onFrame: deflate === undefined ? undefined : inflateFrame,
      onClose: conclude,
      onError: keepError
    });
  }
}

/** For ws, 0 and less are no limit. */
const limitOf = (option) => (option > 0 ? option : Infinity);

/**
 * Replaces the decoding of a Receiver. Its Incoming is made with the first chunk: until then
 * `binaryType` may change, and an idle connection needs no decoder.
 */
function decodeInstead(websocket, receiver, outgoing) {
  receiver[kWebSocket] = websocket;
  receiver[kOutgoing] = outgoing;
  receiver._write = write;
}

/** Says that the chunks for a Receiver lie in memory that is read into again. */
function borrowChunks(receiver) {
  receiver[kBorrows] = true;
  receiver.write = writeBorrowed;
}

/** A chunk that the stream would keep is copied: behind one whose messages wait to be inflated. */
function writeBorrowed(chunk, ...rest) {
  const own = this.writableLength === 0 ? chunk : copyOf(chunk, 0, chunk.length);
  return Object.getPrototypeOf(this).write.call(this, own, ...rest);
}

function write(chunk, _encoding, callback) {
  this[kIncoming] ??= new Incoming(this[kWebSocket], this, this[kOutgoing]);
  this[kIncoming].write(chunk, callback);
}

/** What waits for the thread pool, or for its turn, goes on by itself. */
function throwAndResume(incoming, error) {
  if (!isWaiting(incoming.receiver)) process.nextTick(() => incoming.resume());
  throw error;
}

const decodeChunk = (incoming, chunk) => incoming._decoder.write(chunk);

function resumeDecoder(incoming) {
  showState(incoming.receiver, DECODING);
  incoming._decoder.resume();
}

function emitAndResume(incoming, [event, data, isBinary]) {
  showState(incoming.receiver, DECODING);
  if (event === 'message') incoming.emitter.emit('message', data, isBinary);
  else incoming.receiver.emit(event, data);
  incoming._decoder.resume();
}

// Handlers of Decoders. `this.context` is the Incoming.

function onMessage(payload, isBinary, isCompressed) {
  const incoming = this.context;
  let data = payload;
  let lengths = this.fragmentLengths;
  if (isCompressed) {
    const message = incoming._inflation.take();
    if (message === null) return;
    ({ data, lengths } = message);
  }
  const { websocket } = incoming;
  if (isBinary && websocket.binaryType !== 'nodebuffer') data = toBinaryType(data, websocket.binaryType, lengths);
  else if (data.length === 0) data = emptyBuffer();
  if (incoming.isDeferred) incoming.defer('message', data, isBinary);
  else incoming.emitter.emit('message', data, isBinary);
}

function onPing(payload) {
  this.context.emitControl('ping', payload);
}

function onPong(payload) {
  this.context.emitControl('pong', payload);
}

/** Inflates each frame when it has come, as ws does. */
function inflateFrame(firstByte, bytes, start, end) {
  const opcode = firstByte & OPCODE;
  if (opcode >= Opcode.CLOSE) return undefined;
  const inflation = this.context._inflation;
  if (opcode !== Opcode.CONTINUATION) inflation.begin(opcode === Opcode.BINARY, (firstByte & RSV1) !== 0);
  if (!inflation.isCompressed) return undefined;
  const payload = view(bytes, start, end);
  const isLast = (firstByte & FIN) !== 0;
  if (!inflation.addNow(payload, isLast)) {
    this.pause();
    showState(this.context.receiver, INFLATING);
    inflation.add(payload, isLast);
  }
  // The Decoder would hold the fragments beside what they are inflated to.
  return isLast && opcode !== Opcode.CONTINUATION ? undefined : TAKEN;
}

function conclude(code, _reason, bytes) {
  const { receiver } = this.context;
  receiver.emit('conclude', code, bytes.length === 0 ? emptyBuffer() : bytes);
  receiver.end();
}

function keepError(error) {
  const incoming = this.context;
  incoming.error = toWsError(error, incoming._inflation !== null);
}

module.exports = { borrowChunks, decodeInstead };
