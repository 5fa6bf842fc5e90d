'use strict';

const { FrameError } = require('./errors');

/** For "a byte stream ... that is not, in fact, a valid UTF-8 stream" (RFC 6455 section 8.1). */
function utf8Error() {
  return new FrameError('UTF8', 1007, 'A text message is not UTF-8');
}

/** For a handler that transferred memory, to a worker say, which undelivered frames lie in. */
function detachedError() {
  return new FrameError('DETACHED', 1011, 'The memory of frames was detached before they were delivered');
}

function tooBigError() {
  return new FrameError('MESSAGE_TOO_BIG', 1009, 'A message is longer than maxPayload when it is inflated');
}

module.exports = { detachedError, tooBigError, utf8Error };
