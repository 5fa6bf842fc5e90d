'use strict';

// A frame as the page's list shows it: an array of numbers and a short text, because there may be
// hundreds of thousands. page/store.mjs reads it.

const { unmasked } = require('./parse-frames');
const { Place } = require('./session');

const PREVIEW = 80;

/** @returns {Buffer | null} the payload's first bytes, unmasked; null if they are not known */
function beginningOf(frame, count) {
  if (frame.parsed !== null) return unmasked(frame.parsed, 0, count);
  return frame.beginning?.subarray(0, count) ?? null;
}

/** Whether a frame is of a compressed message (RFC 7692 section 6). */
const isCompressed = ({ head, rsv, opcode }) => ((head ?? { rsv }).rsv & 4) !== 0 && opcode !== null && opcode < 8;

/** @returns {string} text where the bytes are text, hex otherwise */
function previewOfBytes(bytes, isText) {
  if (bytes === null) return '';
  if (isText) {
    const text = bytes.subarray(0, PREVIEW * 3).toString();
    // A character may be cut at the end, or in two by fragments.
    if (!/\ufffd/.test(text.slice(1, -1))) return text.slice(0, PREVIEW);
  }
  return bytes
    .subarray(0, PREVIEW / 3)
    .toString('hex')
    .replace(/../g, '$& ')
    .trimEnd();
}

/** @returns {string} the beginning of a frame's payload */
function previewOf(frame) {
  if (frame.fault !== null) return frame.fault.code.replace('FRAMEMASK_ERR_', '');
  const bytes = beginningOf(frame, PREVIEW * 3);
  if (frame.opcode === 8 && bytes?.length >= 2) {
    return `${bytes.readUInt16BE(0)} ${bytes.subarray(2).toString()}`.slice(0, PREVIEW).trimEnd();
  }
  return previewOfBytes(bytes, !isCompressed(frame) && (frame.head ?? frame).opcode !== 2);
}

/** @returns {Buffer} the first bytes of a message, from its fragments */
function beginningOfMessage(data, count) {
  const pieces = [];
  for (const frame of data) {
    if (count <= 0) break;
    const bytes = beginningOf(frame, count) ?? Buffer.alloc(0);
    pieces.push(bytes);
    count -= bytes.length;
    if (bytes.length < (frame.length ?? 0)) break; // the next frame's bytes are not next to these
  }
  return Buffer.concat(pieces);
}

/**
 * The message that a frame begins, if the list shows more of it than the frame's own payload.
 *
 * @returns {[frames: number, length: number, inflated: number, preview: string] | null} `length` on
 *   the wire, `inflated` -1 if it is not known
 */
function messageRow(frame, fragments) {
  const { head, size, last } = frame;
  if (head !== frame || (frame.place === Place.WHOLE && !isCompressed(frame))) return null;
  const { inflated } = last;
  const bytes = inflated ?? beginningOfMessage(fragments(), PREVIEW * 3);
  const isText = frame.opcode !== 2 && (inflated !== null || !isCompressed(frame));
  return [frame.fragments, size, inflated?.length ?? -1, previewOfBytes(bytes, isText)];
}

/**
 * @param {import('./session').Session} session
 * @param {import('./session').Frame} frame
 * @returns {(number | string | null)[]} connection, whether the server sent it, sequence, time, opcode
 *   (-1 unknown), bits (FIN is 1, masked 2, RSV from 4 on), length (-1 unknown), message, place,
 *   state, the ends that have a record (sent 1, received 2), the preview, and the result of messageRow
 */
function rowOf(session, frame) {
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
    previewOf(frame),
    messageRow(frame, () => session.fragmentsOf(frame))
  ];
}

module.exports = { beginningOf, beginningOfMessage, isCompressed, rowOf };
