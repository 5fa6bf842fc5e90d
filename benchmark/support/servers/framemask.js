'use strict';

const framemask = require('../../../index.js');
const { listen, options } = require('./options');

// The example asks for text as bytes, which is enough for an echo.
const { Decoder } = framemask;
framemask.Decoder = function createDecoder(decoderOptions) {
  return new Decoder({ ...decoderOptions, text: options.text });
};

const { createEchoServer } = require('../../../examples/echo-server');

listen(createEchoServer({ oneBuffer: options.oneBuffer }));
