'use strict';

const { isUtf8 } = require('../shared/node-modules').buffer;

const { FrameError } = require('../shared/errors');
const { toBinaryType } = require('./binary-types');
const { toWsError } = require('./frame-errors');

/**
 * The compressed message of a connection. Its frames are inflated one after the other: small ones
 * at once, the others in the thread pool, while the decoder is paused.
 */
class Inflation {
  /** `deflate` is ws's PerMessageDeflate, `decompressor` what inflates instead of it, or null. */
  constructor(incoming, deflate, decompressor, maxPayload, isChecked) {
    this.isCompressed = false;
    this._incoming = incoming;
    this._deflate = deflate;
    this._decompressor = decompressor;
    this._maxPayload = maxPayload;
    this._isChecked = isChecked;
    this._isBinary = false;
    this._chunks = [];
    this._lengths = [];
    this._length = 0;
  }

  begin(isBinary, isCompressed) {
    this.isCompressed = isCompressed;
    this._isBinary = isBinary;
    this._chunks = [];
    this._lengths = [];
    this._length = 0;
  }

  /** Inflates a frame's payload here and now, or fails; false leaves it to `add`. */
  addNow(data, isLast) {
    if (this._decompressor === null) return false;
    let inflated;
    try {
      inflated = this._decompressor.inflate(data, isLast, this._maxPayload - this._length);
    } catch (fault) {
      this._incoming.failNow(toWsError(fault));
      return true;
    }
    if (inflated === null) return false;
    this._keep([inflated]);
    return true;
  }

  /**
   * @returns {{ data: Buffer, lengths: number[] | undefined } | null} the message whose last frame
   *   `addNow` has inflated; null if `add` has delivered it, or it is not UTF-8
   */
  take() {
    const chunks = this._chunks;
    if (chunks === null) return null;
    this._chunks = null;
    const data = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, this._length);
    if (!this._isBinary && this._isChecked && !isUtf8(data)) {
      this._incoming.failNow(toWsError(new FrameError('UTF8', 1007, '')));
      return null;
    }
    return { data, lengths: this._lengths.length > 1 ? this._lengths : undefined };
  }

  /** Keeps what a frame has been inflated to. Joined before the last frame, it would be held twice. */
  _keep(chunks) {
    const before = this._length;
    for (const chunk of chunks) {
      this._chunks.push(chunk);
      this._length += chunk.length;
    }
    if (this._length !== before) this._lengths.push(this._length - before);
  }

  /** Inflates a frame's payload in the thread pool, and lets the decoder go on then. */
  add(data, isLast) {
    const incoming = this._incoming;
    const callback = (error, chunks) => {
      if (error) {
        incoming.fail(error.closeCode === undefined ? error : toWsError(error));
        return;
      }
      this._keep(chunks);
      if (this._length > this._maxPayload) {
        incoming.fail(toWsError(new FrameError('MESSAGE_TOO_BIG', 1009, '')));
      } else if (isLast) this._deliver();
      else incoming.resume();
    };
    if (this._decompressor === null) this._deflate.decompress(data, isLast, (error, all) => callback(error, [all]));
    else this._decompressor.inflateLater(isLast, this._maxPayload - this._length, callback);
  }

  _deliver() {
    const incoming = this._incoming;
    const isBinary = this._isBinary;
    const message = this.take();
    if (message === null) {
      incoming.settleFailure();
      return;
    }
    const { data, lengths } = message;
    const given = isBinary ? toBinaryType(data, incoming.websocket.binaryType, lengths) : data;
    if (isBinary && incoming.isDeferred) incoming.defer('message', given, true);
    else incoming.emitInflated(given, isBinary);
  }
}

module.exports = { Inflation };
