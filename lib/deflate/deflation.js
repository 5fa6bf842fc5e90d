'use strict';

const { Buffer, EMPTY, copyOf, lengthOf, toBytes, view } = require('../shared/buffers');
const { FIN, Opcode, RSV1 } = require('../shared/protocol');
const { OwnDeflater, deflateAlone, deflateAloneLater, keyOf } = require('./deflater');
const { toOwn } = require('./zlib-handle');

/**
 * Messages from this size on are sampled: what does not shrink, such as a picture, is not
 * compressed. The sample takes 25 µs, compressing the whole 160 µs and more.
 */
const SAMPLE_FROM = 16 * 1024;
const SAMPLE_SIZE = 2 * 1024;
/** A sample that keeps more than this part of its size is not worth it. */
const WORTH_IT = 0.95;

/**
 * From this size on an Encoder does not copy a payload: what zlib has made needs memory of its own,
 * and the caller of a server's leaves his as it is.
 */
const OWN_FROM = 16 * 1024;

/**
 * The messages that an Encoder compresses: which, and in which order. While one is in the thread
 * pool, what the Encoder is given waits, but for Ping and Pong frames.
 */
class Deflation {
  constructor(encoder, { windowBits, contextTakeover, settings }, onDeflated) {
    /** Whether a message is in the thread pool, or others still wait behind it. */
    this.isBusy = false;
    /** Whether what waits ends amid a fragmented message. */
    this.isAmidMessage = false;
    this.waiting = 0;
    this._encoder = encoder;
    this._compression = { windowBits, level: settings.level, memLevel: settings.memLevel };
    this._own = contextTakeover ? new OwnDeflater(this._compression) : null;
    this._threshold = Math.max(settings.threshold, 1);
    this._threadPoolFrom = settings.threadPoolFrom;
    this._onDeflated = onDeflated;
    this._queue = [];
    this._isInPool = false;
  }

  /**
   * Compresses a message, if that is worth it, and adds it to the Encoder now or later.
   *
   * @returns {boolean} false if the Encoder is to add it as it is
   * @throws {TypeError} if the data is not acceptable
   */
  add(opcode, data, options) {
    const { fin = true, rsv1 = false, compress } = options ?? {};
    const mayCompress = fin && !rsv1 && compress !== false;
    const least = compress ? 1 : this._threshold;
    // A character has up to 3 bytes.
    const isShort = typeof data === 'string' && data.length * 3 < least;
    if ((!mayCompress || isShort) && !this.isBusy) return false;

    let content = data;
    if (typeof data !== 'string') content = toBytes('data', data, opcode !== Opcode.BINARY);
    // A long one may wait, and many Encoders hold it once then.
    else if (data.length < SAMPLE_FROM) content = Buffer.from(data);
    const length = sizeOf(content);
    const plain = !mayCompress || length < least;
    if (!this.isBusy) return !plain && this._compress(opcode, content, length, compress);
    const firstByte = (fin ? FIN : 0) | (rsv1 ? RSV1 : 0) | opcode;
    const kept = this._keep(content, length);
    this.wait(length, !fin, () => {
      const present = presentOf(kept);
      const isAdded = !plain && this._compress(opcode, present, sizeOf(present), compress);
      if (!isAdded) this._encoder._addFrame(firstByte, present, true);
    });
    return true;
  }

  /** Adds a further fragment of a message behind the message in the thread pool. */
  addLater(firstByte, data) {
    const content = typeof data === 'string' ? data : toBytes('data', data);
    const length = sizeOf(content);
    const kept = this._keep(content, length);
    const add = () => this._encoder._addFrame(firstByte, presentOf(kept), true);
    this.wait(length, (firstByte & FIN) === 0, add);
  }

  /** Has bytes, which `add` adds to the Encoder, wait for the message in the thread pool. */
  wait(length, isAmidMessage, add) {
    this.waiting += length;
    this.isAmidMessage = isAmidMessage;
    this._queue.push({ length, add });
  }

  get key() {
    return keyOf(this._compression);
  }

  /**
   * Whether a prepared message of this length is compressed. With takeover it is not: the context
   * of each connection would have to have it in its window.
   */
  sharesFrom(length) {
    return this._own === null && length >= this._threshold;
  }

  /** Compresses a prepared message, to memory that the next one overwrites. */
  deflateShared(bytes) {
    return deflateAlone(bytes, bytes.length, this._compression);
  }

  /** Releases what it can when nothing more is sent. */
  end() {
    if (!this.isBusy) this._own?.release();
  }

  /** What is held of data that waits. A server refers to what it would not copy when it sends it. */
  _keep(content, length) {
    const refers = typeof content === 'string' || (length >= OWN_FROM && this._encoder.role === 'server');
    return refers ? content : copyOf(content, 0, length);
  }

  _compress(opcode, content, length, compress) {
    if (length >= SAMPLE_FROM && !compress && !this._isWorthIt(content)) return false;
    if (length >= this._threadPoolFrom) {
      this._compressLater(opcode, this._keep(content, length), length);
      return true;
    }
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    if (this._own !== null) {
      // The context has the message in its window, so that it must be sent compressed.
      this._send(opcode, this._own.deflate(bytes, length));
      return true;
    }
    const deflated = deflateAlone(bytes, length, this._compression);
    if (deflated.length >= length) return false;
    this._send(opcode, deflated);
    return true;
  }

  _isWorthIt(content) {
    const isString = typeof content === 'string';
    const start = ((isString ? content.length : lengthOf(content)) - SAMPLE_SIZE) >> 1;
    const end = start + SAMPLE_SIZE;
    const bytes = isString ? Buffer.from(content.slice(start, end)) : view(content, start, end);
    return deflateAlone(bytes, bytes.length, this._compression).length < bytes.length * WORTH_IT;
  }

  _send(opcode, deflated) {
    const isOwn = deflated.length >= OWN_FROM;
    this._encoder._addFrame(FIN | RSV1 | opcode, isOwn ? toOwn(deflated) : deflated, isOwn);
  }

  _compressLater(opcode, kept, length) {
    // Behind others that waited, the last of them has said whether a message is amid.
    if (!this.isBusy) this.isAmidMessage = false;
    this.isBusy = true;
    this._isInPool = true;
    this.waiting += length;
    const callback = (deflated) => {
      this._isInPool = false;
      this.waiting -= length;
      this._send(opcode, deflated);
      this._goOn();
    };
    if (this._own === null) deflateAloneLater(kept, this._compression, callback);
    else this._own.deflateLater(kept, callback);
  }

  /** Adds what has waited, as far as nothing of it goes to the thread pool. */
  _goOn() {
    while (this._queue.length !== 0 && !this._isInPool) {
      const { length, add } = this._queue.shift();
      this.waiting -= length;
      add();
    }
    this.isBusy = this._isInPool;
    if (this._encoder.closed) this.end();
    this._onDeflated?.call(this._encoder);
  }
}

/** The bytes of a string or of a view. */
const sizeOf = (content) => (typeof content === 'string' ? Buffer.byteLength(content) : lengthOf(content));

/** What there is of data that has waited: nothing if its memory has been transferred. */
const presentOf = (kept) => (sizeOf(kept) === 0 ? EMPTY : kept);

module.exports = { Deflation };
