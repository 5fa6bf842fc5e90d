'use strict';

const { tooBigError } = require('../shared/errors');
const { zlib } = require('../shared/node-modules');
const { Buffer, EMPTY } = require('../shared/buffers');
const { TAIL, dataError, fitsTurn, runWithTail } = require('./inflate-message');
const {
  ZlibHandle,
  copyIfShared,
  dropOutput,
  outputLength,
  runInPool,
  supportsSyncZlib,
  lendOutput
} = require('./zlib-handle');

const { Z_SYNC_FLUSH } = zlib.constants;

/**
 * The inflating context of one connection: for messages that refer to those before them, and for
 * messages in fragments. It lives until the connection ends, because the peer relies on it.
 */
class ConnectionInflater {
  /** @param {import('node:zlib').ZlibOptions} options */
  constructor(options, sync = supportsSyncZlib()) {
    this._options = options;
    this._sync = sync;
    this._stream = null;
    this._handle = null;
    // The work that `inflate` left to `inflateLater`: copies, which nobody changes meanwhile.
    this._begun = null;
    this._rest = null;
  }

  /** Like `inflateAlone`, maybe for a part of a message. Null leaves the rest to `inflateLater`. */
  inflate(bytes, length, isLast, turnLimit, limit) {
    this._open();
    const tail = isLast ? TAIL : EMPTY;
    if (!this._sync) {
      this._leave(EMPTY, Buffer.concat([bytes, tail]));
      return null;
    }
    const handle = this._handle;
    const fits = fitsTurn(length, turnLimit);
    // One byte, if there is one, shows whether zlib takes any.
    const size = fits ? length : Math.min(length, 1);
    const itsTail = fits ? tail : EMPTY;
    try {
      let left = runWithTail(handle, bytes, size, itsTail, turnLimit, limit);
      if (left === size + itsTail.length && size !== 0) {
        // A final block ended with the tail of the message before: zlib takes nothing more.
        handle.reset();
        left = runWithTail(handle, bytes, size, itsTail, turnLimit, limit);
      }
      if (!fits || outputLength() > turnLimit) {
        const rest = Buffer.concat([bytes, tail]).subarray(size + itsTail.length - left);
        this._leave(copyIfShared(lendOutput()), rest);
        return null;
      }
      // After a final block zlib takes nothing more (RFC 7692 section 7.2.3.4).
      if (left !== 0) handle.reset();
      return lendOutput();
    } finally {
      dropOutput();
    }
  }

  /**
   * Goes on in the thread pool, and calls back with an error, or with all bytes, those of `inflate`
   * too, in chunks: joined, they take their memory twice. Nothing else may be inflated meanwhile.
   */
  inflateLater(limit, callback) {
    const stream = this._stream;
    const chunks = [this._begun];
    const rest = this._rest;
    let total = this._begun.length;
    this._leave(null, null);
    runInPool((done) => {
      let hasEnded = false;
      const end = (error) => {
        if (hasEnded) return;
        hasEnded = true;
        stream.off('data', collect).off('error', fail).off('close', fail);
        done();
        callback(error, error === null ? chunks : null);
      };
      const fail = (cause) => end(dataError(cause));
      const collect = (chunk) => {
        chunks.push(chunk);
        total += chunk.length;
        if (total > limit) end(tooBigError());
      };
      // `close` may have been called while it waited.
      if (stream.destroyed) {
        done();
        return;
      }
      stream.on('data', collect).on('error', fail).on('close', fail);
      stream.write(rest);
      stream.flush(Z_SYNC_FLUSH, () => end(null));
    }, callback);
  }

  close() {
    this._stream?.close();
    this._stream = this._handle = null;
  }

  reset() {
    (this._handle ?? this._stream)?.reset();
  }

  _leave(begun, rest) {
    this._begun = begun;
    this._rest = rest;
  }

  _open() {
    // A final block has ended the stream, in the thread pool.
    if (this._stream?.readableEnded) this.close();
    if (this._stream !== null) return;
    this._stream = zlib.createInflateRaw(this._options);
    // zlib may report a second error: ignore it.
    this._stream.on('error', () => {});
    if (this._sync) this._handle = new ZlibHandle(this._stream);
  }
}

module.exports = { ConnectionInflater };
