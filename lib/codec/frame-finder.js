'use strict';

const { advanceKey } = require('../masking/fallback');
const { Buffer, FastBuffer, copyOf, memoryOf, offsetOf } = require('../shared/buffers');
const { FIN, LENGTH, MODE_MASKED, OPCODE, Opcode } = require('../shared/protocol');
const { codecBackend, copyUnmasked } = require('./backend');
const { Delivery, ENDED, RUNNING } = require('./delivery');
const { BATCH, ENTRY, endOfBatch, endOfPiece, frameTables } = require('./frame-table');
const { header, readHeader } = require('./header');
const { detachedFault, findPlaceFault, textFault } = require('./message-rules');
const { readBoolean } = require('./options');
const { PartialFrame } = require('./partial-frame');
const { isText } = require('./partial-message');

const TEXT_MESSAGE = FIN | Opcode.TEXT;
const BINARY_MESSAGE = FIN | Opcode.BINARY;

/** The bytes that must follow the first frame of a chunk to be worth a scan. */
const SCAN_FROM = 8;

/**
 * Finds the frames of a chunk and unmasks them. Decoder extends it, and calls `_beginChunk` and
 * `_decode` with each chunk. `_decodeFrames` finds the frames that lie in it as a whole;
 * `_resumeHeader` and `_resumePayload` add to the one that the end of a chunk cut.
 *
 * Every step moves `_position` past the bytes it uses before it delivers, so a handler that throws,
 * pauses, stops or writes leaves the decoder consistent.
 */
class FrameFinder extends Delivery {
  constructor(options) {
    super(options);
    this._borrowed = readBoolean(options, 'borrowed', false);
    // The current chunk, how far it is decoded, and its length; the entries of a scan that are not
    // delivered yet; a frame that the end of a chunk cut.
    this._chunk = null;
    this._position = 0;
    this._chunkEnd = 0;
    this._scanned = null;
    this._frame = null;
  }

  _beginChunk(chunk, length) {
    this._chunk = chunk;
    this._position = 0;
    this._chunkEnd = length;
  }

  _decode(chunk) {
    if (this._scanned !== null) this._deliverScanned(chunk, this._scanned, this._scanned.length);
    while (this._state === RUNNING && this._position < this._chunkEnd) {
      if (chunk[this._chunkEnd - 1] === undefined) this._fail(detachedFault());
      else if (this._frame === null) this._decodeFrames(chunk);
      else if (this._frame.header !== null) this._resumeHeader(chunk, this._frame);
      else this._resumePayload(chunk, this._frame);
    }
  }

  /** Decodes the frames that a scan finds, or the first, as far as it is there. */
  _decodeFrames(chunk) {
    const start = this._position;
    const mode = this._mode;
    // Most chunks hold one small frame. A scan for one frame would take 2 to 2.8 times as long.
    const end = start + 2 + (chunk[start + 1] & LENGTH) + (mode & MODE_MASKED ? 4 : 0);
    if (this._chunkEnd - end >= SCAN_FROM && this._scan(chunk)) return;

    if (!readHeader(chunk, start, this._chunkEnd, mode)) {
      this._resumeHeader(chunk, new PartialFrame());
      return;
    }
    const { firstByte, length, key, size } = header;
    const payload = start + size;
    this._position = payload;
    if (length > this._chunkEnd - payload) {
      this._beginPartial(chunk, new PartialFrame());
      return;
    }
    this._position = payload + length;
    this._sequence++;
    if (this._refuse(firstByte, length)) return;
    if (this._borrowed && this._isShown(firstByte)) {
      const own = Buffer.allocUnsafeSlow(length);
      const isAscii = copyUnmasked(this._backend, chunk, payload, own, 0, length, key);
      this._deliverFrame(firstByte, own, 0, length, isAscii, false);
      return;
    }
    let ascii = false;
    if ((mode & MODE_MASKED) !== 0) {
      if (firstByte === TEXT_MESSAGE && !this._isShown(firstByte)) {
        // One call unmasks and makes the string. Two would take 1.8 times as long.
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

  /** Whether a handler may see a frame's bytes: not if they become a string at once. */
  _isShown(firstByte) {
    return !(this._strings && isText(firstByte)) || this._onFrame !== undefined || this._traced;
  }

  /** Delivers the frames that one call of the addon finds; returns false if there are none. */
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

  /** Delivers the frames that a scan found. What a handler holds back is kept in `_scanned`. */
  _deliverScanned(chunk, table, end) {
    // The memory that Buffers are views of: the chunk's, or that of a copy of `chunk[copiedFrom]`
    // to `chunk[copiedTo - 1]`.
    let bytes = chunk;
    let memory = memoryOf(chunk);
    let base = offsetOf(chunk);
    let copiedFrom = 0;
    let copiedTo = 0;
    // Branches for programs with onMessage or onFrame alone: small messages take 13 to 19 % less.
    const framesOnly = !this._traced && this._onMessage === undefined && this._onFrame !== undefined;
    const messagesOnly = !this._traced && this._onMessage !== undefined && this._onFrame === undefined;
    const batched = messagesOnly && this._strings;
    const maxLength = this._strings ? this._limits.maxString : this._limits.maxPayload;
    let batch = '';
    let batchStart = 0;
    let batchEnd = 0;
    let i = 0;
    try {
      while (i < end && this._state === RUNNING) {
        if (chunk[this._chunkEnd - 1] === undefined) {
          this._fail(detachedFault());
          break;
        }
        // The first byte, and NON_ASCII.
        const flags = table[i];
        const start = table[i + 1];
        const stop = table[i + 2];
        const entry = i;
        i += ENTRY;
        // Most frames are a whole message, binary or ASCII, that breaks no further rule.
        const plain =
          (flags === TEXT_MESSAGE || flags === BINARY_MESSAGE) && this._message === null && stop - start <= maxLength;
        if (batched && plain && flags === TEXT_MESSAGE && stop - start <= BATCH) {
          if (stop > batchEnd) {
            batchStart = start;
            batchEnd = endOfBatch(table, entry, end);
            batch = chunk.latin1Slice(batchStart, batchEnd);
          }
          this._onMessage(batch.substring(start - batchStart, stop - batchStart), false, false);
          continue;
        }
        const copied = this._borrowed && this._isShown(flags);
        // A handler may have transferred the last copy. The chunk still has the bytes.
        if (copied && (stop > copiedTo || bytes[0] === undefined)) {
          copiedFrom = start;
          copiedTo = endOfPiece(table, entry, end);
          bytes = copyOf(chunk, copiedFrom, copiedTo);
          memory = memoryOf(bytes);
          base = offsetOf(bytes) - copiedFrom;
        }
        if (messagesOnly && plain && (flags === BINARY_MESSAGE || !this._strings)) {
          this._onMessage(new FastBuffer(memory, base + start, stop - start), flags === BINARY_MESSAGE, false);
        } else if (framesOnly && plain) {
          this._onFrame(flags, bytes, start - copiedFrom, stop - copiedFrom);
        } else {
          const firstByte = flags & 0xff;
          if (this._traced) this._sequence++;
          if (plain || !this._refuse(firstByte, stop - start)) {
            const from = copied ? copiedFrom : 0;
            const shown = copied ? bytes : chunk;
            this._deliverFrame(firstByte, shown, start - from, stop - from, flags === firstByte, false);
          }
        }
      }
    } finally {
      if (!this._traced) this._sequence += i / ENTRY;
      this._scanned = i < end && this._state !== ENDED ? table.slice(i, end) : null;
    }
  }

  _resumeHeader(chunk, frame) {
    const had = frame.headerLength;
    frame.addToHeader(chunk, this._position, this._chunkEnd);
    if (readHeader(frame.header, 0, frame.headerLength, this._mode)) {
      this._position += header.size - had;
      frame.header = null;
      this._beginPartial(chunk, frame);
    } else if (header.error !== null) {
      this._failHeader();
    } else {
      this._frame = frame;
      this._position = this._chunkEnd;
    }
  }

  _failHeader() {
    this._sequence++;
    const { error, firstByte, length } = header;
    // A frame that must not come at all is a broken protocol, whatever its length.
    const place = error.closeCode === 1009 ? findPlaceFault(this._message, firstByte) : null;
    this._failFrame(place ?? error, firstByte, length);
  }

  /** `header` is that of a frame whose payload the chunk has only in part. */
  _beginPartial(chunk, frame) {
    const { firstByte, length, key } = header;
    this._sequence++;
    if (this._refuse(firstByte, length)) return;
    frame.firstByte = firstByte;
    frame.left = length;
    frame.key = key;
    this._frame = frame;
    if ((firstByte & OPCODE) >= Opcode.CLOSE) frame.payload = Buffer.allocUnsafeSlow(length);
    else this._beginFragment(firstByte);
    if (length === 0) this._resumePayload(chunk, frame);
  }

  _resumePayload(chunk, frame) {
    const start = this._position;
    const length = Math.min(frame.left, this._chunkEnd - start);
    this._position += length;
    frame.left -= length;
    if (frame.payload !== null) {
      copyUnmasked(this._backend, chunk, start, frame.payload, frame.length, length, frame.key);
      frame.length += length;
    } else {
      const error = this._message.appendMasked(this._backend, chunk, start, length, frame);
      if (error !== null) {
        this._fail(error);
        return;
      }
    }
    frame.key = advanceKey(frame.key, length) | 0;
    if (frame.left === 0) this._endPartial(frame);
    else if (frame.payload === null && !this._message.validate(false)) this._fail(textFault());
  }

  _endPartial({ firstByte, payload }) {
    this._frame = null;
    if (payload !== null) {
      this._deliverFrame(firstByte, payload, 0, payload.length, false, false);
    } else {
      const message = this._message;
      this._deliverFrame(firstByte, message.buffer, message.frameStart, message.length, false, true);
    }
  }
}

// On the prototype, because all decoders share it; a test makes a subclass for another backend.
FrameFinder.prototype._backend = codecBackend;

module.exports = { FrameFinder };
