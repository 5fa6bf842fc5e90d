'use strict';

/**
 * `perMessageDeflate: { contextTakeover: false }` in the words of ws: neither end takes its context
 * over, so that framemask's shared contexts do.
 *
 * @template {{ perMessageDeflate?: * } | undefined} T
 * @param {T} options of a client or a server
 * @returns {T}
 */
function withoutTakeover(options) {
  const deflate = options?.perMessageDeflate;
  if (typeof deflate !== 'object' || deflate === null || deflate.contextTakeover !== false) return options;
  const flags = { serverNoContextTakeover: true, clientNoContextTakeover: true };
  return { ...options, perMessageDeflate: { ...deflate, ...flags } };
}

module.exports = { withoutTakeover };
