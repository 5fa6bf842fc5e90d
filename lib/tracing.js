'use strict';

const { channel } = require('./shared/node-modules').diagnosticsChannel;

const { frameId } = require('./frame-id');
const { FIN, MODE_MASKED, OPCODE, Opcode, RSV } = require('./shared/protocol');

// Publishes what happens on a connection: each frame and each error on `framemask:frame`, each
// message on `framemask:message`. Without subscribers, tracing costs one check per chunk that is
// decoded and per frame that is encoded. A subscriber that throws does not break a codec:
// node:diagnostics_channel rethrows its error a tick later.

const frames = channel('framemask:frame');
const messages = channel('framemask:message');

/** @returns {boolean} whether there is a subscriber */
function isTraced() {
  return frames.hasSubscribers || messages.hasSubscribers;
}

/**
 * What all records say. Both ends count the frames of each direction, subscribers or not: `from`
 * and `sequence`, with a name that both ends were given for the connection, find a frame in the
 * logs of both. `id` is of this record alone.
 *
 * @param {object} codec a Decoder or an Encoder
 * @param {number} sequence of the frame
 * @returns {object}
 */
function origin(codec, sequence) {
  // A connection without a name gets one with its first record.
  codec._trace ??= {};
  const connection = codec._trace;
  connection.id ??= frameId();
  return {
    id: frameId({ version: 7 }),
    connection: connection.id,
    key: connection.key ?? null,
    from: (codec._mode & MODE_MASKED) !== 0 ? 'client' : 'server',
    sequence,
    direction: codec._direction,
    role: codec.role
  };
}

/**
 * @param {object} codec a Decoder or an Encoder
 * @param {number} firstByte of the frame
 * @param {number} length of its payload in bytes
 * @param {number} [sequence] its own, if others may have been sent since
 */
function traceFrame(codec, firstByte, length, sequence = codec._sequence) {
  if (!frames.hasSubscribers) return;
  frames.publish({
    ...origin(codec, sequence),
    opcode: firstByte & OPCODE,
    fin: (firstByte & FIN) !== 0,
    rsv: (firstByte & RSV) >> 4,
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
    ...origin(codec, codec._sequence),
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
 * @param {number} firstByte of the message's first frame
 * @param {number} length of the message in bytes
 * @param {number} fragments the number of its frames
 * @param {number} [sequence] of its last frame
 */
function traceMessage(codec, firstByte, length, fragments, sequence = codec._sequence) {
  if (!messages.hasSubscribers) return;
  messages.publish({
    ...origin(codec, sequence),
    binary: (firstByte & OPCODE) === Opcode.BINARY,
    rsv: (firstByte & RSV) >> 4,
    length,
    fragments
  });
}

module.exports = { isTraced, traceError, traceFrame, traceMessage };
