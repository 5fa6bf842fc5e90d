'use strict';

const framemask = require('../../../index.js');
const { listen, options } = require('./options');

// The example asks for text as bytes, which is enough for an echo, and sends all messages back.
const { Decoder } = framemask;
framemask.Decoder = function createDecoder({ onMessage, ...others }) {
  const onUpload = function (data, isBinary) {
    if (!isBinary) onMessage.call(this, data, isBinary);
  };
  return new Decoder({ ...others, text: options.text, onMessage: options.upload ? onUpload : onMessage });
};

const { createEchoServer } = require(`../../../examples/${options.deflate ? 'deflate' : 'echo-server'}`);

listen(createEchoServer({ sharedReads: options.oneBuffer === true, deflate: { threshold: 0 } }));
