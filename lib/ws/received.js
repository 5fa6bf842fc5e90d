'use strict';

const { countReads } = require('./receiver-adapter');
const { receiverOf } = require('./internals');

/** See ws.d.ts. */
function received(websocket) {
  const receiver = receiverOf(websocket);
  if (receiver === null) return { bytes: 0, time: performance.now() };
  return { ...countReads(receiver) };
}

module.exports = { received };
