'use strict';

const { channel } = require('./shared/node-modules').diagnosticsChannel;

const { frameId } = require('./frame-id');
const { FIN, MODE_MASKED, OPCODE, Opcode, RSV } = require('./shared/protocol');

// What happens on a connection, for whoever subscribes: `framemask:frame` for each frame and each error, and
// `framemask:message` for each message. A codec looks once a chunk, or once a frame that it sends, whether anybody does.
// A subscriber that throws breaks nothing here: node:diagnostics_channel makes an uncaught exception of it, a tick later.

const frames = channel('framemask:frame');
const messages = channel('framemask:message');

/** @returns {boolean} whether anybody listens */
function isTraced() {
  return frames.hasSubscribers || messages.hasSubscribers;
}

/**
 * What every record says. A codec has a name for its connection only once somebody asks. The how-many-th frame of its
 * direction it is, `sequence`, is always counted: where both ends were given the same name for the connection, that name,
 * the direction and the number find a frame in the logs of both.
 *
 * @param {object} codec a Decoder or an Encoder
 * @returns {object}
 */
function origin(codec) {
  codec._connectionId ??= frameId();
  const server = (codec._mode & MODE_MASKED) !== 0;
  return {
    id: frameId({ version: 7 }),
    connection: codec._connectionId,
    sequence: codec._sequence,
    direction: codec._direction,
    role: server === (codec._direction === 'received') ? 'server' : 'client'
  };
}

/**
 * @param {object} codec a Decoder or an Encoder
 * @param {number} first the frame's first byte
 * @param {number} length of its payload, in bytes
 */
function traceFrame(codec, first, length) {
  if (!frames.hasSubscribers) return;
  frames.publish({
    ...origin(codec),
    opcode: first & OPCODE,
    fin: (first & FIN) !== 0,
    rsv: (first & RSV) >> 4,
    masked: (codec._mode & MODE_MASKED) !== 0,
    length,
    error: null
  });
}

/**
 * @param {object} codec a Decoder
 * @param {import('./shared/errors').FrameError} error
 */
function traceError(codec, error) {
  if (!frames.hasSubscribers) return;
  frames.publish({
    ...origin(codec),
    opcode: null,
    fin: null,
    rsv: null,
    masked: null,
    length: null,
    error
  });
}

/**
 * @param {object} codec a Decoder or an Encoder
 * @param {number} first the first byte of the message's first frame
 * @param {number} length of its payload, in bytes
 * @param {number} fragments how many frames it came or went in
 */
function traceMessage(codec, first, length, fragments) {
  if (!messages.hasSubscribers) return;
  messages.publish({
    ...origin(codec),
    binary: (first & OPCODE) === Opcode.BINARY,
    rsv: (first & RSV) >> 4,
    length,
    fragments
  });
}

module.exports = { isTraced, traceError, traceFrame, traceMessage };
