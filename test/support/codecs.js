'use strict';

const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');

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

module.exports = { decoderOver, encoderOver };
