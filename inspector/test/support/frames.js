'use strict';

// Frames for the tests, good and bad.

const { Encoder } = require('framemask');
const { KEY, frame } = require('../../../test/support/frames');

/** @returns {Buffer} the frames that `fill` adds to an Encoder */
function encode(role, fill) {
  const encoder = new Encoder({ role });
  fill(encoder);
  return Buffer.concat(encoder.take());
}

/** A frame of any first byte, a client's without `key: null`. */
function rawFrame(firstByte, payload, options) {
  return frame(firstByte & 15, payload, { fin: firstByte >= 0x80, rsv: firstByte & 0x70, key: KEY, ...options });
}

module.exports = { encode, rawFrame };
