'use strict';

const { invalidType, outOfRange } = require('../shared/errors');

/** setTimeout takes no longer times. */
const MAX_SECONDS = (2 ** 31 - 1) / 1000;

/**
 * Watches that a socket's peer sends at least so many bytes in each period. A period in which the
 * socket was paused does not count: the peer could not send.
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
    this._wasPaused = false;
    this._onPause = () => {
      this._wasPaused = true;
    };
    socket.on('pause', this._onPause);
    this._timer = setInterval(() => this._judge(), seconds * 1000).unref();
  }

  add(bytes) {
    this._bytes += bytes;
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

/** @returns {{ bytes: number, seconds: number } | undefined} the option `minRate` */
function readRate({ minRate }) {
  if (minRate === undefined) return undefined;
  if (typeof minRate !== 'object' || minRate === null) throw invalidType('options.minRate', 'an object', minRate);
  const { bytes, seconds = 10 } = minRate;
  if (!(bytes > 0)) throw outOfRange('options.minRate.bytes', 'a number above 0', bytes);
  if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
    throw outOfRange('options.minRate.seconds', `a number above 0, at most ${MAX_SECONDS}`, seconds);
  }
  return { bytes, seconds };
}

module.exports = { LeastRate, readRate };
