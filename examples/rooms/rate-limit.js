'use strict';

/** A token bucket: `burst` messages at once, and `perSecond` in the long run. */
class RateLimit {
  constructor({ burst, perSecond }, now = performance.now()) {
    this._burst = burst;
    this._perSecond = perSecond;
    this._tokens = burst;
    this._at = now;
  }

  /** @returns {boolean} whether one more message is within the limit, at `now` milliseconds */
  take(now = performance.now()) {
    const earned = ((now - this._at) / 1000) * this._perSecond;
    this._tokens = Math.min(this._burst, this._tokens + earned);
    this._at = now;
    if (this._tokens < 1) return false;
    this._tokens--;
    return true;
  }
}

module.exports = { RateLimit };
