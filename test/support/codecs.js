'use strict';

const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { assertBytes } = require('./cases');
const { unmasked } = require('./frames');

/** @returns {typeof Decoder} a Decoder over another backend, see lib/codec/backend.js */
function decoderOver(backend) {
  return class DecoderOver extends Decoder {
    constructor(options) {
      super(options, backend);
    }
  };
}

/** @returns {typeof Encoder} the same for an Encoder */
function encoderOver(backend) {
  return class EncoderOver extends Encoder {
    constructor(options) {
      super(options, backend);
    }
  };
}

/** Compares the frames that an Encoder has collected, those of a client without their masks. */
function assertSent(encoder, ...frames) {
  const bytes = Buffer.concat(encoder.take());
  assertBytes(encoder.role === 'client' ? unmasked(bytes) : bytes, Buffer.concat(frames), 'what is sent');
}

module.exports = { assertSent, decoderOver, encoderOver };
