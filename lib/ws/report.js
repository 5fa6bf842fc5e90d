'use strict';

const { kernel, nativeError } = require('../masking/backend');
const { describeReads } = require('../sockets/shared-reads');

let registered = false;

/** Of this thread: see ws.d.ts. */
const connections = { opened: 0, shared: 0, compressed: 0 };

function setRegistered() {
  registered = true;
}

/** See ws.d.ts. */
function report() {
  const { version } = require('ws/package.json');
  const deflate = require('./compression').compressesHere() ? 'framemask' : 'ws';
  const { reads, batchedSockets, batchError } = describeReads();
  return {
    kernel,
    nativeError,
    ws: version,
    reads,
    batchError: batchError === null ? null : batchError.message,
    deflate,
    registered,
    connections: { ...connections, batched: batchedSockets }
  };
}

module.exports = { connections, report, setRegistered };
