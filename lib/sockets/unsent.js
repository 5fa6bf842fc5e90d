'use strict';

/**
 * The bytes of a stream that the system has not taken: a handle's queue, as the timeout of
 * net.Socket judges it, or else all that waits in the stream. The property of the handle is not
 * documented.
 */
const unsentBytes = (stream) => queueOf(stream) ?? stream.writableLength;

/**
 * Whether the system has taken bytes meanwhile. A handle's queue changes only then; a stream's
 * grows with each write.
 */
function hasSent(stream, before, now) {
  return before > 0 && (queueOf(stream) === undefined ? now < before : now !== before);
}

const queueOf = (stream) => stream._handle?.writeQueueSize;

module.exports = { hasSent, unsentBytes };
