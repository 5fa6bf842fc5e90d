'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer } = require('../shared/buffers');
const { forgetContext, noteUse } = require('./idle-contexts');
const { runInPool } = require('./thread-pool');
const { ZlibHandle, handlesWork, takeOutput } = require('./zlib-handle');

// Compression of messages (RFC 7692 section 7.2.1): "compress all the octets of the payload ...
// remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end".

const { Z_SYNC_FLUSH } = zlib.constants;
const TAIL_SIZE = 4;

/**
 * How to compress.
 *
 * @typedef {object} Compression
 * @property {number} windowBits
 * @property {number} level
 * @property {number} memLevel
 */

/**
 * The handles that all connections of this thread share, by what they are made with. Each is reset
 * after each message, and takes 268 KB at most. There are as many as the levels in use times the
 * windows, which are 7.
 *
 * @type {Map<string, ZlibHandle>}
 */
const shared = new Map();

/** @param {Compression} compression @returns {string} the same for all that compress alike */
function keyOf({ windowBits, level, memLevel }) {
  return `${windowBits} ${level} ${memLevel}`;
}

/** @param {Compression} compression @returns {ZlibHandle} */
function sharedHandle(compression) {
  const key = keyOf(compression);
  let handle = shared.get(key);
  if (handle === undefined) {
    const { windowBits, level, memLevel } = compression;
    handle = new ZlibHandle(zlib.createDeflateRaw({ windowBits, level, memLevel }));
    shared.set(key, handle);
  }
  return handle;
}

/**
 * Compresses a message that refers to no other.
 *
 * @param {Uint8Array} bytes at least one
 * @param {number} length of them
 * @param {Compression} compression
 * @param {boolean} [handles] whether to use a shared handle
 * @returns {Buffer} memory that the next message overwrites
 */
function deflateAlone(bytes, length, compression, handles = handlesWork()) {
  if (!handles) {
    const { windowBits, level, memLevel } = compression;
    const options = { windowBits, level, memLevel, finishFlush: Z_SYNC_FLUSH };
    return withoutTail(zlib.deflateRawSync(bytes, options));
  }
  const handle = sharedHandle(compression);
  try {
    handle.run(bytes, length, Infinity);
    return withoutTail(takeOutput());
  } finally {
    handle.reset();
  }
}

/**
 * Compresses a message that refers to no other in the thread pool.
 *
 * @param {Buffer} bytes nobody else's, so that nobody changes or transfers them meanwhile
 * @param {Compression} compression
 * @param {(deflated: Buffer) => void} callback
 */
function deflateAloneLater(bytes, { windowBits, level, memLevel }, callback) {
  const options = { windowBits, level, memLevel, finishFlush: Z_SYNC_FLUSH };
  runInPool((done) => {
    // Compressing can't fail: its memory is allocated before it begins.
    zlib.deflateRaw(bytes, options, (_error, deflated) => {
      done();
      callback(withoutTail(deflated));
    });
  });
}

/**
 * The compression of one connection, whose messages refer to those before them. It has a context
 * from its first message on, until it has been idle for a while: the first message after that
 * refers to no other, which the peer need not know.
 */
class OwnDeflater {
  /** @param {Compression} compression */
  constructor(compression) {
    this.isUsed = false;
    this.isBusy = false;
    this._compression = compression;
    this._handle = null;
  }

  /**
   * @param {Uint8Array} bytes at least one
   * @param {number} length of them
   * @returns {Buffer} memory that the next message overwrites
   */
  deflate(bytes, length) {
    return withoutTail(this.deflateFragment(bytes, length));
  }

  /**
   * Compresses a part of a message. The last part's tail is to be removed.
   *
   * @param {Uint8Array} bytes
   * @param {number} length of them
   * @returns {Buffer} memory that the next message overwrites
   */
  deflateFragment(bytes, length) {
    this._use().compress(bytes, length);
    return takeOutput();
  }

  /**
   * Compresses a message in the thread pool. Nothing else may be compressed meanwhile.
   *
   * @param {Buffer} bytes nobody else's
   * @param {(deflated: Buffer) => void} callback
   */
  deflateLater(bytes, callback) {
    this.deflateFragmentLater(bytes, (deflated) => callback(withoutTail(deflated)));
  }

  /**
   * `deflateFragment` in the thread pool.
   *
   * @param {Buffer} bytes nobody else's
   * @param {(deflated: Buffer) => void} callback
   */
  deflateFragmentLater(bytes, callback) {
    const { stream } = this._use();
    this.isBusy = true;
    runInPool((done) => {
      const chunks = [];
      const collect = (chunk) => chunks.push(chunk);
      stream.on('data', collect);
      stream.write(bytes);
      stream.flush(Z_SYNC_FLUSH, () => {
        stream.off('data', collect);
        this.isBusy = false;
        done();
        callback(Buffer.concat(chunks));
      });
    });
  }

  /** Forgets what has been sent. */
  reset() {
    this._handle?.reset();
  }

  /** Releases the context. The next message begins another. */
  release() {
    forgetContext(this);
    this._handle?.close();
    this._handle = null;
  }

  _use() {
    noteUse(this);
    this._handle ??= new ZlibHandle(zlib.createDeflateRaw(this._compression));
    return this._handle;
  }
}

/**
 * @param {Buffer} deflated what a sync flush ends
 * @returns {Buffer}
 */
function withoutTail(deflated) {
  return deflated.subarray(0, deflated.length - TAIL_SIZE);
}

module.exports = { OwnDeflater, TAIL_SIZE, deflateAlone, deflateAloneLater, keyOf };
