'use strict';

/** @returns {object} options with `perMessageDeflate: { contextTakeover: false }` in ws's words */
function withoutTakeover(options) {
  const deflate = options?.perMessageDeflate;
  if (typeof deflate !== 'object' || deflate === null || deflate.contextTakeover !== false) return options;
  const flags = { serverNoContextTakeover: true, clientNoContextTakeover: true };
  return { ...options, perMessageDeflate: { ...deflate, ...flags } };
}

module.exports = { withoutTakeover };
