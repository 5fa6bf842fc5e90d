'use strict';

const { zlib } = require('../shared/node-modules');
const { EMPTY, view } = require('../shared/buffers');
const { TAIL, dataError } = require('./inflate-message');
const { countWork, inLaterTurn, isTurnOver } = require('./turn');
const { OUTPUT_SIZE, ZlibHandle, dropOutput, copyOutput } = require('./zlib-handle');

/** The input of one run at most: 2 ms of empty blocks, which put out nothing. */
const INPUT = 16 * 1024;

/**
 * Inflates the messages of a connection on the event loop, in parts of at most 64 KiB: only those
 * that are asked for, so that a message that inflates to gigabytes takes no more memory.
 */
class PartInflater {
  /** @param {DeflateDirection} direction */
  constructor({ windowBits, contextTakeover, zlibOptions }) {
    this._options = { ...zlibOptions, windowBits };
    this._hasTakeover = contextTakeover;
    this._handle = null;
    // The compressed bytes that have not been inflated, and those after them: the tail, or none.
    this._input = EMPTY;
    this._next = EMPTY;
    this._isLast = false;
    // Whether the last run has filled its output, so that there may be more without input.
    this._hasMore = false;
    // Whether zlib has taken nothing since the bytes were added.
    this._isFresh = false;
    this._isAmidMessage = false;
  }

  /** Adds compressed bytes, when those before them have been used up. They must not change. */
  add(bytes, isLast) {
    this._handle ??= new ZlibHandle(zlib.createInflateRaw(this._options));
    this._input = bytes;
    // An empty payload is not valid DEFLATE, but taken as an empty message, as in ws.
    this._next = isLast && (this._isAmidMessage || bytes.length !== 0) ? TAIL : EMPTY;
    this._isLast = isLast;
    this._isFresh = true;
    this._isAmidMessage = !isLast;
  }

  /** Whether the bytes have been used up. */
  get isDone() {
    return this._input.length === 0 && this._next.length === 0 && !this._hasMore;
  }

  /** Whether this turn of the event loop has seen enough work: go on in the next one. */
  get mustWait() {
    return isTurnOver();
  }

  /** Calls back with null in another turn. */
  waitForTurn(callback) {
    inLaterTurn(callback);
  }

  /**
   * Inflates the next part, in memory of its own; it may be empty.
   *
   * @throws {FrameError} if the input is not DEFLATE
   */
  next() {
    const handle = this._handle;
    const input = view(this._input, 0, Math.min(this._input.length, INPUT));
    let left = handle.run(input, input.length, 0);
    if (left === input.length && left !== 0 && this._isFresh && handle.error === null) {
      // A final block ended with the tail of the message before: zlib takes nothing more.
      handle.reset();
      left = handle.run(input, left, 0);
    }
    this._isFresh = false;
    if (handle.error !== null) {
      dropOutput();
      throw dataError(handle.error);
    }
    const taken = input.length - left;
    const part = copyOutput();
    this._hasMore = part.length === OUTPUT_SIZE;
    countWork(taken, part.length);
    if (left !== 0 && !this._hasMore) this._endBlock();
    else this._advance(taken);
    if (this.isDone && this._isLast && !this._hasTakeover) handle.reset();
    return part;
  }

  close() {
    this._handle?.close();
    this._handle = null;
    this._input = this._next = EMPTY;
  }

  _advance(taken) {
    this._input = view(this._input, taken, this._input.length);
    if (this._input.length !== 0 || this._hasMore) return;
    this._input = this._next;
    this._next = EMPTY;
  }

  /** After a final block zlib takes nothing more (RFC 7692 section 7.2.3.4). */
  _endBlock() {
    this._handle.reset();
    this._input = this._next = EMPTY;
  }
}

module.exports = { PartInflater };
