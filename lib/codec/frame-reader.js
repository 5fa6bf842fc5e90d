'use strict';

const { Buffer, isUint8Array, view } = require('../shared/buffers');
const { codecBackend } = require('./backend');
const { invalidType } = require('../shared/errors');
const { advanceKey, copyMasked } = require('../masking/fallback');
const { header, readHeader } = require('./header');
const { FIN, LENGTH, MAX_HEADER, MODE_MASKED, OPCODE, Opcode } = require('../shared/protocol');
const { isTraced } = require('../tracing');

// States.
const RUNNING = 0;
const PAUSED = 1;
const ENDED = 2;

/** So many rows has the table of a scan: small frames are then delivered while the first-level cache still has them. */
const ROWS = 256;
/** What follows the first frame of a chunk must have so many bytes to be worth a scan. */
const SCAN_FROM = 8;
/** A piece of a payload that is shorter than this is copied in a plain loop. */
const LOOP_BELOW = 24;

// Tables that no decoder uses at the moment. A handler may feed another decoder, which then needs a second one.
const tables = [];

/**
 * The half of a decoder that finds frames in chunks: it splits, unmasks and gathers, and knows when to stop. What frames
 * mean is for the other half, lib/codec/decoder.js, which extends it with:
 *
 * - `_textFirst`: the first byte of a masked frame that is a text message for `_onMessage` and nobody else; -1 if there
 *   is no such
 * - `_binaryFirst`: the first byte of a frame that is a binary message for `_onMessage` and nobody else; -1 likewise
 * - `_message` and `_maxPayload`: 0 between messages, and the most bytes that one may have
 * - `_refuse(first, length)`: whether a frame with this header was not acceptable, and the decoder has ended
 * - `_takeFrame(first, bytes, start, end, ascii)`: a frame that lies in a chunk
 * - `_takeRows(chunk, rows, end)`: frames that a scan has found in a chunk; leaves those it did not take in `_rows`
 * - `_beginFragment(first)`, `_reserve(length, left, last)`, `_noteAscii(length, ascii)`, `_checkText()`,
 *   `_endFragment()`: a data frame that comes in pieces
 * - `_fail(error)`
 *
 * Every step moves `_position` past what it takes before it calls any of these. So whatever a handler does (throw, pause,
 * stop, write), the decoder is in order.
 */
class FrameReader {
  /** @param {number} mode MODE_MASKED and MODE_RSV1 of lib/shared/protocol.js */
  constructor(mode) {
    this._mode = mode;
    this._textFirst = -1;
    this._binaryFirst = -1;
    this._state = RUNNING;
    this._busy = false;
    // For tracing: whether anybody listens, and how many frames have been counted.
    this._traced = false;
    this._sequence = 0;
    // The chunk at hand, how much of it is done, the rows of a scan that are yet to be delivered, and further chunks.
    this._chunk = null;
    this._position = 0;
    this._rows = null;
    this._queue = null;
    // A header that the end of a chunk cut.
    this._header = null;
    this._headerLength = 0;
    // A frame whose payload the end of a chunk cut: how much is missing, the key for that, and where it goes.
    this._inFrame = false;
    this._first = 0;
    this._left = 0;
    this._key = 0;
    this._target = null;
    this._offset = 0;
  }

  /** Whether the decoder is done: a Close frame or an error came, or `stop` was called. It ignores what follows. */
  get closed() {
    return this._state === ENDED;
  }

  /** Whether `pause` was called, and `resume` has not been since. */
  get paused() {
    return this._state === PAUSED;
  }

  /**
   * Decodes what came from the connection, and calls the handlers. The decoder takes the chunk's bytes over: it unmasks
   * them in place, and Buffers that it delivers are views of them.
   *
   * A handler that throws makes this throw; what follows its frame is delivered by the next `write` or `resume`.
   *
   * @param {Uint8Array} chunk
   * @returns {boolean} false while the decoder is paused: the connection should not be read until it is resumed
   * @throws {TypeError} if the chunk is no Buffer or Uint8Array
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

  /** Has nothing more delivered until `resume`, not even what is left of the chunk at hand. */
  pause() {
    if (this._state === RUNNING) this._state = PAUSED;
  }

  /** Delivers what `pause`, or a handler that threw, has held up, and goes on as before. */
  resume() {
    if (this._state === PAUSED) this._state = RUNNING;
    this._run();
  }

  /** Ignores all that follows, from the chunk at hand on, and lets go of the memory. */
  stop() {
    this._state = ENDED;
    this._chunk = null;
    this._rows = null;
    this._queue = null;
    this._header = null;
    this._target = null;
  }

  /** Decodes the chunk at hand and those behind it, until there are none or a handler stops it. */
  _run() {
    // A handler that writes or resumes finds the decoder at work already, and need not start it.
    if (this._busy) return;
    this._busy = true;
    this._traced = isTraced();
    try {
      while (this._chunk !== null && this._state === RUNNING) {
        this._decode(this._chunk);
        // A chunk is shorter than what is done of it if a handler has transferred its memory away, to a worker say.
        if (this._state !== ENDED && this._rows === null && this._position >= this._chunk.length) this._nextChunk();
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
    if (this._rows !== null) this._takeRows(chunk, this._rows, this._rows.length);
    while (this._state === RUNNING && this._position < chunk.length) {
      if (this._inFrame) this._takePayload(chunk);
      else if (this._header !== null) this._takeHeader(chunk);
      else this._takeFrames(chunk);
    }
  }

  /**
   * Takes the frames at the head of a chunk: by a scan if there is more than one, else the one, as far as it is there.
   *
   * @param {Buffer} chunk
   */
  _takeFrames(chunk) {
    const start = this._position;
    // The commonest chunk by far holds one small frame. A scan costs more than to take that here.
    const end = start + 2 + (chunk[start + 1] & LENGTH) + (this._mode & MODE_MASKED ? 4 : 0);
    if (chunk.length - end >= SCAN_FROM && this._scan(chunk)) return;

    if (!readHeader(chunk, start, chunk.length, this._mode)) {
      if (header.error === null) this._keepHeader(chunk);
      else this._failHeader();
      return;
    }
    const { first, length, key, size } = header;
    const payload = start + size;
    this._position = payload;
    if (length > chunk.length - payload) {
      this._beginFrame(first, length, key);
      return;
    }
    this._position = payload + length;
    this._sequence++;
    // A binary message in one frame is the commonest of what is not text, and nothing more is to be judged of it: past the
    // four calls that other frames take it costs 78 ns instead of 86 (64 bytes, Node 20).
    if (first === this._binaryFirst && this._message === 0 && length <= this._maxPayload && !this._traced) {
      if ((this._mode & MODE_MASKED) !== 0) this._backend.unmaskRange(chunk, payload, length, key);
      this._onMessage(view(chunk, payload, payload + length), true, false);
      return;
    }
    if (this._refuse(first, length)) return;
    let ascii = false;
    if (first === this._textFirst && !this._traced) {
      const text = this._backend.unmaskText(chunk, payload, length, key);
      if (text !== undefined) {
        this._onMessage(text, false, false);
        return;
      }
    } else if ((this._mode & MODE_MASKED) !== 0) {
      ascii = this._backend.unmaskRange(chunk, payload, length, key);
    }
    this._takeFrame(first, chunk, payload, payload + length, ascii);
  }

  /**
   * @param {Buffer} chunk
   * @returns {boolean} whether there was a frame to take
   */
  _scan(chunk) {
    const table = tables.pop() ?? new Uint32Array(ROWS * 3);
    try {
      const count = this._backend.scan(chunk, this._position, this._mode, table);
      if (count === 0) return false;
      this._position = table[count * 3 - 1];
      this._takeRows(chunk, table, count * 3);
      return true;
    } finally {
      tables.push(table);
    }
  }

  /**
   * Keeps a header that the end of the chunk cuts.
   *
   * @param {Buffer} chunk
   */
  _keepHeader(chunk) {
    this._header = new Uint8Array(MAX_HEADER);
    this._headerLength = fill(this._header, 0, chunk, this._position);
    this._position = chunk.length;
  }

  /**
   * Goes on with a header that the end of a chunk cut.
   *
   * @param {Buffer} chunk
   */
  _takeHeader(chunk) {
    const had = this._headerLength;
    const have = had + fill(this._header, had, chunk, this._position);
    if (readHeader(this._header, 0, have, this._mode)) {
      this._position += header.size - had;
      this._header = null;
      this._beginFrame(header.first, header.length, header.key);
    } else if (header.error === null) {
      this._position = chunk.length;
      this._headerLength = have;
    } else {
      this._failHeader();
    }
  }

  _failHeader() {
    this._sequence++;
    this._fail(header.error);
  }

  /**
   * Begins a frame whose payload is gathered.
   *
   * @param {number} first
   * @param {number} length
   * @param {number} key
   */
  _beginFrame(first, length, key) {
    this._sequence++;
    if (this._refuse(first, length)) return;
    this._inFrame = true;
    this._first = first;
    this._left = length;
    this._key = key;
    if ((first & OPCODE) >= Opcode.CLOSE) {
      this._target = Buffer.allocUnsafeSlow(length);
      this._offset = 0;
    } else {
      this._beginFragment(first);
    }
    if (length === 0) this._endFrame();
  }

  /**
   * Takes a piece of a payload, and unmasks it while it is copied to where the rest of it is.
   *
   * @param {Buffer} chunk
   */
  _takePayload(chunk) {
    const start = this._position;
    const length = Math.min(this._left, chunk.length - start);
    const control = (this._first & OPCODE) >= Opcode.CLOSE;
    this._position += length;
    this._left -= length;
    if (!control) this._reserve(length, this._left, (this._first & FIN) !== 0);

    const key = this._mode & MODE_MASKED ? this._key : 0;
    const ascii =
      length < LOOP_BELOW
        ? copyMasked(chunk, start, this._target, this._offset, length, key)
        : this._backend.maskRange(chunk, start, this._target, this._offset, length, key);
    if ((this._message & OPCODE) === Opcode.TEXT && !control) this._noteAscii(length, ascii);
    this._key = advanceKey(key, length) | 0;
    this._offset += length;
    if (this._left === 0) this._endFrame();
    else if (!control) this._checkText();
  }

  /** Takes the frame whose payload has been gathered. */
  _endFrame() {
    this._inFrame = false;
    if ((this._first & OPCODE) < Opcode.CLOSE) {
      this._endFragment();
      return;
    }
    const payload = this._target;
    this._target = null;
    this._takeFrame(this._first, payload, 0, payload.length, false);
  }
}

/**
 * Copies what fits, and returns how many bytes that is. For so few, Buffer.prototype.copy costs more than a loop.
 *
 * @param {Uint8Array} target
 * @param {number} offset
 * @param {Uint8Array} source
 * @param {number} start
 * @returns {number}
 */
function fill(target, offset, source, start) {
  const length = Math.min(target.length - offset, source.length - start);
  for (let i = 0; i < length; i++) target[offset + i] = source[start + i];
  return length;
}

// On the prototype, for these are the same for all; a test that wants another backend has a subclass.
FrameReader.prototype._backend = codecBackend;
FrameReader.prototype._direction = 'received';

module.exports = { ENDED, FrameReader, RUNNING };
