'use strict';

const framemask = require('../../../index.js');
const { listen, options } = require('./options');

// The example asks for text as bytes, which is enough for an echo.
const { Decoder } = framemask;
framemask.Decoder = function createDecoder(handlers) {
  return new Decoder({ ...handlers, text: options.text });
};

const { createEchoServer } = require(`../../../examples/${options.deflate ? 'deflate' : 'echo-server'}`);

listen(createEchoServer({ sharedReads: options.sharedReads === true, deflate: { threshold: 0 } }));
