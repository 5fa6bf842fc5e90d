'use strict';

// What the page's list shows of a frame: an array of numbers and a short text, because there may be
// 100,000 of them. page/store.mjs reads it.

const { unmasked } = require('./parse-frames');

const PREVIEW = 48;

/** Whether a frame is of a compressed message, as far as its own bits say. */
const isCompressed = (frame) => (frame.rsv & 4) !== 0;

/** @returns {Buffer | null} the payload's first bytes, unmasked; null if they are not known */
function beginningOf(frame, count) {
  if (frame.parsed !== null) return unmasked(frame.parsed, 0, count);
  return frame.beginning?.subarray(0, count) ?? null;
}

/** @returns {string} the beginning of a payload: text where it is text, hex otherwise */
function previewOf(frame) {
  if (frame.fault !== null) return frame.fault.code.replace('FRAMEMASK_ERR_', '');
  const bytes = beginningOf(frame, PREVIEW * 2);
  if (bytes === null || bytes.length === 0) return '';
  if (frame.opcode === 8 && bytes.length >= 2) {
    return `${bytes.readUInt16BE(0)} ${bytes.subarray(2).toString()}`.slice(0, PREVIEW);
  }
  if (!isCompressed(frame) && frame.opcode !== 2) {
    const text = bytes.toString();
    // A character may be cut at the end, or in two by fragments.
    if (!/\ufffd/.test(text.slice(1, -1))) return text.slice(0, PREVIEW);
  }
  return bytes.subarray(0, 16).toString('hex').replace(/../g, '$& ').trimEnd();
}

/**
 * @param {import('./session').Frame} frame
 * @returns {(number | string | null)[]} connection, whether the server sent it, sequence, time, opcode
 *   (-1 unknown), bits (FIN is 1, masked 2, RSV from 4 on), length (-1 unknown), message, place,
 *   state, the ends that have a record (sent 1, received 2), and the preview
 */
function rowOf(frame) {
  const { ends } = frame;
  return [
    frame.connection,
    frame.from === 'server' ? 1 : 0,
    frame.sequence,
    frame.time,
    frame.opcode ?? -1,
    (frame.fin ? 1 : 0) | (frame.masked ? 2 : 0) | (frame.rsv << 2),
    frame.length ?? -1,
    frame.message,
    frame.place,
    frame.state,
    ends === null ? 0 : (ends.sent === null ? 0 : 1) | (ends.received === null ? 0 : 2),
    previewOf(frame)
  ];
}

module.exports = { beginningOf, rowOf };
