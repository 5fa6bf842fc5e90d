'use strict';

const { constants, isUtf8 } = require('../shared/node-modules').buffer;

const { FrameError } = require('../shared/errors');
const { OPCODE, Opcode, isSendableCloseCode } = require('../shared/protocol');
const { readLimit } = require('./options');

// What a frame may be because of the frames before it, and what a message may be. The rules that a
// header alone can break are in lib/codec/header.js.

class MessageLimits {
  constructor(options) {
    // Memory holds no more than MAX_LENGTH.
    this.maxPayload = Math.min(readLimit(options, 'maxPayload', 0, 100 * 1024 * 1024), constants.MAX_LENGTH);
    // For a message that is delivered as a string.
    this.maxString = Math.min(this.maxPayload, constants.MAX_STRING_LENGTH);
    this._maxFragments = readLimit(options, 'maxFragments', 1, 16 * 1024);
  }

  /**
   * Judges a data frame by its header, before its payload is kept. `message` has begun and not
   * ended, or is null; `isString` says that it is delivered as a string.
   */
  findFault(message, firstByte, length, isString) {
    const error = findPlaceFault(message, firstByte);
    if (error !== null) return error;
    const maxLength = isString ? this.maxString : this.maxPayload;
    if (length > maxLength - (message === null ? 0 : message.length)) {
      return new FrameError('MESSAGE_TOO_BIG', 1009, `A message is longer than ${maxLength} bytes`);
    }
    if (message !== null && message.fragments >= this._maxFragments) {
      return new FrameError('TOO_MANY_FRAGMENTS', 1008, `A message has more than ${this._maxFragments} fragments`);
    }
    return null;
  }
}

/**
 * "A fragmented message consists of a single frame with the FIN bit clear and an opcode other than
 * 0, followed by zero or more frames with the FIN bit clear and the opcode set to 0, and terminated
 * by a single frame with the FIN bit set and an opcode of 0" (RFC 6455 section 5.4).
 */
function findPlaceFault(message, firstByte) {
  const continues = (firstByte & OPCODE) === Opcode.CONTINUATION;
  if (message === null && continues) {
    return new FrameError('CONTINUATION', 1002, 'A continuation frame continues no message');
  }
  if (message !== null && !continues) {
    return new FrameError('INTERLEAVED', 1002, 'A message begins before the fragmented message before it has ended');
  }
  return null;
}

/**
 * "If there is a body, the first two bytes of the body MUST be a 2-byte unsigned integer ...
 * representing a status code ... Following the 2-byte integer, the body MAY contain UTF-8-encoded
 * data" (RFC 6455 section 5.5.1).
 */
function findCloseFault(payload, checked) {
  if (payload.length === 0) return null;
  if (payload.length === 1) return new FrameError('CLOSE_LENGTH', 1002, 'A Close frame has a payload of one byte');
  const code = payload.readUInt16BE(0);
  if (!isSendableCloseCode(code)) {
    const error = new FrameError('CLOSE_CODE', 1002, `A Close frame has the code ${code}`);
    error.receivedCode = code;
    return error;
  }
  if (!checked || isUtf8(payload.subarray(2))) return null;
  return new FrameError('UTF8', 1007, 'The reason in a Close frame is not UTF-8');
}

/** For "a byte stream ... that is not, in fact, a valid UTF-8 stream" (RFC 6455 section 8.1). */
function textFault() {
  return new FrameError('UTF8', 1007, 'A text message is not UTF-8');
}

/** For a handler that transferred memory, to a worker say, which undelivered frames lie in. */
function detachedFault() {
  return new FrameError('DETACHED', 1011, 'The memory of frames was detached before they were delivered');
}

function noMemoryFault(size, cause) {
  return new FrameError('MESSAGE_TOO_BIG', 1009, `There is no memory for a message of ${size} bytes`, { cause });
}

module.exports = { MessageLimits, detachedFault, findCloseFault, findPlaceFault, noMemoryFault, textFault };
