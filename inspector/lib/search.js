'use strict';

// Finds the frames that have a text or bytes in them, the text of a message also across its
// fragments.

const { setImmediate: turn } = require('node:timers/promises');
const { beginningOf } = require('./rows');
const { Place } = require('./session');
const { opcodeName } = require('./rfc');

/** How many bytes are looked at before others have their turn. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** @returns {Buffer} a copy with ASCII letters in lower case */
function lower(bytes) {
  const copy = Buffer.from(bytes);
  for (let i = 0; i < copy.length; i++) if (copy[i] >= 65 && copy[i] <= 90) copy[i] |= 32;
  return copy;
}

/**
 * @param {string} query text, compared without regard to the case of ASCII letters; or `hex:` and
 *   bytes
 * @returns {(frame: import('./session').Frame, payload: Buffer) => boolean}
 */
function matcher(query) {
  const hex = /^hex:((?:\s*[\da-f]{2})+)\s*$/i.exec(query);
  if (hex !== null) {
    const bytes = Buffer.from(hex[1].replace(/\s/g, ''), 'hex');
    return (_frame, payload) => payload.includes(bytes);
  }
  const text = query.toLowerCase();
  const needle = lower(Buffer.from(query));
  return ({ fault, opcode }, payload) =>
    lower(payload).includes(needle) ||
    (fault !== null && (fault.code.toLowerCase().includes(text) || String(fault.closeCode) === text)) ||
    (opcode === 8 && payload.length >= 2 && String(payload.readUInt16BE(0)) === text) ||
    (opcode !== null && opcodeName(opcode) === text);
}

/**
 * @param {import('./session').Session} session
 * @param {string} query
 * @param {() => boolean} isWanted false ends the search
 * @returns {Promise<number[] | null>} the indexes of the frames, ascending; null if it was ended
 */
async function search(session, query, isWanted) {
  const matches = matcher(query);
  const found = new Set();
  let bytes = 0;
  for (let i = 0; i < session.frames.length; i++) {
    const frame = session.frames[i];
    const payload = beginningOf(frame, Infinity) ?? Buffer.alloc(0);
    if (matches(frame, payload)) found.add(i);
    bytes += payload.length + 1000;
    if (frame.place === Place.LAST) {
      const data = session.fragmentsOf(frame);
      const whole = Buffer.concat(data.map((fragment) => beginningOf(fragment, Infinity) ?? Buffer.alloc(0)));
      bytes += whole.length;
      if (matches(frame, frame.inflated ?? whole)) for (const { index } of data) found.add(index);
    } else if (frame.inflated !== null && matches(frame, frame.inflated)) {
      found.add(i);
    }
    if (bytes < BATCH_BYTES) continue;
    bytes = 0;
    await turn();
    if (!isWanted()) return null;
  }
  return [...found].sort((a, b) => a - b);
}

module.exports = { search };
