'use strict';

// Finds the frames that have a text or bytes in them, the text of a message also across its
// fragments.

const { setImmediate: turn } = require('node:timers/promises');
const { opcodeName } = require('./rfc');
const { closeOf, payloadOf } = require('./session');

/** How many bytes are looked at before others have their turn. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** @returns {Buffer} a copy with ASCII letters in lower case */
const lower = (bytes) =>
  Buffer.from(
    bytes.latin1Slice().replace(/[A-Z]+/g, (text) => text.toLowerCase()),
    'latin1'
  );

/** @param {string} query text, without regard to the case of ASCII letters; or `hex:` and bytes */
function matcher(query) {
  const hex = /^hex:((?:\s*[\da-f]{2})+)\s*$/i.exec(query);
  if (hex !== null) {
    const bytes = Buffer.from(hex[1].replace(/\s/g, ''), 'hex');
    return (_frame, payload) => payload.includes(bytes);
  }
  const text = query.toLowerCase();
  const needle = lower(Buffer.from(query));
  return (frame, payload) => {
    const { fault, opcode } = frame;
    return (
      lower(payload).includes(needle) ||
      (fault !== null && (fault.code.toLowerCase().includes(text) || String(fault.closeCode) === text)) ||
      String(closeOf(frame)?.code ?? '') === text ||
      (opcode !== null && opcodeName(opcode) === text)
    );
  };
}

/**
 * @param {() => boolean} isWanted false ends the search
 * @returns {Promise<number[] | null>} the indexes of the frames, ascending; null if it was ended
 */
async function search({ frames }, query, isWanted) {
  const matches = matcher(query);
  const found = new Set();
  let bytes = 0;
  const look = (payload, frame, places) => {
    bytes += payload.length + 1000;
    if (matches(frame, payload)) for (const { index } of places) found.add(index);
  };
  for (const frame of frames) {
    const { message } = frame;
    look(payloadOf(frame) ?? Buffer.alloc(0), frame, [frame]);
    if (frame.fin && (message?.fragments > 1 || message?.inflated)) {
      look(message.inflated ?? message.sent(), frame, message.frames);
    }
    if (bytes < BATCH_BYTES) continue;
    bytes = 0;
    await turn();
    if (!isWanted()) return null;
  }
  return [...found].sort((a, b) => a - b);
}

module.exports = { search };
