'use strict';

// All that the page shows of one frame.

const { beginningOf, beginningOfMessage, isCompressed } = require('./rows');
const { State } = require('./judge');
const { headerFields } = require('./parse-frames');
const { opcodeName } = require('./rfc');

/** The most bytes of a payload, and the most frames of a message, that are sent at a time. */
const MAX_BYTES = 256 * 1024;
const MAX_FRAMES = 200;
const MAX_HEAD = 8192;

const AFTER_ERROR = {
  rfc: 6455,
  section: '7.1.7',
  sentence:
    'An endpoint MUST NOT continue to attempt to process data (including a responding Close frame) from the remote ' +
    'endpoint after being instructed to _Fail the WebSocket Connection_.'
};
const AFTER_CLOSE = {
  rfc: 6455,
  section: '5.5.1',
  sentence: 'The application MUST NOT send any more data frames after sending a Close frame.'
};

const base64 = (bytes) => Buffer.from(bytes).toString('base64');

/** The payload's first `count` bytes, in base64. */
function payloadOf(frame, count) {
  const plain = beginningOf(frame, count);
  if (plain === null) return null;
  const { parsed, beginning } = frame;
  if (parsed === null) return { available: beginning.length, key: null, masked: null, unmasked: base64(plain) };
  const { bytes, headerSize, key } = parsed;
  return {
    available: bytes.length - headerSize,
    key: key?.toString('hex') ?? null,
    masked: key === null ? null : base64(bytes.subarray(headerSize, headerSize + count)),
    unmasked: base64(plain)
  };
}

/** The code and reason of a Close frame (RFC 6455 section 5.5.1). */
function closeOf(frame) {
  if (frame.opcode !== 8) return null;
  const bytes = beginningOf(frame, 125);
  if (bytes === null || bytes.length < 2) return null;
  return { code: bytes.readUInt16BE(0), reason: bytes.subarray(2).toString() };
}

/** @returns {{ name: string, state: string }} a connection, as the page shows it */
function connectionRow({ name, isOpen, client, server }) {
  const frame = client.close === null || server.close?.time < client.close.time ? server.close : client.close;
  const code = frame === null ? null : closeOf(frame)?.code;
  return { name, state: isOpen ? 'open' : code == null ? 'closed' : `closed ${code}` };
}

/** The message of a frame: its frames, the control frames between them, and its bytes. */
function messageOf(session, frame, count) {
  const { head } = frame;
  if (head === null) return null;
  const { last } = head;
  const all = session.messageOf(frame);
  return {
    kind: opcodeName(head.opcode),
    complete: last.fin,
    compressed: isCompressed(head),
    length: head.size,
    fragments: head.fragments,
    frames: all.slice(0, MAX_FRAMES).map(({ index, opcode, length, sequence }) => ({
      index,
      sequence,
      name: opcodeName(opcode),
      length
    })),
    omitted: Math.max(all.length - MAX_FRAMES, 0),
    bytes: base64(beginningOfMessage(session.fragmentsOf(frame), count)),
    inflated: last.inflated === null ? null : base64(last.inflated.subarray(0, count)),
    inflatedLength: last.inflated?.length ?? null
  };
}

/** What the Decoder says, in words. */
function verdictOf(session, frame) {
  const { state, fault, connection, from, parsed } = frame;
  if (state === State.BAD) return { word: 'bad', ...fault };
  if (state === State.INCOMPLETE) {
    const { headerSize, bytes } = parsed;
    const there =
      parsed.key === null && parsed.masked !== false
        ? 'not all of its header is there'
        : `${bytes.length - headerSize} of ${frame.length} bytes of its payload are there`;
    return { word: 'incomplete', message: `The bytes end amid this frame: ${there}` };
  }
  if (state === State.UNREAD) {
    const { frames } = session.connections[connection][from];
    const end = frames.find((other) => other.state === State.BAD) ?? frames.find(({ opcode }) => opcode === 8);
    return {
      word: 'not read',
      message: `The Decoder ended with frame ${end?.sequence ?? '?'} of the ${from}, and ignores what follows`,
      rule: end?.state === State.BAD ? AFTER_ERROR : AFTER_CLOSE
    };
  }
  return { word: 'good', message: parsed === null ? 'No end reported an error' : 'The Decoder accepts this frame' };
}

/**
 * @param {import('./session').Session} session
 * @param {number} index of a frame
 * @param {number} count how many bytes of payloads are wanted
 * @returns {object | null} for JSON; null if there is no such frame
 */
function detailOf(session, index, count) {
  const frame = session.frames[index];
  if (frame === undefined) return null;
  const { parsed } = frame;
  const shown = Math.min(Math.max(Number(count) || 0, 0), MAX_BYTES);
  return {
    index,
    name: opcodeName(frame.opcode),
    connection: connectionRow(session.connections[frame.connection]),
    handshake: session.connections[frame.connection].heads.map((head) =>
      head.subarray(0, MAX_HEAD).latin1Slice().trim()
    ),
    from: frame.from,
    sequence: frame.sequence,
    length: frame.length,
    shown,
    verdict: verdictOf(session, frame),
    header:
      parsed === null
        ? null
        : { hex: parsed.bytes.subarray(0, parsed.headerSize).toString('hex'), fields: headerFields(parsed) },
    bits: parsed === null ? { fin: frame.fin, rsv: frame.rsv, masked: frame.masked } : null,
    payload: payloadOf(frame, shown),
    close: closeOf(frame),
    message: messageOf(session, frame, shown),
    ends: frame.ends
  };
}

module.exports = { connectionRow, detailOf };
