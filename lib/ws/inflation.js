'use strict';

const { isUtf8 } = require('../shared/node-modules').buffer;

const { FrameError } = require('../shared/errors');
const { toBinaryType } = require('./binary-types');
const { toWsError } = require('./frame-errors');

/**
 * The compressed message of a connection. Its frames are inflated one after the other by ws's
 * PerMessageDeflate, while the decoder is paused.
 */
class Inflation {
  /**
   * @param {import('./incoming').Incoming} incoming
   * @param {object} deflate ws's PerMessageDeflate
   * @param {{ maxPayload: number, isChecked: boolean, isDeferred: boolean }} options the most bytes
   *   of a message, 0 or less for no limit; whether text must be UTF-8; whether each binary message
   *   has a turn of its own
   */
  constructor(incoming, deflate, { maxPayload, isChecked, isDeferred }) {
    this.isCompressed = false;
    this._incoming = incoming;
    this._deflate = deflate;
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
   * Inflates a frame's payload, and lets the decoder go on then.
   *
   * @param {Buffer} data
   * @param {boolean} isLast
   */
  add(data, isLast) {
    this._deflate.decompress(data, isLast, (error, inflated) => {
      if (error) {
        this._incoming.fail(error);
        return;
      }
      if (inflated.length !== 0) this._fragments.push(inflated);
      this._length += inflated.length;
      if (this._length > this._maxPayload) this._incoming.fail(tooBig());
      else if (isLast) this._deliver();
      else this._incoming.resume();
    });
  }

  _deliver() {
    const fragments = this._fragments;
    const isBinary = this._isBinary;
    const data = fragments.length === 1 ? fragments[0] : Buffer.concat(fragments, this._length);
    this._fragments = [];
    if (!isBinary && this._isChecked && !isUtf8(data)) {
      this._incoming.fail(toWsError(new FrameError('UTF8', 1007, '')));
      return;
    }
    const { binaryType } = this._incoming.websocket;
    const lengths = fragments.length > 1 ? fragments.map(({ length }) => length) : undefined;
    const given = isBinary ? toBinaryType(data, binaryType, lengths) : data;
    if (isBinary && this._isDeferred) this._incoming.defer('message', given, true);
    else this._incoming.emitInflated(given, isBinary);
  }
}

/** @returns {Error} */
const tooBig = () => toWsError(new FrameError('MESSAGE_TOO_BIG', 1009, ''));

module.exports = { Inflation };
