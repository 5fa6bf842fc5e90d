'use strict';

const zlib = require('node:zlib');
const { acceptDeflate, offerDeflate } = require('../../index');

/** Both endpoints' agreement on these options. */
function agree(options = {}) {
  const offer = offerDeflate(options);
  const server = acceptDeflate(offer.header, options);
  return { server, client: offer.readAnswer(server.header) };
}

/** A message as zlib compresses it (RFC 7692 section 7.2.1). */
function deflateByZlib(bytes, options) {
  const deflated = zlib.deflateRawSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH, ...options });
  return deflated.subarray(0, -4);
}

const json = (count) => JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, name: `user ${id}` })));

module.exports = { agree, deflateByZlib, json };
