'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, copyOf, lengthOf } = require('../shared/buffers');
const { goneError } = require('../shared/errors');
const { ZlibHandle, copyOutput, forgetContext, noteUse, runInPool, supportsSyncZlib } = require('./zlib-handle');

// Compression of messages (RFC 7692 section 7.2.1): "compress all the octets of the payload ...
// remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end".

const { Z_SYNC_FLUSH } = zlib.constants;
const TAIL_SIZE = 4;

/**
 * The smallest window that zlib compresses with. As it refers back 262 bytes less than the window,
 * what it compresses inflates with the window of 256 bytes, too (RFC 7692 section 7.1.2).
 */
const MIN_DEFLATE_BITS = 9;

/**
 * The handles that all connections of this thread share, by `Deflater.key`. Each is reset after
 * each message, and takes 268 KB at most. There are as many as the levels in use times the 7
 * windows.
 */
const shared = new Map();

/**
 * The messages that an endpoint sends compressed, frame by frame: in a context that all connections
 * share where a message refers to no other and is one frame, else in the connection's own. That one
 * lives from the first frame that needs it until it has been idle for a while: the message after
 * that refers to no other, which the peer need not know.
 */
class Deflater {
  /** @param {DeflateDirection} direction */
  constructor({ windowBits, contextTakeover, settings, zlibOptions }) {
    /** Whether messages refer to those before them (RFC 7692: context takeover). */
    this.hasTakeover = contextTakeover;
    /** Whether the connection's context has been used since `releaseIdle` looked at it last. */
    this.isUsed = false;
    /** Whether the thread pool uses the connection's context. */
    this.isBusy = false;
    const { level, memLevel } = settings;
    this._compression = { ...zlibOptions, windowBits: Math.max(windowBits, MIN_DEFLATE_BITS), level, memLevel };
    this._isShared = !contextTakeover && zlibOptions === undefined;
    this._handle = null;
    this._isAmidMessage = false;
    this._hasEnded = false;
  }

  /** The same for all that compress a message alike. */
  get key() {
    const { windowBits, level, memLevel } = this._compression;
    return `${windowBits} ${level} ${memLevel}`;
  }

  /** @returns {Buffer} the payload of a frame, compressed; pooled memory, as of Buffer.from */
  deflate(bytes, length, isLast) {
    if (this._beginFrame(length, isLast)) return this.deflateAlone(bytes, length);
    const handle = this._open();
    handle.compress(bytes, length);
    return this._endFrame(copyOutput(), isLast);
  }

  /**
   * `deflate` in the thread pool, of a string or bytes as they are when there is room in it. It
   * calls back with an error, or with the compressed bytes, and a copy of those that they are of.
   * Nothing else may be compressed meanwhile.
   */
  deflateLater(data, length, isLast, callback) {
    const isAlone = this._beginFrame(length, isLast);
    this.isBusy = !isAlone;
    const end = (error, deflated, bytes) => {
      this.isBusy = false;
      if (this._hasEnded) this.release();
      callback(error, deflated, bytes);
    };
    runInPool((done) => {
      const bytes = ownBytes(data, length);
      if (isAlone) {
        // Compressing can't fail: its memory is allocated before it begins.
        zlib.deflateRaw(bytes, this._optionsAlone, (_error, deflated) => {
          done();
          end(null, withoutTail(deflated), bytes);
        });
        return;
      }
      const { stream } = this._open();
      const chunks = [];
      const collect = (chunk) => chunks.push(chunk);
      stream.on('data', collect);
      stream.write(bytes);
      stream.flush(Z_SYNC_FLUSH, () => {
        stream.off('data', collect);
        done();
        end(null, this._endFrame(Buffer.concat(chunks), isLast), bytes);
      });
    }, end);
  }

  /** @returns {Buffer} compressed: a message, or a sample, not empty, that refers to no other */
  deflateAlone(bytes, length, sync = supportsSyncZlib()) {
    if (!sync) return withoutTail(zlib.deflateRawSync(bytes, this._optionsAlone));
    const { key } = this;
    let handle = shared.get(key);
    if (handle === undefined) {
      handle = new ZlibHandle(zlib.createDeflateRaw(this._optionsAlone));
      shared.set(key, handle);
    }
    try {
      handle.run(bytes, length, Infinity);
      return withoutTail(copyOutput());
    } finally {
      handle.reset();
    }
  }

  /** Releases the connection's context, as soon as the thread pool does not use it. */
  end() {
    this._hasEnded = true;
    if (!this.isBusy) this.release();
  }

  /** Releases the connection's context. The next message that needs it begins another. */
  release() {
    forgetContext(this);
    this._handle?.close();
    this._handle = null;
  }

  /** `zlibOptions` are for the connection's context alone. */
  get _optionsAlone() {
    const { windowBits, level, memLevel } = this._compression;
    return { windowBits, level, memLevel, finishFlush: Z_SYNC_FLUSH };
  }

  /** @returns {boolean} whether the frame is a message that the shared context compresses */
  _beginFrame(length, isLast) {
    const isAlone = this._isShared && isLast && !this._isAmidMessage && length !== 0;
    this._isAmidMessage = !isLast;
    return isAlone;
  }

  _open() {
    noteUse(this);
    this._handle ??= new ZlibHandle(zlib.createDeflateRaw(this._compression));
    return this._handle;
  }

  _endFrame(deflated, isLast) {
    if (isLast && !this.hasTakeover) this._handle.reset();
    return isLast ? withoutTail(deflated) : deflated;
  }
}

/**
 * A copy for the thread pool, which may read it while a program changes or transfers its Buffer. It
 * is made when there is room in the pool, so that a broadcast is held once.
 *
 * @throws {Error} if the bytes have been transferred until then
 */
function ownBytes(data, length) {
  if (typeof data === 'string') return Buffer.from(data);
  if (lengthOf(data) < length) throw goneError();
  return copyOf(data, 0, length);
}

function withoutTail(deflated) {
  return deflated.subarray(0, deflated.length - TAIL_SIZE);
}

module.exports = { Deflater, MIN_DEFLATE_BITS };
