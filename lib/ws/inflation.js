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
  /**
   * @param {import('./incoming').Incoming} incoming
   * @param {object} deflate ws's PerMessageDeflate
   * @param {object | null} decompressor what inflates instead of it; null if nothing does
   * @param {{ maxPayload: number, isChecked: boolean, isDeferred: boolean }} options the most bytes
   *   of a message, 0 or less for no limit; whether text must be UTF-8; whether each binary message
   *   has a turn of its own
   */
  constructor(incoming, deflate, decompressor, { maxPayload, isChecked, isDeferred }) {
    this.isCompressed = false;
    this._incoming = incoming;
    this._deflate = deflate;
    this._decompressor = decompressor;
    this._maxPayload = maxPayload > 0 ? maxPayload : Infinity;
    this._isChecked = isChecked;
    this._isDeferred = isDeferred;
    this._isBinary = false;
    this._fragments = [];
    this._length = 0;
  }

  /**
   * Begins a message.
   *
   * @param {boolean} isBinary
   * @param {boolean} isCompressed
   */
  begin(isBinary, isCompressed) {
    this.isCompressed = isCompressed;
    this._isBinary = isBinary;
    this._fragments = [];
    this._length = 0;
  }

  /**
   * Inflates a frame's payload here and now, or fails.
   *
   * @param {Buffer} data
   * @param {boolean} isLast
   * @returns {boolean} false if it is left to `add`
   */
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
    this._keep(inflated);
    return true;
  }

  /**
   * @returns {{ data: Buffer, lengths: number[] | undefined } | null} the message whose last frame
   *   `addNow` has inflated; null if `add` has delivered it, or it is not UTF-8
   */
  take() {
    const fragments = this._fragments;
    if (fragments === null) return null;
    this._fragments = null;
    const data = fragments.length === 1 ? fragments[0] : Buffer.concat(fragments, this._length);
    if (!this._isBinary && this._isChecked && !isUtf8(data)) {
      this._incoming.failNow(toWsError(new FrameError('UTF8', 1007, '')));
      return null;
    }
    return { data, lengths: fragments.length > 1 ? fragments.map(({ length }) => length) : undefined };
  }

  _keep(inflated) {
    if (inflated.length !== 0) this._fragments.push(inflated);
    this._length += inflated.length;
  }

  /**
   * Inflates a frame's payload, and lets the decoder go on then.
   *
   * @param {Buffer} data
   * @param {boolean} isLast
   */
  add(data, isLast) {
    const callback = (error, inflated) => {
      if (error) {
        this._incoming.fail(error.closeCode === undefined ? error : toWsError(error));
        return;
      }
      this._keep(inflated);
      if (this._length > this._maxPayload) this._incoming.fail(tooBig());
      else if (isLast) this._deliver();
      else this._incoming.resume();
    };
    if (this._decompressor === null) this._deflate.decompress(data, isLast, callback);
    else this._decompressor.inflateLater(isLast, this._maxPayload - this._length, callback);
  }

  _deliver() {
    const isBinary = this._isBinary;
    const message = this.take();
    if (message === null) {
      this._incoming.settleFailure();
      return;
    }
    const { data, lengths } = message;
    const { binaryType } = this._incoming.websocket;
    const given = isBinary ? toBinaryType(data, binaryType, lengths) : data;
    if (isBinary && this._isDeferred) this._incoming.defer('message', given, true);
    else this._incoming.emitInflated(given, isBinary);
  }
}

/** @returns {Error} */
const tooBig = () => toWsError(new FrameError('MESSAGE_TOO_BIG', 1009, ''));

module.exports = { Inflation };
