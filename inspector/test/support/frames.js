'use strict';

// Frames for the tests, good and bad.

const { Decoder, Encoder } = require('framemask');
const { KEY, frame } = require('../../../test/support/frames');

/** @returns {Buffer} the frames that `fill` adds to an Encoder */
function encode(role, fill) {
  const encoder = new Encoder({ role });
  fill(encoder);
  return Buffer.concat(encoder.take());
}

/** @returns the frames and the error that a Decoder finds in one end's bytes, cut to `size` */
function decode(from, bytes, size) {
  const frames = [];
  let fault = null;
  const role = from === 'client' ? 'server' : 'client';
  const ofFrames = new Decoder({
    role,
    onFrame: (firstByte, data, start, end) => frames.push([firstByte, data.toString('hex', start, end)]),
    onError() {}
  });
  // It judges text, too.
  const ofMessages = new Decoder({
    role,
    text: 'buffer',
    onMessage() {},
    onError: ({ code, closeCode }) => {
      fault = { code, closeCode };
    }
  });
  for (let at = 0; at < bytes.length; at += size) {
    for (const decoder of [ofFrames, ofMessages]) decoder.write(Buffer.from(bytes.subarray(at, at + size)));
  }
  return { frames: frames.slice(0, ofMessages.framesRead), fault };
}

/** A frame of any first byte, a client's without `key: null`. */
function rawFrame(firstByte, payload, options) {
  return frame(firstByte & 15, payload, { fin: firstByte >= 0x80, rsv: firstByte & 0x70, key: KEY, ...options });
}

module.exports = { decode, encode, rawFrame };
