'use strict';

const { Buffer, REFERENCE_FROM, copyOf, lengthOf, toBytes, view } = require('../shared/buffers');
const { goneError } = require('../shared/errors');
const { CONTROL, FIN, OPCODE, Opcode, RSV1 } = require('../shared/protocol');
const { Queue } = require('../shared/queue');
const { Deflater } = require('./deflater');
const { supportsSyncZlib } = require('./zlib-handle');

/**
 * Messages from this size on are sampled: a message that does not shrink, such as a picture, is not
 * compressed. The sample takes 25 µs, compressing the whole 160 µs and more.
 */
const SAMPLE_FROM = 16 * 1024;
const SAMPLE_SIZE = 2 * 1024;
/** A sample that keeps more than this part of its size is not worth it. */
const WORTH_IT = 0.95;

/** How a record is sent: as it is. */
const PLAIN = 0;
/** It is compressed if that saves bytes. */
const WORTHWHILE = 1;
/** It is compressed. */
const DEFLATED = 2;
/** It is sent as the fragment before it. */
const CONTINUED = 3;

/**
 * A frame on its way. Its payload is `data`, unless `pieces` are the whole frame.
 *
 * @typedef {{ firstByte: number, data: string | Uint8Array, length: number, way: number,
 *   owned: boolean, pieces: Buffer[] | null }} SendRecord
 */

/**
 * The frames that an Encoder sends on a connection with compression: which are compressed, and in
 * which order they leave. While one is in the thread pool the others wait, but for Ping and Pong
 * frames, which do not come here.
 */
class SendQueue {
  /**
   * @param {DeflateDirection} direction
   * @param {boolean} refers whether a large payload of the caller's may wait without a copy
   * @param {(() => void) | undefined} onDeflated the Encoder's handler
   */
  constructor(direction, refers, onDeflated) {
    this.onDeflated = onDeflated;
    /** Whether a record is in the thread pool, or others still wait after it. */
    this.isBusy = false;
    /** Whether the last record that waits, or is in the thread pool, leaves a message unfinished. */
    this.isAmidMessage = false;
    /** The bytes of the records that wait, and of the one in the thread pool. */
    this.waiting = 0;
    this._refers = refers;
    this._deflater = new Deflater(direction);
    this._threshold = Math.max(direction.settings.threshold, 1);
    this._threadPoolFrom = direction.settings.threadPoolFrom;
    /** Whether a message has begun whose fragments are compressed. */
    this._deflatesFragments = false;
    /** The same for the last record that waits: true if it is not decided yet. */
    this._mayDeflateFragments = false;
    this._records = new Queue();
    this._forPool = null;
    this._isDeflating = false;
    this._deflated = null;
    /** Whether `stop` has been called. */
    this.isStopped = false;
  }

  /**
   * A record of a data frame, or null if the Encoder can add the frame at once as it is.
   *
   * @param {boolean | undefined} compress the caller's option
   * @throws {TypeError} if the data is not acceptable
   */
  createRecord(firstByte, data, compress) {
    const way = wayOf(firstByte, compress);
    const least = way === WORTHWHILE ? this._threshold : 0;
    // A character has up to 3 bytes.
    const isShort = typeof data === 'string' && data.length * 3 < least;
    const isPlain = way === PLAIN || isShort || (way === CONTINUED && !this._deflatesFragments);
    if (!this.isBusy && isPlain) return this._passThrough(firstByte);
    let content = data;
    if (typeof data !== 'string') content = toBytes('data', data, (firstByte & OPCODE) !== Opcode.BINARY);
    // A longer one stays a string: if it waits, many Encoders share one string.
    else if (data.length < SAMPLE_FROM) content = Buffer.from(data);
    const length = sizeOf(content);
    if (!this.isBusy && length < least) return this._passThrough(firstByte);
    return { firstByte, data: content, length, way: length < least ? PLAIN : way, owned: false, pieces: null };
  }

  /** @returns {SendRecord | null} the record as it is sent; null if it must wait */
  add(record) {
    if (!this.isBusy) return this._deflate(record);
    if (record.pieces === null) record.data = this._keep(record.data, record.length);
    this.waiting += record.length;
    this._records.push(record);
    this._noteEnd(record);
    return null;
  }

  /** Adds a frame as it is, while the queue is busy. `pieces`: the whole frame, or null. */
  addPlain(firstByte, length, data, pieces) {
    this.add({ firstByte, data, length, way: PLAIN, owned: pieces !== null, pieces });
  }

  /**
   * @returns {SendRecord | null} the next record; null if the queue is empty, or if that record goes to
   *   the thread pool
   * @throws {Error} if the one that was in the thread pool could not be compressed, or if the memory of
   *   the next one has been transferred
   */
  next() {
    const deflated = this.isStopped ? null : this._deflated;
    this._deflated = null;
    if (deflated instanceof Error) throw deflated;
    if (deflated !== null || this._forPool !== null) return deflated;
    const record = this._records.shift();
    if (record === null) {
      this.isBusy = false;
      return null;
    }
    this.waiting -= record.length;
    if (isGone(record)) throw goneError();
    return this._deflate(record);
  }

  /** Whether a message has begun that is compressed, or may be. */
  get isAmidDeflated() {
    return this.isBusy ? this.isAmidMessage && this._mayDeflateFragments : this._deflatesFragments;
  }

  /** Whether a record waits for `deflateLater`. */
  get hasPoolWork() {
    return this._forPool !== null && !this._isDeflating;
  }

  /** Compresses that record in the thread pool; `next` then returns it. */
  deflateLater(callback) {
    const record = this._forPool;
    this._isDeflating = true;
    this._deflater.deflateLater(record.data, record.length, isLast(record), (error, deflated, bytes) => {
      this._isDeflating = false;
      this._forPool = null;
      if (!this.isStopped) this.waiting -= record.length;
      this._deflated = error ?? this._shorter({ ...record, data: bytes, owned: true }, deflated);
      callback();
    });
  }

  /** See Deflater. */
  get hasTakeover() {
    return this._deflater.hasTakeover;
  }

  /** See Deflater. */
  get key() {
    return this._deflater.key;
  }

  /**
   * Whether a prepared message of this length is compressed. With takeover it is not: the context
   * of each connection would have to have it in its window.
   */
  sharesFrom(length) {
    return !this.hasTakeover && length >= this._threshold;
  }

  deflateShared(bytes) {
    return this._deflater.deflateAlone(bytes, bytes.length);
  }

  /** Releases the context of the connection when nothing more is sent. */
  end() {
    if (!this.isBusy) this._deflater.end();
  }

  /** Forgets the records that wait. The one in the thread pool is dropped when it comes back. */
  stop() {
    this._records = new Queue();
    this.isStopped = true;
    this.isBusy = this._forPool !== null;
    this.waiting = 0;
    this.end();
  }

  /** Has the Encoder add a frame as it is. */
  _passThrough(firstByte) {
    if (beginsFragments(firstByte)) this._deflatesFragments = false;
    return null;
  }

  /** Compresses a record, if it is to be compressed. */
  _deflate(record) {
    const { firstByte, data, length } = record;
    const deflates = this._isCompressed(record);
    // False after a message's end: `addFramed` begins the next one unseen.
    if (!isWhole(firstByte)) this._deflatesFragments = deflates && !isLast(record);
    if (!deflates) return record;
    if (length >= this._threadPoolFrom) {
      if (!this.isBusy) {
        this._noteEnd(record);
        this._mayDeflateFragments = true;
      }
      this.isBusy = true;
      this.waiting += length;
      record.data = this._keep(data, length);
      this._forPool = record;
      return null;
    }
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    return this._shorter(record, this._deflater.deflate(bytes, length, isLast(record)));
  }

  /** A record as it is sent: compressed, unless it may be sent as it is, and is not longer so. */
  _shorter(record, deflated) {
    // With takeover the connection's window has the message now, so the peer's must get it, too.
    const mustSend = this.hasTakeover || !isWhole(record.firstByte);
    return mustSend || deflated.length < record.length ? withPayload(record, deflated) : record;
  }

  _isCompressed({ firstByte, data, length, way }) {
    if (way === PLAIN || (length === 0 && isWhole(firstByte))) return false;
    if (way === CONTINUED) return this._deflatesFragments;
    return way === DEFLATED || length < SAMPLE_FROM || this._isWorthIt(data);
  }

  _isWorthIt(data) {
    const isString = typeof data === 'string';
    const start = ((isString ? data.length : lengthOf(data)) - SAMPLE_SIZE) >> 1;
    const end = start + SAMPLE_SIZE;
    const bytes = isString ? Buffer.from(data.slice(start, end)) : view(data, start, end);
    return this.deflateShared(bytes).length < bytes.length * WORTH_IT;
  }

  /** The data of a record that waits: a copy, unless it is a string or its memory may be kept. */
  _keep(data, length) {
    if (typeof data === 'string') return data;
    // The caller's own view may grow with its memory.
    return length >= REFERENCE_FROM && this._refers ? view(data, 0, length) : copyOf(data, 0, length);
  }

  _noteEnd(record) {
    if ((record.firstByte & CONTROL) !== 0) return;
    this.isAmidMessage = !isLast(record);
    if (beginsFragments(record.firstByte)) this._mayDeflateFragments = record.way !== PLAIN;
  }
}

const isLast = ({ firstByte }) => (firstByte & FIN) !== 0;
const continues = (firstByte) => (firstByte & OPCODE) === Opcode.CONTINUATION;
const isWhole = (firstByte) => (firstByte & FIN) !== 0 && !continues(firstByte);
const beginsFragments = (firstByte) => (firstByte & FIN) === 0 && !continues(firstByte);

function wayOf(firstByte, compress) {
  if (continues(firstByte)) return CONTINUED;
  // RSV1 is the caller's. Without synchronous zlib, no context lasts from one fragment to the next.
  if (compress === false || (firstByte & (RSV1 | CONTROL)) !== 0) return PLAIN;
  if (beginsFragments(firstByte) && !supportsSyncZlib()) return PLAIN;
  return compress ? DEFLATED : WORTHWHILE;
}

/** The record, with its payload compressed. RSV1 is "set ... on the first fragment" (RFC 7692 section 6.1). */
function withPayload(record, deflated) {
  if (!continues(record.firstByte)) record.firstByte |= RSV1;
  record.data = deflated;
  record.owned = true;
  return record;
}

/** The bytes of a string or of a view. */
const sizeOf = (data) => (typeof data === 'string' ? Buffer.byteLength(data) : lengthOf(data));

/** Whether the memory of a record that waits has been transferred, or has shrunk. */
function isGone({ data, length, pieces }) {
  return pieces === null ? sizeOf(data) !== length : pieces[0][0] === undefined;
}

module.exports = { SendQueue };
