'use strict';

const { channel } = require('./shared/node-modules').diagnosticsChannel;

const { frameId } = require('./frame-id');
const { FIN, MODE_MASKED, OPCODE, Opcode, RSV } = require('./shared/protocol');

// Frames and errors, and messages: FrameTrace and MessageTrace in index.d.ts. Without subscribers,
// tracing costs one check per chunk that is decoded and per frame that is encoded. A subscriber
// that throws does not break a codec: node:diagnostics_channel rethrows its error a tick later.
const frames = channel('framemask:frame');
const messages = channel('framemask:message');

function isTraced() {
  return frames.hasSubscribers || messages.hasSubscribers;
}

/** What all records say: TraceOrigin in index.d.ts. Frames are counted with subscribers or not. */
function origin(codec, sequence) {
  // A connection without a name gets one with its first record.
  codec._trace ??= {};
  const connection = codec._trace;
  connection.id ??= frameId();
  const from = (codec._mode & MODE_MASKED) !== 0 ? 'client' : 'server';
  const { role } = codec;
  return {
    id: frameId({ version: 7 }),
    connection: connection.id,
    key: connection.key ?? null,
    from,
    sequence,
    direction: from === role ? 'sent' : 'received',
    role
  };
}

/** `firstByte` and `length` are the frame's; `sequence` too, if others may have been sent since. */
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
 * `firstByte` is that of the first frame, `length` the message's, `sequence` that of the last
 * frame.
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
