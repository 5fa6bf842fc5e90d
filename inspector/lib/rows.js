'use strict';

// A frame as the page's list shows it: an array of numbers and a short text, because there may be
// hundreds of thousands. page/store.mjs reads it.

const { Place, closeOf, payloadOf } = require('./session');

const PREVIEW = 80;

/** @returns {string} text where the bytes are text, hex otherwise */
function previewOfBytes(bytes, isText) {
  if (bytes === null) return '';
  if (isText) {
    const text = bytes.subarray(0, PREVIEW * 3).toString();
    // A character may be cut at the end, or in two by fragments.
    if (!text.slice(1, -1).includes('\ufffd')) return text.slice(0, PREVIEW);
  }
  const hex = bytes.toString('hex', 0, PREVIEW / 3);
  return hex.replace(/../g, '$& ').trimEnd();
}

/** @returns {string} the beginning of a frame's payload */
function previewOf(frame) {
  const { fault, message } = frame;
  if (fault !== null) return fault.code.replace('FRAMEMASK_ERR_', '');
  const close = closeOf(frame);
  if (close !== null) return `${close.code} ${close.reason}`.slice(0, PREVIEW).trimEnd();
  return previewOfBytes(payloadOf(frame, PREVIEW * 3), !message?.isCompressed && (message?.head ?? frame).opcode !== 2);
}

/**
 * The message that a frame begins, if the list shows more of it than the frame's own payload.
 * @returns {[frames: number, length: number, inflated: number, preview: string] | null} `length` on
 *   the wire, `inflated` -1 if it is not known
 */
function messageRow(frame) {
  const { message, opcode, place } = frame;
  if (message?.head !== frame || (place === Place.WHOLE && !message.isCompressed)) return null;
  const content = message.content(PREVIEW * 3);
  const preview = previewOfBytes(content ?? message.sent(PREVIEW), opcode !== 2 && content !== null);
  return [message.fragments, message.size, message.inflated?.length ?? -1, preview];
}

/**
 * @returns {(number | string | null)[]} connection, whether the server sent it, sequence, time,
 *   opcode (-1 unknown), bits (FIN is 1, masked 2, RSV from 4 on), length (-1 unknown), place,
 *   state, the ends that have a record (sent 1, received 2), the preview, the index of the frame
 *   that begins its message (-1 without one), and the result of messageRow
 */
function rowOf(frame) {
  const { connection, from, sequence, time, opcode, fin, masked, rsv, length, place, state, ends } = frame;
  return [
    connection,
    from === 'server' ? 1 : 0,
    sequence,
    time,
    opcode ?? -1,
    (fin ? 1 : 0) | (masked ? 2 : 0) | (rsv << 2),
    length ?? -1,
    place,
    state,
    (ends?.sent ? 1 : 0) | (ends?.received ? 2 : 0),
    previewOf(frame),
    frame.message?.head.index ?? -1,
    messageRow(frame)
  ];
}

module.exports = { rowOf };
