'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, copyOf, lengthOf } = require('../shared/buffers');
const { forgetContext, noteUse } = require('./idle-contexts');
const { runInPool } = require('./thread-pool');
const { ZlibHandle, handlesWork, takeOutput } = require('./zlib-handle');

// Compression of messages (RFC 7692 section 7.2.1): "compress all the octets of the payload ...
// remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end".

const { Z_SYNC_FLUSH } = zlib.constants;
const TAIL_SIZE = 4;

/** @typedef {{ windowBits: number, level: number, memLevel: number }} Compression */

/**
 * The handles that all connections of this thread share, by `keyOf`. Each is reset after each
 * message, and takes 268 KB at most. There are as many as the levels in use times the 7 windows.
 */
const shared = new Map();

/** The same for all that compress alike. */
function keyOf({ windowBits, level, memLevel }) {
  return `${windowBits} ${level} ${memLevel}`;
}

/**
 * Compresses a message that refers to no other, and is not empty.
 *
 * @returns {Buffer} memory that the next message overwrites
 */
function deflateAlone(bytes, length, compression, handles = handlesWork()) {
  if (!handles) return withoutTail(zlib.deflateRawSync(bytes, optionsOf(compression)));
  const key = keyOf(compression);
  let handle = shared.get(key);
  if (handle === undefined) {
    handle = new ZlibHandle(zlib.createDeflateRaw(optionsOf(compression)));
    shared.set(key, handle);
  }
  try {
    handle.run(bytes, length, Infinity);
    return withoutTail(takeOutput());
  } finally {
    handle.reset();
  }
}

/** `deflateAlone` in the thread pool, of a string or bytes as they are when there is room in it. */
function deflateAloneLater(data, compression, callback) {
  runInPool((done) => {
    // Compressing can't fail: its memory is allocated before it begins.
    zlib.deflateRaw(ownBytes(data), optionsOf(compression), (_error, deflated) => {
      done();
      callback(withoutTail(deflated));
    });
  });
}

function optionsOf({ windowBits, level, memLevel }) {
  return { windowBits, level, memLevel, finishFlush: Z_SYNC_FLUSH };
}

/**
 * The compression of one connection, whose messages refer to those before them. It has a context
 * from its first message on, until it has been idle for a while: the first message after that
 * refers to no other, which the peer need not know.
 */
class OwnDeflater {
  /** @param {Compression} compression and other options of zlib */
  constructor(compression) {
    this.isUsed = false;
    this.isBusy = false;
    this._compression = compression;
    this._handle = null;
  }

  /** Like `deflateAlone`, but maybe of a part of a message. */
  deflate(bytes, length, isLast = true) {
    this._use().compress(bytes, length);
    return isLast ? withoutTail(takeOutput()) : takeOutput();
  }

  /** `deflate` in the thread pool, see `deflateAloneLater`. Nothing else may be compressed meanwhile. */
  deflateLater(data, callback, isLast = true) {
    this.isBusy = true;
    runInPool((done) => {
      const { stream } = this._use();
      const chunks = [];
      const collect = (chunk) => chunks.push(chunk);
      stream.on('data', collect);
      stream.write(ownBytes(data));
      stream.flush(Z_SYNC_FLUSH, () => {
        stream.off('data', collect);
        this.isBusy = false;
        done();
        const deflated = Buffer.concat(chunks);
        callback(isLast ? withoutTail(deflated) : deflated);
      });
    });
  }

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
 * What the thread pool may read while a program changes or transfers what it has sent: a copy. What
 * waits for the pool has none, so that a broadcast is held once. Nothing is left of bytes that have
 * been transferred.
 */
function ownBytes(data) {
  return typeof data === 'string' ? Buffer.from(data) : copyOf(data, 0, lengthOf(data));
}

function withoutTail(deflated) {
  return deflated.subarray(0, deflated.length - TAIL_SIZE);
}

module.exports = { OwnDeflater, deflateAlone, deflateAloneLater, keyOf };
