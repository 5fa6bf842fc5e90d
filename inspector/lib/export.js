'use strict';

// Frames as files: JSON lines, which the inspector reads again, and pcapng for Wireshark.

const { PcapngWriter } = require('./pcapng');
const { payloadOf } = require('./session');

const MAX_PAYLOAD = 64 * 1024;

/** @returns {string | undefined} the text of the message that a frame ends */
function textOf({ message, fin }) {
  if (!fin || message?.head.opcode !== 1) return undefined;
  const content = message.content();
  return message.isWhole(content) ? content.toString() : undefined;
}

/** Yields records of framemask:frame with payloads, and the texts of messages. */
function* jsonLines(connections, frames) {
  const names = new Map();
  for (const frame of frames) {
    const { connection: nth, from, sequence, opcode, fin, rsv, masked, length, fault, time } = frame;
    const { name } = connections[nth];
    // Two may have the same name, one after the other.
    if (!names.has(name)) names.set(name, nth);
    const connection = names.get(name) === nth ? name : `${name} #${nth + 1}`;
    const fields = { connection, key: null, from, sequence, opcode, fin, rsv, masked, length };
    const error = fault && { code: fault.code, closeCode: fault.closeCode, message: fault.message };
    const payload = payloadOf(frame, MAX_PAYLOAD)?.toString('base64');
    const ends = frame.ends ?? { sent: { id: '', role: from, time } };
    for (const direction of ['sent', 'received']) {
      if (!ends[direction]) continue;
      const { id, role, time } = ends[direction];
      yield `${JSON.stringify({ id, time, ...fields, direction, role, error, payload, text: textOf(frame) })}\n`;
    }
  }
}

/** Yields the blocks of a pcapng file. Frames whose bytes are not known are left out. */
function* pcapng(connections, frames) {
  const writer = new PcapngWriter();
  yield writer.begin();
  for (const frame of frames) {
    const { connection, from, time } = frame;
    const bytes = frame.parsed?.bytes ?? wireBytes(frame);
    if (bytes !== null) yield* writer.send(connection, connections[connection], from, bytes, time);
  }
}

/** @returns {Buffer | null} the bytes of a frame from records, with a masking key of zeros */
function wireBytes({ opcode, fin, rsv, masked, length, beginning }) {
  if (opcode === null || beginning?.length !== length) return null;
  const size = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const header = Buffer.alloc(2 + size + (masked ? 4 : 0));
  header[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  header[1] = (masked ? 0x80 : 0) | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size > 0) header.writeUIntBE(length, size === 2 ? 2 : 4, size === 2 ? 2 : 6);
  return Buffer.concat([header, beginning]);
}

const FORMATS = { jsonl: jsonLines, pcapng };

/**
 * @param {unknown} format @param {unknown} indexes of frames, from the page
 * @throws {TypeError} if the page asks for anything else
 */
function exportFrames(session, format, indexes) {
  if (!Object.hasOwn(FORMATS, format) || !Array.isArray(indexes)) throw new TypeError('There is no such export');
  const frames = indexes.flatMap((index) => session.frames[index] ?? []);
  return FORMATS[format](session.connections, frames);
}

module.exports = { exportFrames };
