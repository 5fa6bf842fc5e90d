'use strict';

// A source that is opened → the frames of the session.

const { setImmediate: turn } = require('node:timers/promises');
const { streamsFromText } = require('./bytes-from-text');
const { isCapture, readCapture } = require('./capture');
const { connectionOf } = require('./handshake');
const { RecordReader, sortedLines } = require('./records');
const { createSample } = require('./sample');
const { addStreams, joinPieces, senderOf } = require('./streams');
const { isKeyLog } = require('./tls');

/** Lines that are read before others have their turn. */
const BATCH = 2000;

/** The byte order mark that some editors put before UTF-8. */
const MARK = Buffer.from('\ufeff');
const withoutMark = (data) => (data.subarray(0, MARK.length).equals(MARK) ? data.subarray(MARK.length) : data);

/**
 * @returns {'capture' | 'keys' | 'records' | 'bytes' | 'raw'} the kind of a file or a pasted text
 */
function kindOf(whole) {
  const data = withoutMark(whole);
  if (isCapture(data)) return 'capture';
  const beginning = data.toString('latin1', 0, 4096);
  if (isKeyLog(beginning)) return 'keys';
  if (/^\s*\{/.test(beginning)) return 'records';
  return /^[\t\n\r\x20-\x7e]*$/.test(beginning) ? 'bytes' : 'raw';
}

/**
 * Puts the frames of a file or a text into the session, in place of those that it had.
 * @param {string} source.name for the reader
 * @param {'client' | 'server' | 'auto'} [source.from] the end that has sent bytes that do not say
 *   so
 * @param {'auto' | 'hex' | 'base64'} [source.format] of text
 * @param {boolean} [source.add] whether to keep the frames of the session, if both are records
 * @param {Buffer | null} [source.keys] of the TLS connections of a capture
 * @throws {Error} that says what is wrong
 */
async function open(session, { data: whole, name, from = 'auto', format = 'auto', add = false, keys = null }) {
  const data = withoutMark(whole);
  const kind = kindOf(data);
  const isAdded = add && kind === 'records' && session.records !== null;
  // First, so that bytes that are refused leave the list as it is.
  const sent = kind === 'bytes' || kind === 'raw' ? piecesOf(kind, data, format, from) : null;
  if (!isAdded) session.reset(name);
  const { generation } = session;
  session.setProgress(0);
  try {
    if (kind === 'records') await openRecords(session, data);
    else if (kind === 'capture') await readCapture(session, data, keys);
    else await addStreams(session, [{ ...connectionOf(joinPieces(sent)), name }]);
  } finally {
    if (session.generation === generation) session.setProgress(null);
  }
}

/** @returns {{ from: 'client' | 'server', bytes: Buffer }[]} the pieces that each end has sent */
function piecesOf(kind, data, format, from) {
  const pieces = kind === 'raw' ? [{ from: null, bytes: data }] : streamsFromText(data.toString(), format);
  if (pieces.length === 0) throw new Error('There are no bytes');
  return pieces.map(({ from: named, bytes }) => {
    return { from: named ?? (from === 'auto' ? senderOf(bytes) : from), bytes };
  });
}

function openSample(session) {
  session.reset('sample');
  const connections = createSample();
  const times = connections.flatMap(({ pieces }) => pieces).sort((a, b) => a.time - b.time);
  for (const [order, piece] of times.entries()) piece.order = order;
  return addStreams(
    session,
    connections.map(({ pieces, names }) => connectionOf(joinPieces(pieces), names))
  );
}

/** Says why no frame has the records of both ends, if there are records of both. */
function noteApart(session) {
  const ends = session.frames.map(({ ends }) => ends);
  if (ends.some(({ sent, received }) => sent && received)) return;
  if (new Set(ends.map(({ sent, received }) => (sent ?? received).role)).size < 2) return;
  session.note(
    'The ends are not joined: their records have neither the same connection nor the same key. Give both the same id in their option trace.'
  );
}

async function openRecords(session, data) {
  const reader = session.records ?? new RecordReader(session);
  const before = reader.refused;
  const { generation } = session;
  let lines = 0;
  let isEmpty = true;
  for (const { value, part } of sortedLines(data.toString())) {
    if (reader.add(value) !== -1) isEmpty = false;
    if (++lines % BATCH !== 0) continue;
    session.setProgress(part);
    await turn();
    if (session.generation !== generation) return; // it was cleared
  }
  const refused = reader.refused - before;
  if (refused > 0) session.note(`${refused} lines are no records of framemask:frame.`);
  noteApart(session);
  if (isEmpty) throw new Error('There is no record of framemask:frame in it');
  session.records = reader;
}

module.exports = { kindOf, open, openSample };
