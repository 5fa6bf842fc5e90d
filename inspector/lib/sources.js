'use strict';

// What somebody has opened → the frames of the session.

const { readCapture, isCapture } = require('./capture');
const { streamsFromText } = require('./bytes-from-text');
const { connectionOf } = require('./handshake');
const { RecordReader, parseLines } = require('./records');
const { addStreams, senderOf } = require('./streams');

/** Kinds of sources, as a reader may name them. */
const KINDS = ['auto', 'bytes', 'records', 'capture', 'raw'];

/** @returns {string} what a file or a pasted text is */
function kindOf(data) {
  if (isCapture(data)) return 'capture';
  const beginning = data.subarray(0, 4096);
  if (/^\s*\{/.test(beginning.toString('latin1'))) return 'records';
  return beginning.every((byte) => byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127))
    ? 'bytes'
    : 'raw';
}

/** Joins the pieces that each end has sent, and notes in which order they came. */
function joinPieces(pieces) {
  const streams = {};
  for (const [order, { from, bytes, time = null }] of pieces.entries()) {
    streams[from] ??= { from, pieces: [], chunks: [], length: 0 };
    const stream = streams[from];
    stream.chunks.push({ offset: stream.length, order, time });
    stream.pieces.push(bytes);
    stream.length += bytes.length;
  }
  for (const stream of Object.values(streams)) stream.bytes = Buffer.concat(stream.pieces);
  return streams;
}

async function openBytes(session, name, pieces) {
  if (pieces.length === 0) throw new Error('There are no bytes');
  const named = pieces.map(({ from, bytes }) => ({ from: from ?? senderOf(bytes), bytes }));
  await addStreams(session, { name, ...connectionOf(joinPieces(named)) });
}

/**
 * Puts what a file or a text has into the session, in place of what it had.
 *
 * @param {import('./session').Session} session
 * @param {object} source
 * @param {Buffer} source.data
 * @param {string} source.name what the reader knows it by
 * @param {string} [source.kind] one of KINDS
 * @param {'client' | 'server' | 'auto'} [source.from] the end that has sent bytes that do not say so
 * @param {'auto' | 'hex' | 'base64'} [source.format] of text
 * @param {boolean} [source.add] whether to keep what the session has, if both are records
 * @param {RecordReader | null} [source.records] the reader of those that it has
 * @returns {Promise<RecordReader | null>} the reader of records, if they were some
 * @throws {Error} that says what is wrong
 */
async function open(session, { data, name, kind = 'auto', from = 'auto', format = 'auto', add = false, records }) {
  const actual = kind === 'auto' ? kindOf(data) : kind;
  if (!KINDS.includes(actual)) throw new Error(`There is no kind ${actual}`);
  const isAdded = add && actual === 'records' && records != null;
  if (!isAdded) session.reset(name);
  const sender = from === 'auto' ? null : from;
  switch (actual) {
    case 'capture':
      await readCapture(session, data);
      return null;
    case 'records':
      return openRecords(session, data, isAdded ? records : new RecordReader(session));
    case 'raw':
      await openBytes(session, name, [{ from: sender, bytes: data }]);
      return null;
    default: {
      const pieces = streamsFromText(data.toString(), format);
      await openBytes(
        session,
        name,
        pieces.map((piece) => ({ ...piece, from: piece.from ?? sender }))
      );
      return null;
    }
  }
}

/** Says why no frame has the records of both ends, if there are records of both. */
function noteApart(session) {
  const roles = new Set();
  for (const { ends } of session.frames) {
    if (ends.sent !== null && ends.received !== null) return;
    roles.add((ends.sent ?? ends.received).role);
  }
  if (roles.size < 2) return;
  session.note(
    'The ends are not joined: their records have neither the same connection nor the same key. Give both the same connectionId.'
  );
}

function openRecords(session, data, reader) {
  const before = reader.refused;
  const count = session.frames.length;
  for (const value of parseLines(data.toString())) reader.add(value);
  const refused = reader.refused - before;
  if (refused > 0) session.note(`${refused} lines are no records of framemask:frame.`);
  noteApart(session);
  if (session.frames.length === count && session.changes.length === 0) {
    throw new Error('There is no record of framemask:frame in it');
  }
  return reader;
}

module.exports = { KINDS, joinPieces, kindOf, open };
