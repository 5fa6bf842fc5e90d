'use strict';

const { invalidType, outOfRange } = require('../shared/errors');
const { checkNames } = require('../shared/option-names');

/** A timer takes no longer times. */
const MAX_SECONDS = (2 ** 31 - 1) / 1000;

/**
 * Watches that a stream gets at least so many bytes in each period. A period in which the socket was
 * paused does not count, nor one that began so: the peer could not send.
 */
class LeastRate {
  /**
   * @param {import('node:stream').Duplex} socket
   * @param {{ bytes: number, seconds: number }} least
   * @param {() => void} onSlow called once
   */
  constructor(socket, { bytes, seconds }, onSlow) {
    this._socket = socket;
    this._least = bytes;
    this._onSlow = onSlow;
    this._bytes = 0;
    this._wasPaused = socket.isPaused();
    this._onPause = () => {
      this._wasPaused = true;
    };
    socket.on('pause', this._onPause);
    this._timer = setInterval(() => this._judge(), seconds * 1000).unref();
  }

  /** Counts bytes of the stream, inflated. */
  add(count) {
    this._bytes += count;
  }

  stop() {
    clearInterval(this._timer);
    this._socket.off('pause', this._onPause);
  }

  _judge() {
    const isSlow = this._bytes < this._least && !this._wasPaused;
    this._bytes = 0;
    this._wasPaused = this._socket.isPaused();
    if (isSlow) this._onSlow();
  }
}

/** @returns {{ bytes: number, seconds: number } | undefined} the option `minRate`, checked */
function readRate({ minRate }) {
  if (minRate === undefined) return undefined;
  if (typeof minRate !== 'object' || minRate === null) throw invalidType('options.minRate', 'an object', minRate);
  checkNames(minRate, 'minRate');
  const { bytes, seconds = 10 } = minRate;
  checkNumber('options.minRate.bytes', bytes, Number.MAX_SAFE_INTEGER);
  checkNumber('options.minRate.seconds', seconds, MAX_SECONDS);
  return { bytes, seconds };
}

function checkNumber(name, value, max) {
  if (typeof value !== 'number') throw invalidType(name, 'a number', value);
  if (!(value > 0 && value <= max)) throw outOfRange(name, `above 0, and at most ${max}`, value);
}

module.exports = { LeastRate, readRate };
