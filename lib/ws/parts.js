'use strict';

/**
 * The modules that connections need. They load when the first server or client is made, not with
 * framemask/ws: a program without either starts 18 ms sooner. Nothing is left to a read: `require`
 * fails there without descriptors, after its files were replaced, and after Jest's teardown.
 */

let codec = null;
let compression = null;
let http2 = null;

/** All that a connection without compression may need. */
function loadCodec() {
  codec ??= {
    ...require('../codec/decoder'),
    ...require('../codec/encoder'),
    ...require('../frame-id'),
    ...require('./frame-errors'),
    ...require('./message-streams'),
    ...require('./messages'),
    ...require('./drained'),
    ...require('./send-stream'),
    ...require('./websocket-stream')
  };
  return codec;
}

/** What a connection with permessage-deflate needs, too. */
function loadCompression() {
  compression ??= require('./compression');
  return compression;
}

function loadHttp2() {
  http2 ??= require('../http2/over-http2');
  return http2;
}

module.exports = { loadCodec, loadCompression, loadHttp2 };
