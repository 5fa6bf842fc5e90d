'use strict';

// All that the page shows of one frame.

const { State } = require('./judge');
const { headerFields } = require('./parse-frames');
const { opcodeName, rule } = require('./rfc');
const { closeOf, payloadOf } = require('./session');

/** The most bytes of a payload, and the most frames of a message, that are sent at a time. */
const MAX_BYTES = 256 * 1024;
const MAX_FRAMES = 200;
const MAX_HEAD = 8192;

const AFTER_ERROR = rule(
  '7.1.7',
  'An endpoint MUST NOT continue to attempt to process data (including a responding Close frame) from the remote ' +
    'endpoint after being instructed to _Fail the WebSocket Connection_.'
);
const AFTER_CLOSE = rule('5.5.1', 'The application MUST NOT send any more data frames after sending a Close frame.');

const base64 = (bytes) => bytes?.toString('base64') ?? null;

/** The payload's first `count` bytes, in base64. */
function shownPayload(frame, count) {
  const plain = payloadOf(frame, count);
  if (plain === null) return null;
  const { parsed, beginning } = frame;
  const wire = parsed?.bytes.subarray(parsed.headerSize) ?? beginning;
  const key = parsed?.key ?? null;
  return {
    available: wire.length,
    key: key?.toString('hex') ?? null,
    masked: key && base64(wire.subarray(0, count)),
    unmasked: base64(plain)
  };
}

/** @returns {{ name: string, state: string }} a connection, as the page shows it */
function connectionRow({ name, isOpen, client, server }) {
  const isServerFirst = client.close === null || server.close?.time < client.close.time;
  const code = closeOf(isServerFirst ? server.close : client.close)?.code;
  return { name, state: isOpen ? 'open' : `closed ${code ?? ''}`.trim() };
}

/** The message of a frame: its frames, the control frames between them, and its bytes. */
function shownMessage(message, count) {
  if (message === null) return null;
  const { all, head, inflated, size, fragments, isComplete, isCompressed } = message;
  return {
    kind: opcodeName(head.opcode),
    complete: isComplete,
    compressed: isCompressed,
    length: size,
    fragments,
    frames: all.slice(0, MAX_FRAMES).map(({ index, opcode, length, sequence }) => {
      return { index, sequence, name: opcodeName(opcode), length };
    }),
    omitted: Math.max(all.length - MAX_FRAMES, 0),
    bytes: base64(message.content(count)),
    inflatedLength: inflated?.length ?? null
  };
}

/** What the Decoder says, in words. */
function verdictOf(session, { state, fault, connection, from, parsed, length }) {
  if (state === State.BAD) return { word: 'bad', ...fault };
  if (state === State.INCOMPLETE) {
    const { headerSize, bytes, key, masked } = parsed;
    const there =
      key === null && masked !== false
        ? 'not all of its header is there'
        : `${bytes.length - headerSize} of ${length} bytes of its payload are there`;
    return { word: 'incomplete', message: `The bytes end amid this frame: ${there}` };
  }
  if (state === State.UNREAD) {
    const { end } = session.connections[connection][from];
    return {
      word: 'not read',
      message: `The Decoder ended with frame ${end?.sequence ?? '?'} of the ${from}, and ignores what follows`,
      rule: end?.state === State.BAD ? AFTER_ERROR : AFTER_CLOSE
    };
  }
  return { word: 'good', message: parsed === null ? 'No end reported an error' : 'The Decoder accepts this frame' };
}

/**
 * @param {number} index of a frame
 * @param {number} count how many bytes of payloads are wanted
 * @returns {object | null} for JSON; null if there is no such frame
 */
function detailOf(session, index, count) {
  const frame = session.frames[index];
  if (frame === undefined) return null;
  const { parsed, opcode, from, sequence, length, fin, rsv, masked, ends } = frame;
  const connection = session.connections[frame.connection];
  const shown = Math.min(Math.max(Number(count) || 0, 0), MAX_BYTES);
  return {
    index,
    name: opcodeName(opcode),
    connection: connectionRow(connection),
    handshake: connection.heads.map((head) => head.toString('latin1', 0, MAX_HEAD).trim()),
    from,
    sequence,
    length,
    shown,
    verdict: verdictOf(session, frame),
    header: parsed && { hex: parsed.bytes.toString('hex', 0, parsed.headerSize), fields: headerFields(parsed) },
    bits: { fin, rsv, masked },
    payload: shownPayload(frame, shown),
    close: closeOf(frame),
    message: shownMessage(frame.message, shown),
    ends
  };
}

module.exports = { connectionRow, detailOf };
