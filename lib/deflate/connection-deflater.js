'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer } = require('../shared/buffers');
const { ownBytes, withoutTail } = require('./deflate-message');
const { ZlibHandle, forgetContext, noteUse, runInPool, takeOwnOutput } = require('./zlib-handle');

const { Z_SYNC_FLUSH } = zlib.constants;

/**
 * The compressing context of one connection: for messages that refer to those before them, and for
 * messages in fragments. It lives from the first of them until it has been idle for a while: the
 * message after that refers to no other, which the peer need not know.
 */
class ConnectionDeflater {
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
    const deflated = takeOwnOutput();
    return isLast ? withoutTail(deflated) : deflated;
  }

  /** `deflate` in the thread pool, see `deflateAloneLater`. Nothing else may be compressed meanwhile. */
  deflateLater(data, length, callback, isLast = true) {
    this.isBusy = true;
    const end = (error, deflated, bytes) => {
      this.isBusy = false;
      callback(error, deflated, bytes);
    };
    runInPool((done) => {
      const bytes = ownBytes(data, length);
      const { stream } = this._use();
      const chunks = [];
      const collect = (chunk) => chunks.push(chunk);
      stream.on('data', collect);
      stream.write(bytes);
      stream.flush(Z_SYNC_FLUSH, () => {
        stream.off('data', collect);
        done();
        const deflated = Buffer.concat(chunks);
        end(null, isLast ? withoutTail(deflated) : deflated, bytes);
      });
    }, end);
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

module.exports = { ConnectionDeflater };
