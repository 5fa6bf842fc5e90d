'use strict';

const { constants, isUtf8 } = require('../shared/node-modules').buffer;

const { Buffer, FastBuffer, isUint8Array, view } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');
const { showPublicState } = require('../shared/inspect');
const { advanceKey } = require('../masking/fallback');
const { traceError, traceFrame, traceMessage, isTraced } = require('../tracing');
const { codecBackend, copyUnmasked } = require('./backend');
const { BATCH, ENTRY, endOfBatch, frameTables } = require('./frame-table');
const { header, readHeader } = require('./header');
const { findCloseFault, findFault, textFault } = require('./message-rules');
const { checkOptions, readBoolean, readChoice, readHandler, readLimit, readString } = require('./options');
const { PartialFrame } = require('./partial-frame');
const { PartialMessage, isText } = require('./partial-message');
const { decodeText } = require('./utf8');
const { FIN, LENGTH, MODE_MASKED, MODE_RSV1, NO_STATUS, OPCODE, Opcode, RSV1 } = require('../shared/protocol');

const TEXT_MESSAGE = FIN | Opcode.TEXT;
const BINARY_MESSAGE = FIN | Opcode.BINARY;

// States.
const RUNNING = 0;
const PAUSED = 1;
const ENDED = 2;

/** The bytes that must follow the first frame of a chunk to be worth a scan. */
const SCAN_FROM = 8;

/**
 * RFC 6455 from bytes to messages. index.d.ts documents the options and handlers.
 *
 * The way of a chunk: `write` queues it, `_decode` finds the frames in it, `_decodeFrames` those that lie in it as a whole,
 * `_resumeHeader` and `_resumePayload` the one that a chunk's end cut (lib/codec/partial-frame.js). `_refuse` judges each
 * frame, `_deliverFrame` gives it to `onFrame`, and `_useFrame` to the other handlers, or to the message that it is a part
 * of (lib/codec/partial-message.js).
 *
 * In the private methods, `bytes[start]` to `bytes[end - 1]` is a payload, and `ascii` says that it is known to be ASCII.
 * Every step moves `_position` past the bytes it uses before it calls a handler, so a handler that throws, pauses, stops
 * or writes leaves the decoder consistent.
 */
class Decoder {
  /**
   * @param {import('../..').DecoderOptions} options
   * @throws {TypeError | RangeError} if an option is not acceptable
   */
  constructor(options) {
    const masked = readChoice(checkOptions(options, 'Decoder'), 'role', ['server', 'client']) === 'server';
    this._mode = (masked ? MODE_MASKED : 0) | (readBoolean(options, 'rsv1', false) ? MODE_RSV1 : 0);
    this._onMessage = readHandler(options, 'onMessage');
    this._onPing = readHandler(options, 'onPing');
    this._onPong = readHandler(options, 'onPong');
    this._onClose = readHandler(options, 'onClose');
    this._onError = readHandler(options, 'onError');
    this._onFrame = readHandler(options, 'onFrame');
    this._connectionId = readString(options, 'connectionId');
    /** What the option `context` gave, for handlers: their `this` is the decoder. */
    this.context = options.context;
    this._strings = readChoice(options, 'text', ['string', 'buffer'], 'string') === 'string';
    this._maxPayload = readLimit(options, 'maxPayload', 0, 100 * 1024 * 1024);
    this._maxString = Math.min(this._maxPayload, constants.MAX_STRING_LENGTH);
    this._maxFragments = readLimit(options, 'maxFragments', 1, 128 * 1024);

    this._state = RUNNING;
    this._busy = false;
    // For tracing: whether there are subscribers, and the number of frames so far.
    this._traced = false;
    this._sequence = 0;
    // The current chunk, how far it is decoded, the entries of a scan that are not delivered yet, and the chunks behind it.
    this._chunk = null;
    this._position = 0;
    this._scanned = null;
    this._queue = null;
    this._frame = null;
    this._message = null;
  }

  /** The end of the connection that the decoder is at: 'server' or 'client'. */
  get role() {
    return (this._mode & MODE_MASKED) !== 0 ? 'server' : 'client';
  }

  /** Whether a Close frame or an error came, or `stop` was called: what follows is ignored. */
  get closed() {
    return this._state === ENDED;
  }

  /** Whether `pause` was called, and `resume` was not called since. */
  get paused() {
    return this._state === PAUSED;
  }

  /**
   * Decodes bytes of the connection and calls the handlers. The chunk belongs to the decoder from then on: payloads are
   * unmasked in place, and delivered Buffers are views of the chunk.
   *
   * If a handler throws, `write` throws; the next `write` or `resume` delivers what follows.
   *
   * @param {Uint8Array} chunk
   * @returns {boolean} false while the decoder is paused: the connection should not be read until it is resumed
   * @throws {TypeError} if the chunk is not a Buffer or Uint8Array
   * @throws {FrameError} if the peer broke the protocol and there is no `onError`
   */
  write(chunk) {
    if (!isUint8Array(chunk)) throw invalidType('chunk', 'a Buffer or Uint8Array', chunk);
    if (this._state === ENDED) return true;
    const bytes = typeof chunk.latin1Slice === 'function' ? chunk : view(chunk, 0, chunk.length);
    if (this._chunk === null) {
      this._chunk = bytes;
      this._position = 0;
    } else {
      this._queue ??= [];
      this._queue.push(bytes);
    }
    this._run();
    return this._state !== PAUSED;
  }

  /** Stops delivery until `resume`, in the middle of a chunk too. */
  pause() {
    if (this._state === RUNNING) this._state = PAUSED;
  }

  /** Delivers what was held back by `pause` or by a handler that threw, and goes on. */
  resume() {
    if (this._state === PAUSED) this._state = RUNNING;
    this._run();
  }

  /** Ignores all that follows, the rest of the current chunk included, and releases the memory. */
  stop() {
    this._state = ENDED;
    this._chunk = null;
    this._scanned = null;
    this._queue = null;
    this._frame = null;
    this._message = null;
  }

  /** Decodes the current chunk and those behind it, until there are none or a handler pauses or stops. */
  _run() {
    // `write` or `resume` in a handler: the loop below goes on with what they changed.
    if (this._busy) return;
    this._busy = true;
    this._traced = isTraced();
    try {
      while (this._chunk !== null && this._state === RUNNING) {
        this._decode(this._chunk);
        // A chunk is shorter than `_position` if a handler has transferred its memory.
        if (this._state !== ENDED && this._scanned === null && this._position >= this._chunk.length) this._nextChunk();
      }
    } finally {
      this._busy = false;
    }
  }

  _nextChunk() {
    this._chunk = null;
    this._position = 0;
    if (this._queue === null) return;
    this._chunk = this._queue.shift();
    if (this._queue.length === 0) this._queue = null;
  }

  /** @param {Buffer} chunk */
  _decode(chunk) {
    if (this._scanned !== null) this._deliverScanned(chunk, this._scanned, this._scanned.length);
    while (this._state === RUNNING && this._position < chunk.length) {
      if (this._frame === null) this._decodeFrames(chunk);
      else if (this._frame.header !== null) this._resumeHeader(chunk, this._frame);
      else this._resumePayload(chunk, this._frame);
    }
  }

  /** Decodes the frames at `_position`: all that a scan finds, or the first, as far as the chunk has it. */
  _decodeFrames(chunk) {
    const start = this._position;
    const mode = this._mode;
    // Most chunks hold one small frame. A scan for one frame would take 2 to 2.8 times as long.
    const end = start + 2 + (chunk[start + 1] & LENGTH) + (mode & MODE_MASKED ? 4 : 0);
    if (chunk.length - end >= SCAN_FROM && this._scan(chunk)) return;

    if (!readHeader(chunk, start, chunk.length, mode)) {
      this._keepHeader(chunk);
      return;
    }
    const { firstByte, length, key, size } = header;
    const payload = start + size;
    this._position = payload;
    if (length > chunk.length - payload) {
      this._beginPartial(chunk, new PartialFrame());
      return;
    }
    this._position = payload + length;
    this._sequence++;
    if (this._refuse(firstByte, length)) return;
    let ascii = false;
    if ((mode & MODE_MASKED) !== 0) {
      if (firstByte === TEXT_MESSAGE && this._strings && this._onFrame === undefined && !this._traced) {
        // One call that unmasks and makes the string. Without it such a message takes 1.8 times as long.
        const text = this._backend.unmaskText(chunk, payload, length, key);
        if (text !== undefined) {
          this._onMessage?.(text, false, false);
          return;
        }
      } else {
        ascii = this._backend.unmaskRange(chunk, payload, length, key);
      }
    }
    this._deliverFrame(firstByte, chunk, payload, payload + length, ascii, false);
  }

  /**
   * Finds the frames that lie in the chunk as a whole, in one call of the addon, and delivers them.
   *
   * @returns {boolean} whether there was one
   */
  _scan(chunk) {
    const table = frameTables.acquire();
    try {
      const count = this._backend.scan(chunk, this._position, this._mode, table);
      if (count === 0) return false;
      this._position = table[count * ENTRY - 1];
      this._deliverScanned(chunk, table, count * ENTRY);
      return true;
    } finally {
      frameTables.release(table);
    }
  }

  /** Delivers the frames that a scan found. Entries that a handler leaves undelivered are kept in `_scanned`. */
  _deliverScanned(chunk, table, end) {
    const memory = chunk.buffer;
    const base = chunk.byteOffset;
    // Branches for those who have only onMessage, or only onFrame: 13 to 19 % of the time of small messages.
    const framesOnly = !this._traced && this._onMessage === undefined && this._onFrame !== undefined;
    const messagesOnly = !this._traced && this._onMessage !== undefined && this._onFrame === undefined;
    const batched = messagesOnly && this._strings;
    const maxLength = this._maxLength(this._strings);
    let batch = '';
    let batchStart = 0;
    let batchEnd = 0;
    let i = 0;
    try {
      while (i < end && this._state === RUNNING) {
        // The first byte, and NON_ASCII.
        const flags = table[i];
        const start = table[i + 1];
        const stop = table[i + 2];
        const entry = i;
        i += ENTRY;
        // Nearly all frames are a whole message, binary or ASCII, which breaks no further rule.
        const plain =
          (flags === TEXT_MESSAGE || flags === BINARY_MESSAGE) && this._message === null && stop - start <= maxLength;
        if (batched && plain && flags === TEXT_MESSAGE && stop - start <= BATCH) {
          if (stop > batchEnd) {
            batchStart = start;
            batchEnd = endOfBatch(table, entry, end);
            batch = chunk.latin1Slice(batchStart, batchEnd);
          }
          this._onMessage(batch.substring(start - batchStart, stop - batchStart), false, false);
        } else if (messagesOnly && plain && (flags === BINARY_MESSAGE || !this._strings)) {
          this._onMessage(new FastBuffer(memory, base + start, stop - start), flags === BINARY_MESSAGE, false);
        } else if (framesOnly && plain) {
          this._onFrame(flags, chunk, start, stop);
        } else {
          const firstByte = flags & 0xff;
          if (this._traced) this._sequence++;
          if (plain || !this._refuse(firstByte, stop - start)) {
            this._deliverFrame(firstByte, chunk, start, stop, flags === firstByte, false);
          }
        }
      }
    } finally {
      if (!this._traced) this._sequence += i / ENTRY;
      this._scanned = i < end && this._state !== ENDED ? table.slice(i, end) : null;
    }
  }

  /** Keeps a header that the end of the chunk cuts. */
  _keepHeader(chunk) {
    if (header.error !== null) {
      this._failHeader();
      return;
    }
    this._frame = new PartialFrame();
    this._frame.addToHeader(chunk, this._position);
    this._position = chunk.length;
  }

  /** Continues a header that the end of a chunk cut. */
  _resumeHeader(chunk, frame) {
    const had = frame.headerLength;
    frame.addToHeader(chunk, this._position);
    if (readHeader(frame.header, 0, frame.headerLength, this._mode)) {
      this._position += header.size - had;
      frame.header = null;
      this._beginPartial(chunk, frame);
    } else if (header.error !== null) {
      this._failHeader();
    } else {
      this._position = chunk.length;
    }
  }

  /** Ends the decoding because of the header just read. */
  _failHeader() {
    this._sequence++;
    this._fail(header.error);
  }

  /** Begins the payload of a frame whose header has just been read, and which the chunk does not have as a whole. */
  _beginPartial(chunk, frame) {
    const { firstByte, length, key } = header;
    this._sequence++;
    if (this._refuse(firstByte, length)) return;
    frame.firstByte = firstByte;
    frame.left = length;
    frame.key = this._mode & MODE_MASKED ? key : 0;
    this._frame = frame;
    if ((firstByte & OPCODE) >= Opcode.CLOSE) frame.payload = Buffer.allocUnsafeSlow(length);
    else this._beginFragment(firstByte);
    if (length === 0) this._resumePayload(chunk, frame);
  }

  /** Adds what the chunk has of a payload to the frame or its message, unmasked while it is copied. */
  _resumePayload(chunk, frame) {
    const start = this._position;
    const length = Math.min(frame.left, chunk.length - start);
    this._position += length;
    frame.left -= length;
    if (frame.payload !== null) {
      copyUnmasked(this._backend, chunk, start, frame.payload, frame.length, length, frame.key);
      frame.length += length;
    } else {
      this._message.appendMasked(this._backend, chunk, start, length, frame);
    }
    frame.key = advanceKey(frame.key, length) | 0;
    if (frame.left === 0) this._endPartial(frame);
    else if (frame.payload === null && !this._message.validate(false)) this._fail(textFault());
  }

  /** Delivers a frame whose payload has arrived in pieces. */
  _endPartial({ firstByte, payload }) {
    this._frame = null;
    if (payload !== null) {
      this._deliverFrame(firstByte, payload, 0, payload.length, false, false);
    } else {
      const message = this._message;
      this._deliverFrame(firstByte, message.buffer, message.frameStart, message.length, false, true);
    }
  }

  /**
   * Judges a frame by its place in its message and by its length, before anything of it is kept.
   *
   * @returns {boolean} whether it was refused, and the decoder has ended
   */
  _refuse(firstByte, length) {
    const message = this._message;
    // A message of one frame, as most are, breaks none of the rules if it is short enough.
    if (message === null && (firstByte & OPCODE) !== Opcode.CONTINUATION && length <= this._maxString) return false;
    if ((firstByte & OPCODE) >= Opcode.CLOSE) return false;
    const maxLength = this._maxLength(message === null ? this._strings && isText(firstByte) : message.isString);
    const error = findFault(message, firstByte, length, maxLength, this._maxFragments);
    if (error === null) return false;
    this._fail(error);
    return true;
  }

  /**
   * @param {boolean} isString whether the message is delivered as a string
   * @returns {number} the most bytes that it can have
   */
  _maxLength(isString) {
    return isString ? this._maxString : this._maxPayload;
  }

  /**
   * Ends the decoding, and reports why.
   *
   * @param {import('../shared/errors').FrameError} error
   */
  _fail(error) {
    this.stop();
    if (this._traced) traceError(this, error);
    if (this._onError === undefined) throw error;
    this._onError(error);
  }

  /** Delivers a frame that is complete. */
  _deliverFrame(firstByte, bytes, start, end, ascii, gathered) {
    if (this._traced) traceFrame(this, firstByte, end - start);
    if (this._onFrame === undefined) {
      this._useFrame(firstByte, bytes, start, end, ascii, gathered);
      return;
    }
    // The message is delivered even if onFrame throws: nothing is lost.
    try {
      this._onFrame(firstByte, bytes, start, end);
    } finally {
      if (this._state !== ENDED) this._useFrame(firstByte, bytes, start, end, ascii, gathered);
    }
  }

  /** Delivers what a frame carries, or adds it to its message. */
  _useFrame(firstByte, bytes, start, end, ascii, gathered) {
    if ((firstByte & OPCODE) >= Opcode.CLOSE) {
      this._deliverControl(firstByte & OPCODE, view(bytes, start, end));
    } else if (gathered) {
      this._endFragment(firstByte);
    } else if ((firstByte & FIN) !== 0 && this._message === null) {
      if (isText(firstByte)) this._deliverText(firstByte, bytes, start, end, ascii);
      else this._deliverBytes(firstByte, bytes, start, end, 1);
    } else {
      this._addFragment(firstByte, bytes, start, end, ascii);
    }
  }

  /** Adds a data frame that lies in a chunk to its message. */
  _addFragment(firstByte, bytes, start, end, ascii) {
    this._beginFragment(firstByte).append(bytes, start, end, (firstByte & FIN) !== 0, ascii);
    this._endFragment(firstByte);
  }

  /**
   * Begins a data frame whose payload is added to its message.
   *
   * @returns {PartialMessage}
   */
  _beginFragment(firstByte) {
    this._message ??= new PartialMessage(firstByte, this._maxPayload, this._strings);
    this._message.beginFrame();
    return this._message;
  }

  /** Ends a data frame whose payload is in its message, and delivers the message if it was the last. */
  _endFragment(firstByte) {
    const message = this._message;
    const last = (firstByte & FIN) !== 0;
    if (!message.validate(last)) {
      this._fail(textFault());
      return;
    }
    if (!last) return;
    this._message = null;
    const { firstByte: kind, length, fragments } = message;
    if (message.isString) this._deliverString(kind, message.decode(), length, fragments);
    else this._deliverBytes(kind, message.buffer, 0, length, fragments);
  }

  /** Delivers a text message that is one frame and lies in a chunk. */
  _deliverText(firstByte, chunk, start, end, ascii) {
    const text = this._strings ? decodeText(chunk, start, end, ascii) : undefined;
    if (text !== undefined) this._deliverString(firstByte, text, end - start, 1);
    else if (!this._strings && (ascii || isUtf8(view(chunk, start, end)))) {
      this._deliverBytes(firstByte, chunk, start, end, 1);
    } else this._fail(textFault());
  }

  /** Delivers a message as a string. */
  _deliverString(firstByte, text, length, fragments) {
    if (this._traced) traceMessage(this, firstByte, length, fragments);
    this._onMessage?.(text, false, false);
  }

  _deliverBytes(firstByte, bytes, start, end, fragments) {
    if (this._traced) traceMessage(this, firstByte, end - start, fragments);
    if (this._onMessage === undefined) return;
    this._onMessage(view(bytes, start, end), (firstByte & OPCODE) === Opcode.BINARY, (firstByte & RSV1) !== 0);
  }

  _deliverControl(opcode, payload) {
    if (opcode === Opcode.CLOSE) this._deliverClose(payload);
    else if (opcode === Opcode.PING) this._onPing?.(payload);
    else this._onPong?.(payload);
  }

  /** @param {Buffer} payload of a Close frame */
  _deliverClose(payload) {
    const error = findCloseFault(payload);
    if (error !== null) {
      this._fail(error);
      return;
    }
    // "After sending a control frame indicating the connection should be closed, a peer does not send any further data;
    // ... any further data received" is discarded (RFC 6455 section 1.4).
    this.stop();
    const code = payload.length === 0 ? NO_STATUS : payload.readUInt16BE(0);
    this._onClose?.(code, payload.utf8Slice(2, payload.length));
  }
}

showPublicState(Decoder, ['role', 'closed', 'paused']);

// On the prototype, because all decoders share them; a test makes a subclass for another backend.
Decoder.prototype._backend = codecBackend;
Decoder.prototype._direction = 'received';

module.exports = { Decoder };
