'use strict';

/**
 * @param {string} contexts `shared` or `takeover`
 * @returns {import('../../index').DeflateOptions} sections 12 and 13 begin with messages of 16
 *   bytes; these are compressed, too
 */
function deflateOptions(contexts) {
  return { contextTakeover: contexts === 'takeover', threshold: 0 };
}

module.exports = { deflateOptions };
