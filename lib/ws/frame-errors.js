'use strict';

const { Buffer } = require('../shared/buffers');
const { ws } = require('./internals');

const ROLE_FREE = { isServer: false };

/**
 * Frames that make ws's Receiver emit the error that it has for a FrameError: `[options, bytes]`
 * for each code. Receivers are clients', unless the error is one of a server.
 */
const BAD_FRAMES = {
  RESERVED_BITS: ({ firstByte }) => [ROLE_FREE, [firstByte, 0]],
  OPCODE: ({ firstByte }) => [ROLE_FREE, [firstByte, 0]],
  CONTROL_FRAGMENTED: ({ firstByte }) => [ROLE_FREE, [firstByte, 0]],
  CONTROL_LENGTH: ({ firstByte, length }) => [ROLE_FREE, [firstByte, length]],
  CLOSE_LENGTH: () => [ROLE_FREE, [0x88, 1]],
  LENGTH: () => [ROLE_FREE, [0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]],
  MASK_MISSING: () => [{ isServer: true }, [0x82, 0]],
  MASK_UNWANTED: () => [ROLE_FREE, [0x82, 0x80]],
  CONTINUATION: () => [ROLE_FREE, [0x80, 0]],
  INTERLEAVED: ({ firstByte }) => [ROLE_FREE, [0x01, 0, firstByte, 0]],
  MESSAGE_TOO_BIG: ({ length }) =>
    length > Number.MAX_SAFE_INTEGER ? BAD_FRAMES.LENGTH() : [{ maxPayload: 1 }, [0x82, 2]],
  TOO_MANY_FRAGMENTS: () => [{ maxFragments: 1 }, [0x01, 0, 0x80, 0]],
  UTF8: () => [ROLE_FREE, [0x81, 1, 255]],
  CLOSE_CODE: ({ receivedCode }) => [ROLE_FREE, [0x88, 2, receivedCode >> 8, receivedCode & 255]]
};

/**
 * The error of ws for an error of a Decoder: its class, message and `code`, and the close code,
 * which ws keeps under a symbol of its own. ws itself makes it, from a frame that is wrong in the
 * same way.
 *
 * @param {import('../..').FrameError} error
 * @returns {Error}
 */
function toWsError(error) {
  const badFrame = BAD_FRAMES[error.code.slice('FRAMEMASK_ERR_'.length)];
  const made = badFrame === undefined ? undefined : receiverError(...badFrame(error));
  return made ?? likeWs(error);
}

/**
 * @param {object} options of the Receiver
 * @param {number[]} bytes
 * @returns {Error | undefined} the error that ws has for them
 */
function receiverError(options, bytes) {
  let found;
  new ws.Receiver(options)._write(Buffer.from(bytes), 'buffer', (error) => {
    found = error;
  });
  return found;
}

/**
 * @param {import('../..').FrameError} error one that ws does not have
 * @returns {RangeError} the same as an error of ws
 */
function likeWs({ message, code, closeCode }) {
  const error = receiverError(...BAD_FRAMES.OPCODE({ firstByte: 0x83 }));
  error.message = `Invalid WebSocket frame: ${message}`;
  error.code = code === 'FRAMEMASK_ERR_TOO_MANY_FRAGMENTS' ? 'WS_ERR_TOO_MANY_BUFFERED_PARTS' : code;
  const [closeCodeSymbol] = Object.getOwnPropertySymbols(error);
  error[closeCodeSymbol] = closeCode;
  return error;
}

module.exports = { toWsError };
