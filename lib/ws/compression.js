'use strict';

const { OwnDeflater, deflateAlone, deflateAloneLater } = require('../deflate/deflater');
const { OwnInflater, inflateAlone } = require('../deflate/inflater');
const { handlesWork, toOwn } = require('../deflate/zlib-handle');
const { Buffer } = require('../shared/buffers');
const { deflateParts } = require('./internals');

// The contexts of ws's PerMessageDeflate, which negotiates and sets the threshold. ws takes each
// message through zlib's thread pool; here small ones are compressed and inflated at once, to the
// same bytes.

/** From this many bytes on a message is compressed in the thread pool. */
const DEFLATE_LATER_FROM = 32 * 1024;
/** What inflates to more than this many bytes is inflated there. */
const INFLATE_LATER_FROM = 128 * 1024;

/** Whether framemask compresses, and not ws. Deno, whose handles do not work, may refuse `env`. */
const compressesHere = () => handlesWork() && process.env.FRAMEMASK_DEFLATE !== 'ws';

/** Whether shared contexts can have these options of zlib. */
const isPlain = (options) => Object.keys(options).every((name) => ['level', 'memLevel', 'chunkSize'].includes(name));

/** What a connection sends. */
class Compressor {
  constructor({ windowBits, contextTakeover, options = {} }) {
    const { level = -1, memLevel = 8 } = options;
    this._compression = { ...options, windowBits, level, memLevel };
    this._takesOver = contextTakeover;
    this._isShared = !contextTakeover && isPlain(options);
    this._own = null;
    this._isAmidMessage = false;
    this._hasEnded = false;
  }

  /**
   * `compress` of PerMessageDeflate. ws's Sender calls it for one fragment at a time. It calls back
   * at once for a small one.
   */
  compress(data, fin, callback) {
    const bytes = typeof data === 'string' && data.length < DEFLATE_LATER_FROM ? Buffer.from(data) : data;
    // Of a long string the characters, of which none has less than a byte.
    const { length } = bytes;
    const isAlone = this._isShared && fin && !this._isAmidMessage && length !== 0;
    this._isAmidMessage = !fin;
    if (length < DEFLATE_LATER_FROM) {
      const deflated = isAlone ? deflateAlone(bytes, length, this._compression) : this._deflate(bytes, length, fin);
      callback(null, toOwn(deflated));
      return;
    }
    if (isAlone) deflateAloneLater(data, this._compression, (deflated) => callback(null, deflated));
    else this._deflateLater(data, fin, callback);
  }

  end() {
    this._hasEnded = true;
    if (this._own !== null && !this._own.isBusy) this._own.release();
  }

  _deflate(bytes, length, fin) {
    this._own ??= new OwnDeflater(this._compression);
    const deflated = this._own.deflate(bytes, length, fin);
    if (fin && !this._takesOver) this._own.reset();
    return deflated;
  }

  _deflateLater(data, fin, callback) {
    this._own ??= new OwnDeflater(this._compression);
    const reply = (deflated) => {
      if (fin && !this._takesOver) this._own.reset();
      if (this._hasEnded) this._own.release();
      callback(null, deflated);
    };
    this._own.deflateLater(data, reply, fin);
  }
}

/** What a connection receives. */
class Decompressor {
  constructor({ windowBits, contextTakeover, options = {} }) {
    this._windowBits = windowBits;
    this._options = options;
    this._takesOver = contextTakeover;
    this._isShared = !contextTakeover && isPlain(options);
    this._own = null;
    this._isAmidMessage = false;
  }

  /**
   * Inflates a frame.
   *
   * @returns {Buffer | null} null if `inflateLater` must go on
   * @throws {FrameError} if more than `limit` bytes come out, or it is not DEFLATE
   */
  inflate(data, isLast, limit) {
    const isAlone = this._isShared && isLast && !this._isAmidMessage;
    this._isAmidMessage = !isLast;
    if (isAlone) {
      const inflated = inflateAlone(data, data.length, this._windowBits, INFLATE_LATER_FROM, limit);
      if (inflated !== null) return toOwn(inflated);
    }
    this._own ??= new OwnInflater(this._windowBits, this._options);
    const inflated = this._own.inflate(data, data.length, isLast, isAlone ? 0 : INFLATE_LATER_FROM, limit);
    if (inflated === null) return null;
    // So that the next message refers to nothing in it.
    if (isLast && !this._takesOver) this._own.reset();
    return toOwn(inflated);
  }

  /** Goes on with the same frame in the thread pool, and calls back with an error or chunks. */
  inflateLater(isLast, limit, callback) {
    this._own.inflateLater(limit, (error, chunks) => {
      // The connection has ended.
      if (this._own === null) return;
      if (error === null && isLast && !this._takesOver) this._own.reset();
      callback(error, chunks);
    });
  }

  end() {
    this._own?.close();
    this._own = null;
  }
}

/**
 * Gives the PerMessageDeflate of a connection contexts of framemask's.
 *
 * @returns {Decompressor | null} for what it receives; null if ws does it itself
 */
function compressInstead(deflate, here = compressesHere()) {
  if (!here) return null;
  const { own, peer } = deflateParts(deflate);
  const compressor = new Compressor(own);
  const decompressor = new Decompressor(peer);
  deflate.compress = (data, fin, callback) => compressor.compress(data, fin, callback);
  deflate.cleanup = () => {
    compressor.end();
    decompressor.end();
  };
  return decompressor;
}

module.exports = { compressInstead, compressesHere };
