'use strict';

// What the largest cases need: a message of 16 MiB, and one of 4 MiB in fragments of 64 bytes.

const MAX_PAYLOAD = 16 * 1024 * 1024;
const LIMITS = { maxPayload: MAX_PAYLOAD, maxFragments: Number.POSITIVE_INFINITY };

/** Sections 12 and 13 begin with messages of 16 bytes; these are compressed, too. */
const deflateOptions = (contexts) => ({ contextTakeover: contexts === 'takeover', threshold: 0 });

/** For ws, in which 0 is no limit. */
const WS_OPTIONS = {
  maxPayload: MAX_PAYLOAD,
  maxFragments: 0,
  maxBufferedChunks: 0,
  perMessageDeflate: { threshold: 0 }
};

/** Sends messages of a WebSocket back. */
function echoWs(socket) {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  // The suite breaks the rules; the connection is closed.
  socket.on('error', () => {});
}

module.exports = { HOST: '127.0.0.1', LIMITS, MAX_PAYLOAD, WS_OPTIONS, deflateOptions, echoWs };
