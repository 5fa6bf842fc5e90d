'use strict';

// Reads a socket as lib/connection does: into memory that sockets share, where that can be done.

const { shareReads } = require('../../lib/sockets/shared-reads');

/**
 * @param {object} decoder with the option `borrowed`, or it is read by events
 * @param {(more: boolean) => void} [afterRead] called after each `write`, with its result; `this`
 *   is the socket
 * @returns {'shared' | 'events'} how the socket is read
 */
function readInto(socket, decoder, afterRead = () => {}) {
  const listener = (chunk) => afterRead.call(socket, decoder.write(chunk));
  socket.on('data', listener);
  return decoder._borrowed ? shareReads(socket, listener) : 'events';
}

module.exports = { readInto };
