'use strict';

const { isUtf8 } = require('../shared/node-modules').buffer;

const { FrameError } = require('../shared/errors');
const { OPCODE, Opcode, isSendableCloseCode } = require('../shared/protocol');

// What a frame may be because of the frames before it, and what a message may be. The rules that a header alone can break
// are in lib/codec/header.js.

/**
 * Judges a data frame by its header, before anything of its payload is kept.
 *
 * @param {import('./partial-message').PartialMessage | null} message the message that has begun and not ended
 * @param {number} firstByte
 * @param {number} length of the payload
 * @param {number} maxLength the most bytes that a message may have
 * @param {number} maxFragments
 * @returns {FrameError | null}
 */
function findFault(message, firstByte, length, maxLength, maxFragments) {
  const continues = (firstByte & OPCODE) === Opcode.CONTINUATION;
  // "A fragmented message consists of a single frame with the FIN bit clear and an opcode other than 0, followed by
  // zero or more frames with the FIN bit clear and the opcode set to 0, and terminated by a single frame with the FIN
  // bit set and an opcode of 0" (RFC 6455 section 5.4).
  if (message === null && continues) {
    return new FrameError('CONTINUATION', 1002, 'A continuation frame continues no message');
  }
  if (message !== null && !continues) {
    return new FrameError('INTERLEAVED', 1002, 'A message begins before the fragmented message before it has ended');
  }
  if (length > maxLength - (message === null ? 0 : message.length)) {
    return new FrameError('MESSAGE_TOO_BIG', 1009, `A message is longer than ${maxLength} bytes`);
  }
  if (message !== null && message.fragments >= maxFragments) {
    return new FrameError('TOO_MANY_FRAGMENTS', 1008, `A message has more than ${maxFragments} fragments`);
  }
  return null;
}

/**
 * "If there is a body, the first two bytes of the body MUST be a 2-byte unsigned integer ... representing a status code
 * ... Following the 2-byte integer, the body MAY contain UTF-8-encoded data" (RFC 6455 section 5.5.1).
 *
 * @param {Buffer} payload of a Close frame
 * @returns {FrameError | null}
 */
function findCloseFault(payload) {
  if (payload.length === 0) return null;
  if (payload.length === 1) return new FrameError('CLOSE_LENGTH', 1002, 'A Close frame has a payload of one byte');
  const code = payload.readUInt16BE(0);
  if (!isSendableCloseCode(code)) return new FrameError('CLOSE_CODE', 1002, `A Close frame has the code ${code}`);
  return isUtf8(payload.subarray(2)) ? null : new FrameError('UTF8', 1007, 'The reason in a Close frame is not UTF-8');
}

/** @returns {FrameError} for "a byte stream ... that is not, in fact, a valid UTF-8 stream" (RFC 6455 section 8.1) */
function textFault() {
  return new FrameError('UTF8', 1007, 'A text message is not UTF-8');
}

module.exports = { findCloseFault, findFault, textFault };
