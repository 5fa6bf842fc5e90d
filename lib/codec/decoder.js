'use strict';

const { constants, isUtf8 } = require('../shared/node-modules').buffer;

const { EMPTY, FastBuffer, view } = require('../shared/buffers');
const { FrameError } = require('../shared/errors');
const { ENDED, FrameReader, RUNNING } = require('./frame-reader');
const { giveBack, takeMemory } = require('./message-memory');
const { checkOptions, choice, flag, handler, limit, name } = require('./options');
const protocol = require('../shared/protocol');
const { traceError, traceFrame, traceMessage } = require('../tracing');
const { completeUntil } = require('./utf8');

const { FIN, MODE_MASKED, MODE_RSV1, NO_STATUS, OPCODE, Opcode, RSV1, isSendableCloseCode } = protocol;

/** Short ASCII messages that lie within so many bytes become one string, of which each is a part. */
const BATCH = 1024;

/**
 * RFC 6455 from bytes to messages: chunks of a connection go in as they come, and the handlers are called. index.d.ts
 * says what each option is, README.md shows the ways of use. lib/codec/frame-reader.js has `write`, `pause`, `resume`, `stop`.
 */
class Decoder extends FrameReader {
  /**
   * @param {object} options
   * @throws {TypeError | RangeError} if an option is not acceptable
   */
  constructor(options) {
    const masked = choice(checkOptions(options), 'role', ['server', 'client']) === 'server';
    super((masked ? MODE_MASKED : 0) | (flag(options, 'rsv1', false) ? MODE_RSV1 : 0));
    this._onMessage = handler(options, 'onMessage');
    this._onPing = handler(options, 'onPing');
    this._onPong = handler(options, 'onPong');
    this._onClose = handler(options, 'onClose');
    this._onError = handler(options, 'onError');
    this._onFrame = handler(options, 'onFrame');
    this._connectionId = name(options, 'connectionId');
    /** Whatever the handlers, whose `this` the decoder is, are to find: their connection, say. */
    this.context = options.context;
    this._strings = choice(options, 'text', ['string', 'buffer'], 'string') === 'string';
    if (this._onMessage !== undefined && this._onFrame === undefined) {
      this._binaryFirst = FIN | Opcode.BINARY;
      if (masked && this._strings) this._textFirst = FIN | Opcode.TEXT;
    }
    this._maxPayload = limit(options, 'maxPayload', 0, 100 * 1024 * 1024);
    this._maxFragments = limit(options, 'maxFragments', 1, 128 * 1024);

    // A message that is not all there: the first byte of its first frame (0 if there is none), how many frames, what has
    // been gathered and how much, where in that the frame at hand began, how far the text has been found good, and whether
    // all of it is known to be ASCII.
    this._message = 0;
    this._fragments = 0;
    this._gathered = null;
    this._length = 0;
    this._frameStart = 0;
    this._checked = 0;
    this._ascii = true;
  }

  /** Ignores all that follows, from the chunk at hand on, and lets go of the memory. */
  stop() {
    super.stop();
    this._gathered = null;
  }

  /**
   * Takes the frames that a scan has found. What a handler leaves undelivered stays in `_rows`.
   *
   * @param {Buffer} chunk
   * @param {Uint32Array} rows
   * @param {number} end
   */
  _takeRows(chunk, rows, end) {
    const memory = chunk.buffer;
    const base = chunk.byteOffset;
    const framesOnly = !this._traced && this._onMessage === undefined && this._onFrame !== undefined;
    const messagesOnly = !this._traced && this._onMessage !== undefined && this._onFrame === undefined;
    const batched = messagesOnly && this._strings;
    const most = this._strings ? Math.min(this._maxPayload, constants.MAX_STRING_LENGTH) : this._maxPayload;
    let batch = '';
    let batchStart = 0;
    let batchEnd = 0;
    let i = 0;
    try {
      while (i < end && this._state === RUNNING) {
        const noted = rows[i];
        const from = rows[i + 1];
        const to = rows[i + 2];
        i += 3;
        // Nearly all frames are a whole message, binary or ASCII, of which there is nothing more to judge.
        const plain =
          (noted === (FIN | Opcode.TEXT) || noted === (FIN | Opcode.BINARY)) &&
          this._message === 0 &&
          to - from <= most;
        if (batched && plain && noted === (FIN | Opcode.TEXT) && to - from <= BATCH) {
          if (to > batchEnd) {
            batchStart = from;
            batchEnd = endOfBatch(rows, i, end, from, to);
            batch = chunk.latin1Slice(batchStart, batchEnd);
          }
          this._onMessage(batch.substring(from - batchStart, to - batchStart), false, false);
        } else if (messagesOnly && plain && (noted === (FIN | Opcode.BINARY) || !this._strings)) {
          this._onMessage(new FastBuffer(memory, base + from, to - from), noted === (FIN | Opcode.BINARY), false);
        } else if (framesOnly && plain) {
          this._onFrame(noted, chunk, from, to);
        } else {
          const first = noted & 0xff;
          if (this._traced) this._sequence++;
          if (plain || !this._refuse(first, to - from)) this._takeFrame(first, chunk, from, to, noted === first);
        }
      }
    } finally {
      if (!this._traced) this._sequence += i / 3;
      this._rows = i < end && this._state !== ENDED ? rows.slice(i, end) : null;
    }
  }

  /**
   * Judges a frame's place in its message, and its length, before anything of it is kept.
   *
   * @param {number} first its first byte
   * @param {number} length the length of its payload
   * @returns {boolean} whether it was not acceptable, and the decoder has ended
   */
  _refuse(first, length) {
    const opcode = first & OPCODE;
    if (opcode >= Opcode.CLOSE) return false;
    const message = this._message === 0 ? first : this._message;
    const text = this._strings && (message & (OPCODE | RSV1)) === Opcode.TEXT;
    const most = text ? Math.min(this._maxPayload, constants.MAX_STRING_LENGTH) : this._maxPayload;
    let error = null;
    // "A fragmented message consists of a single frame with the FIN bit clear and an opcode other than 0, followed by
    // zero or more frames with the FIN bit clear and the opcode set to 0, and terminated by a single frame with the FIN
    // bit set and an opcode of 0" (RFC 6455 section 5.4).
    if (this._message === 0 && opcode === Opcode.CONTINUATION) {
      error = new FrameError('CONTINUATION', 1002, 'A continuation frame continues no message');
    } else if (this._message !== 0 && opcode !== Opcode.CONTINUATION) {
      error = new FrameError('INTERLEAVED', 1002, 'A message begins before the fragmented one before it has ended');
    } else if (length > most - this._length) {
      error = new FrameError('MESSAGE_TOO_BIG', 1009, `A message is longer than ${most} bytes`);
    } else if (this._fragments >= this._maxFragments) {
      error = new FrameError('TOO_MANY_FRAGMENTS', 1008, `A message has more than ${this._maxFragments} fragments`);
    }
    if (error === null) return false;
    this._fail(error);
    return true;
  }

  /**
   * Ends the decoding, and tells of it.
   *
   * @param {FrameError} error
   */
  _fail(error) {
    this.stop();
    if (this._traced) traceError(this, error);
    if (this._onError === undefined) throw error;
    this._onError(error);
  }

  /**
   * Takes a frame that is all there.
   *
   * @param {number} first
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   * @param {boolean} ascii whether it is known to be ASCII
   */
  _takeFrame(first, bytes, start, end, ascii) {
    if (this._traced) traceFrame(this, first, end - start);
    if (this._onFrame === undefined) {
      this._useFrame(first, bytes, start, end, ascii);
      return;
    }
    // Whatever onFrame does, the message is delivered: nothing gets lost.
    try {
      this._onFrame(first, bytes, start, end);
    } finally {
      if (this._state !== ENDED) this._useFrame(first, bytes, start, end, ascii);
    }
  }

  /**
   * @param {number} first
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   * @param {boolean} ascii
   */
  _useFrame(first, bytes, start, end, ascii) {
    const opcode = first & OPCODE;
    if (opcode >= Opcode.CLOSE) {
      this._useControl(opcode, view(bytes, start, end));
    } else if ((first & FIN) !== 0 && this._message === 0) {
      this._deliver(first, bytes, start, end, ascii);
    } else {
      this._beginFragment(first);
      this._reserve(end - start, 0, (first & FIN) !== 0);
      bytes.copy(this._target, this._offset, start, end);
      this._noteAscii(end - start, ascii);
      this._useFragment(first);
    }
  }

  /**
   * @param {number} opcode
   * @param {Buffer} payload
   */
  _useControl(opcode, payload) {
    if (opcode === Opcode.CLOSE) this._close(payload);
    else if (opcode === Opcode.PING) this._onPing?.(payload);
    else this._onPong?.(payload);
  }

  /**
   * Begins a data frame whose payload is gathered.
   *
   * @param {number} first
   */
  _beginFragment(first) {
    if (this._message === 0) this._message = first;
    this._fragments++;
    this._frameStart = this._length;
  }

  /**
   * Makes room for a piece of a message, and says where it goes by `_target` and `_offset`.
   *
   * @param {number} length of the piece
   * @param {number} left how much of the frame comes after it
   * @param {boolean} last whether this is the message's last frame
   */
  _reserve(length, left, last) {
    const used = this._length;
    const needed = used + length;
    if (this._gathered === null || this._gathered.length < needed) {
      // Doubling keeps many small fragments cheap.
      const least = last ? 0 : Math.min(used * 2, this._maxPayload);
      const larger = takeMemory(needed, left, least, this._strings && isText(this._message));
      if (used !== 0) this._gathered.copy(larger, 0, 0, used);
      this._gathered = larger;
    }
    this._target = this._gathered;
    this._offset = used;
    this._length = needed;
  }

  /**
   * Spares what the unmasking has found to be ASCII a second look.
   *
   * @param {number} length of the piece that has just been gathered
   * @param {boolean} ascii whether it is known to be ASCII
   */
  _noteAscii(length, ascii) {
    if (!ascii) this._ascii = false;
    else if (this._checked === this._length - length) this._checked = this._length;
  }

  /** Takes the data frame whose payload has been gathered. */
  _endFragment() {
    const first = this._first;
    const bytes = this._gathered ?? EMPTY;
    if (this._traced) traceFrame(this, first, this._length - this._frameStart);
    if (this._onFrame === undefined) {
      this._useFragment(first);
      return;
    }
    try {
      this._onFrame(first, bytes, this._frameStart, this._length);
    } finally {
      if (this._state !== ENDED) this._useFragment(first);
    }
  }

  /**
   * @param {number} first
   */
  _useFragment(first) {
    this._target = null;
    if (!this._checkText() || (first & FIN) === 0) return;
    const message = this._message;
    const bytes = this._gathered ?? EMPTY;
    const length = this._length;
    if (isText(message) && this._checked !== length) {
      this._fail(badText());
      return;
    }
    const { _fragments: fragments, _ascii: ascii } = this;
    this._message = 0;
    this._fragments = 0;
    this._gathered = null;
    this._length = 0;
    this._checked = 0;
    this._ascii = true;
    if (this._traced) traceMessage(this, message, length, fragments);
    if (this._strings && isText(message)) {
      const text = ascii ? bytes.latin1Slice(0, length) : bytes.utf8Slice(0, length);
      giveBack(bytes);
      this._onMessage?.(text, false, false);
    } else {
      this._onMessage?.(view(bytes, 0, length), (message & OPCODE) === Opcode.BINARY, (message & RSV1) !== 0);
    }
  }

  /**
   * Checks the text that has come since the last time.
   *
   * @returns {boolean} whether it can still become good text; if not, the decoder has ended
   */
  _checkText() {
    if (!isText(this._message) || this._checked === this._length) return true;
    this._checked = completeUntil(this._gathered, this._checked, this._length);
    if (this._checked !== -1) return true;
    this._fail(badText());
    return false;
  }

  /**
   * Delivers a message that is one frame, and lies in a chunk.
   *
   * @param {number} first
   * @param {Buffer} chunk
   * @param {number} start
   * @param {number} end
   * @param {boolean} ascii
   */
  _deliver(first, chunk, start, end, ascii) {
    if (!isText(first) || !this._strings) {
      if (isText(first) && !ascii && !isUtf8(view(chunk, start, end))) {
        this._fail(badText());
        return;
      }
      if (this._traced) traceMessage(this, first, end - start, 1);
      if (this._onMessage === undefined) return;
      this._onMessage(view(chunk, start, end), (first & OPCODE) === Opcode.BINARY, (first & RSV1) !== 0);
      return;
    }
    const text = ascii ? chunk.latin1Slice(start, end) : chunk.utf8Slice(start, end);
    // Bad UTF-8 leaves a replacement character, though it may have been one from the start. To look for that is cheaper
    // than to make a view for isUtf8.
    if (!ascii && text.includes('\ufffd') && !isUtf8(view(chunk, start, end))) {
      this._fail(badText());
      return;
    }
    if (this._traced) traceMessage(this, first, end - start, 1);
    this._onMessage?.(text, false, false);
  }

  /**
   * @param {Buffer} payload of a Close frame
   */
  _close(payload) {
    const error = badClose(payload);
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

/**
 * Whether a message must be UTF-8. With RSV1 it is something that an extension has made of text.
 *
 * @param {number} first the first byte of its first frame
 * @returns {boolean}
 */
function isText(first) {
  return (first & (OPCODE | RSV1)) === Opcode.TEXT;
}

/**
 * @param {Uint32Array} rows
 * @param {number} next the row after the first of the batch
 * @param {number} end
 * @param {number} batchStart where the batch begins
 * @param {number} firstEnd where its first message ends
 * @returns {number} where the last message ends that can be in it
 */
function endOfBatch(rows, next, end, batchStart, firstEnd) {
  let batchEnd = firstEnd;
  for (let i = next; i < end && rows[i] === (FIN | Opcode.TEXT) && rows[i + 2] - batchStart <= BATCH; i += 3) {
    batchEnd = rows[i + 2];
  }
  return batchEnd;
}

/**
 * "If there is a body, the first two bytes of the body MUST be a 2-byte unsigned integer ... representing a status code
 * ... Following the 2-byte integer, the body MAY contain UTF-8-encoded data" (RFC 6455 section 5.5.1).
 *
 * @param {Buffer} payload
 * @returns {FrameError | null}
 */
function badClose(payload) {
  if (payload.length === 0) return null;
  if (payload.length === 1) return new FrameError('CLOSE_LENGTH', 1002, 'A Close frame has a payload of one byte');
  const code = payload.readUInt16BE(0);
  if (!isSendableCloseCode(code)) return new FrameError('CLOSE_CODE', 1002, `A Close frame has the code ${code}`);
  return isUtf8(payload.subarray(2)) ? null : new FrameError('UTF8', 1007, 'The reason in a Close frame is not UTF-8');
}

/** @returns {FrameError} "a byte stream ... that is not, in fact, a valid UTF-8 stream" (RFC 6455 section 8.1) */
function badText() {
  return new FrameError('UTF8', 1007, 'A text message is not UTF-8');
}

module.exports = { Decoder };
