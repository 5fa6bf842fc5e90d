'use strict';

const { kernel, nativeError } = require('../masking/backend');
const { canShareReads } = require('../sockets/shared-reads');
const { wsVersion } = require('./internals');
const { loadCompression } = require('./parts');

let registered = false;

/** Of this thread: see ws.d.ts. */
const connections = { opened: 0, shared: 0, compressed: 0 };

function setRegistered() {
  registered = true;
}

/** See ws.d.ts. */
function report() {
  const deflate = loadCompression().compressesHere() ? 'framemask' : 'ws';
  return {
    kernel,
    nativeError,
    ws: wsVersion,
    reads: canShareReads() ? 'shared' : 'events',
    deflate,
    registered,
    connections: { ...connections }
  };
}

module.exports = { connections, report, setRegistered };
