'use strict';

const { FrameError } = require('../shared/errors');

/**
 * @param {number} limit
 * @returns {FrameError} for a message that inflates to more bytes than that
 */
function tooBigFault(limit) {
  return new FrameError('MESSAGE_TOO_BIG', 1009, `A message is longer than ${limit} bytes when it is inflated`);
}

/**
 * @param {Error} [cause]
 * @returns {FrameError} for a compressed message that can't be inflated: ws closes with 1007, too
 */
function dataFault(cause) {
  return new FrameError('DEFLATE', 1007, 'A compressed message is not DEFLATE', { cause });
}

module.exports = { dataFault, tooBigFault };
