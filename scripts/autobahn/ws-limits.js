'use strict';

// Options of `ws` that both roles need.

const limits = {
  /** The largest message has 16 MiB. */
  maxPayload: 16 * 1024 * 1024,
  /** One of 4 MiB comes in fragments of 64 bytes; 0 is no limit. */
  maxFragments: 0,
  maxBufferedChunks: 0,
  /** Sections 12 and 13 begin with messages of 16 bytes; the echo of these is compressed, too. */
  perMessageDeflate: { threshold: 0 }
};

module.exports = { limits };
