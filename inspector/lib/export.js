'use strict';

// Frames as files: JSON lines, which the inspector reads again, and pcapng for Wireshark.

const { PcapngWriter } = require('./pcapng');
const { beginningOf, isCompressed } = require('./rows');

const MAX_PAYLOAD = 64 * 1024;

/** @returns {string | undefined} the text of the message that a frame ends */
function textOf(session, frame) {
  const { head, inflated } = frame;
  if (head?.opcode !== 1 || head.last !== frame || !frame.fin) return undefined;
  if (inflated !== null) return inflated.toString();
  if (isCompressed(frame)) return undefined;
  const pieces = session.fragmentsOf(frame).map((fragment) => beginningOf(fragment, Infinity));
  return pieces.includes(null) ? undefined : Buffer.concat(pieces).toString();
}

/** Yields records of framemask:frame with payloads, and the texts of messages. */
function* jsonLines(session, indexes) {
  const names = new Map();
  for (const index of indexes) {
    const frame = session.frames[index];
    const { connection, from, sequence, opcode, fin, rsv, masked, length, fault } = frame;
    const { name } = session.connections[connection];
    // Two may have the same name, one after the other.
    const isOther = (names.get(name) ?? connection) !== connection;
    if (!isOther) names.set(name, connection);
    const fields = {
      connection: isOther ? `${name} #${connection + 1}` : name,
      key: null,
      from,
      sequence,
      opcode,
      fin,
      rsv,
      masked,
      length
    };
    const error = fault === null ? null : { code: fault.code, closeCode: fault.closeCode, message: fault.message };
    const payload = beginningOf(frame, MAX_PAYLOAD)?.toString('base64');
    for (const direction of ['sent', 'received']) {
      const end = frame.ends === null ? { id: '', role: from, time: frame.time } : frame.ends[direction];
      if (end === null || (frame.ends === null && direction === 'received')) continue;
      const { id, role, time } = end;
      yield `${JSON.stringify({ id, time, ...fields, direction, role, error, payload, text: textOf(session, frame) })}\n`;
    }
  }
}

/** Yields the blocks of a pcapng file. Frames whose bytes are not known are left out. */
function* pcapng(session, indexes) {
  const writer = new PcapngWriter();
  yield writer.begin();
  const opened = new Set();
  for (const index of indexes) {
    const frame = session.frames[index];
    const bytes = frame.parsed?.bytes ?? wireBytes(frame);
    if (bytes === null) continue;
    const { name, url, extensions } = session.connections[frame.connection];
    if (!opened.has(frame.connection))
      yield* writer.open(frame.connection, { name, url, extensions, time: frame.time });
    opened.add(frame.connection);
    yield* writer.send(frame.connection, frame.from, bytes, frame.time);
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
 * @param {import('./session').Session} session
 * @param {unknown} format
 * @param {unknown} indexes of frames
 * @returns {Generator<string | Buffer>}
 * @throws {TypeError} if the page asks for anything else
 */
function exportFrames(session, format, indexes) {
  if (!Object.hasOwn(FORMATS, format) || !Array.isArray(indexes)) throw new TypeError('There is no such export');
  return FORMATS[format](
    session,
    indexes.filter((index) => session.frames[index] !== undefined)
  );
}

module.exports = { exportFrames };
