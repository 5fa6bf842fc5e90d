'use strict';

// The payloads of frames, which their records lack. Only those who ask for payloads get this:
// framemask calls the function that its channel has by the symbol `framemask.seePayload` before
// each record.

const { channel } = require('node:diagnostics_channel');
const { parseFrame, unmasked } = require('./parse-frames');

const kSeePayload = Symbol.for('framemask.seePayload');
const frames = channel('framemask:frame');

/** The beginning of the payload of the frame whose record comes next. */
let current = null;

/** `data` is a payload, from `start` to before `end`, or a frame in pieces. */
function startOf(data, start, end, count) {
  if (Array.isArray(data)) return unmasked(parseFrame(Buffer.concat(data), 0), count);
  if (typeof data === 'string') return Buffer.from(data.slice(0, count)).subarray(0, count);
  const { buffer = data, byteOffset = 0, byteLength } = data;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  return Buffer.from(bytes.subarray(start, Math.min(end, start + count)));
}

/** @param {number} count how many bytes of each payload to keep */
function watchPayloads(count) {
  frames[kSeePayload] = (data, start = 0, end = Infinity) => {
    current = startOf(data, start, end, count);
  };
}

/** @returns {Buffer | null} the beginning of the payload of a record that is being published */
function takePayload({ error }) {
  const taken = error === null ? current : null;
  current = null;
  return taken;
}

module.exports = { takePayload, watchPayloads };
