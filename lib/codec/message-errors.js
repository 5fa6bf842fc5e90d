'use strict';

const { FrameError } = require('../shared/errors');

/** For "a byte stream ... that is not, in fact, a valid UTF-8 stream" (RFC 6455 section 8.1). */
function utf8Error() {
  return new FrameError('UTF8', 1007, 'A text message is not UTF-8');
}

/** For a handler that transferred memory, to a worker say, which undelivered frames lie in. */
function detachedError() {
  return new FrameError('DETACHED', 1011, 'The memory of frames was detached before they were delivered');
}

module.exports = { detachedError, utf8Error };
