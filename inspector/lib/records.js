'use strict';

// Records of framemask:frame (docs/tracing.md of framemask) → the frames of the session. Those of
// both ends of a connection are joined. Nothing in a record is trusted: a program wrote it.

const { urlOf } = require('./handshake');
const { RecordInflater } = require('./inflate-records');
const { State, faultOf, textOf } = require('./judge');

const ROLES = new Set(['client', 'server']);
const MAX_BEGINNING = 64 * 1024;

/** @returns {number | null} milliseconds since 1970, which a version 7 UUID begins with */
function timeOf(id) {
  const [, high, low] = /^([\da-f]{8})-([\da-f]{4})-7/.exec(id) ?? [];
  return high === undefined ? null : Number.parseInt(high + low, 16);
}

/** Whether Date takes it. */
const isTime = (value) => typeof value === 'number' && Math.abs(value) <= 8.64e15;

const isCount = (value, max) => Number.isInteger(value) && value >= 0 && value <= max;

/** @returns {Buffer} the first bytes of a payload in base64; it keeps no others */
function beginningOf(payload) {
  const bytes = Buffer.alloc(Math.min(Buffer.byteLength(payload, 'base64'), MAX_BEGINNING));
  return bytes.subarray(0, bytes.write(payload, 'base64'));
}

/**
 * @param {unknown} record anything
 * @returns {object | null} its frame, for Session, with only what is known of one; null if it is
 *   none
 */
function frameOf(record) {
  if (typeof record !== 'object' || record === null) return null;
  const { id, time: said, connection, from, sequence, direction, role } = record;
  const { opcode, fin, rsv, masked, length, payload, error } = record;
  if (typeof connection !== 'string' || !ROLES.has(from) || !ROLES.has(role)) return null;
  if (!isCount(sequence, Number.MAX_SAFE_INTEGER) || (direction !== 'sent' && direction !== 'received')) return null;
  const fault = typeof error === 'object' && error !== null ? faultOf(error) : null;
  // An error says nothing of the frame but its place.
  const isKnown = isCount(opcode, 15) && isCount(length, Number.MAX_SAFE_INTEGER) && isCount(rsv, 7);
  if (!isKnown && fault === null) return null;
  const time = isTime(said) ? said : timeOf(textOf(id));
  /** What the page shows of this end's record. */
  const end = { id: textOf(id), role, time, length: isKnown ? length : null, error: fault?.code ?? null };
  // In one piece: there are 100,000 of them.
  return {
    connection: -1,
    from,
    sequence,
    time,
    opcode: isKnown ? opcode : null,
    fin: isKnown && fin === true,
    rsv: isKnown ? rsv : 0,
    masked: isKnown ? masked === true : null,
    length: end.length,
    parsed: null,
    beginning: isKnown && typeof payload === 'string' ? beginningOf(payload) : null,
    fault,
    state: fault === null ? State.GOOD : State.BAD,
    ends: { sent: direction === 'sent' ? end : null, received: direction === 'sent' ? null : end }
  };
}

/** Joins records to connections and frames, and adds those to the session. */
class RecordReader {
  /** @param {import('./session').Session} session */
  constructor(session) {
    this._session = session;
    /** By the name that an end gave its connection: its index, and its frames by sender. */
    this._connections = new Map();
    /** By Sec-WebSocket-Key: the names of the ends that use it. */
    this._keys = new Map();
    /** Handshakes of programs, by role and key, and those of connections that are open, by id. */
    this._handshakes = new Map();
    this._open = new Map();
    /** Lines or records that were none. */
    this.refused = 0;
  }

  /**
   * @param {unknown} record
   * @returns {number} the index of its connection; -1 if it is no record of a frame
   */
  add(record) {
    if (typeof record?.handshake === 'string') this._addHandshake(record);
    else if (typeof record?.closed === 'string') this._close(record.closed);
    else return this._addRecord(record);
    return -1;
  }

  _addRecord(record) {
    const frame = frameOf(record);
    if (frame === null) {
      // Records of framemask:message repeat what those of its frames say.
      if (record?.fragments === undefined) this.refused++;
      return -1;
    }
    const name = textOf(record.connection);
    // A program may go on for days.
    if (this._session.isFull && !this._connections.has(name)) return -1;
    const connection = this._findConnection(name, textOf(record.key), record.role);
    const known = connection[frame.from].get(frame.sequence);
    if (known === undefined) this._addFrame(connection, frame);
    else this._join(known, frame);
    return connection.index;
  }

  /** A program's notice of a handshake: see live-handshakes.js. */
  _addHandshake({ handshake: id, role, key, isSecure, host, path, client }) {
    const place = `${ROLES.has(role) ? role : ''} ${textOf(key)}`;
    // The first with a key: see _otherEnd.
    if (textOf(key) === '' || this._handshakes.has(place) || this._session.isFull) return;
    const url = urlOf(textOf(host), textOf(path), isSecure === true ? 'wss' : 'ws');
    const known = { place, url, target: `${textOf(host)} ${textOf(path)}`, client: textOf(client), connection: null };
    this._handshakes.set(place, known);
    this._open.set(id, known);
    this._describe(this._connections.get(this._keys.get(textOf(key))?.[textOf(role)]), known);
  }

  _describe(connection, known) {
    if (connection === undefined || known === undefined) return;
    const { url, target, client } = known;
    known.connection = connection;
    connection.address ||= client;
    this._session.changeConnection(connection.index, { name: `${connection.address || '?'} → ${target}`, url });
  }

  _close(id) {
    const known = this._open.get(id);
    this._open.delete(id);
    this._handshakes.delete(known?.place);
    if (known?.connection) this._session.changeConnection(known.connection.index, { isOpen: false });
  }

  _findConnection(name, key, role) {
    if (!this._connections.has(name)) {
      const connection = this._otherEnd(name, key, role) ?? {
        index: this._session.addConnection({ name }),
        client: new Map(),
        server: new Map(),
        inflaters: { client: new RecordInflater(), server: new RecordInflater() }
      };
      this._connections.set(name, connection);
      this._describe(connection, this._handshakes.get(`${role} ${key}`));
    }
    return this._connections.get(name);
  }

  /**
   * The two ends of framemask/ws have a name of their own each, and share the key. A client chooses
   * its key, so that it may be another's: only the first client and the first server with it are
   * joined.
   */
  _otherEnd(name, key, role) {
    if (key === '') return undefined;
    if (!this._keys.has(key)) this._keys.set(key, {});
    const ends = this._keys.get(key);
    if (ends[role] !== undefined) {
      this._session.note(`Several connections of the role ${role} have the key ${key}: they are not joined.`);
      return undefined;
    }
    ends[role] = name;
    return this._connections.get(ends[role === 'client' ? 'server' : 'client']);
  }

  _addFrame(connection, frame) {
    const { from, sequence, beginning } = frame;
    frame.connection = connection.index;
    frame.beginning = beginning && this._session.keep(beginning);
    if (!this._session.addFrame(frame)) return;
    connection[from].set(sequence, frame);
    const inflated = connection.inflaters[from].inflate(frame);
    if (inflated !== null) frame.message.inflated = this._session.keep(inflated);
  }

  /** Adds what the other end, or a second record of this one, says of a frame. */
  _join(frame, { opcode, fin, rsv, masked, length, beginning, fault, ends }) {
    const direction = ends.sent === null ? 'received' : 'sent';
    if (fault !== null) {
      frame.fault = fault;
      frame.state = State.BAD;
      frame.ends[direction] ??= ends[direction];
    } else {
      frame.ends[direction] = ends[direction];
      // Of a bad frame the receiver may say nothing but the error.
      frame.opcode ??= opcode;
      frame.length ??= length;
      frame.masked ??= masked;
      frame.fin ||= fin;
      frame.rsv ||= rsv;
      frame.beginning ??= beginning && this._session.keep(beginning);
    }
    this._session.changed(frame);
  }
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/**
 * Yields the values of JSON lines, null for a line that is no JSON, each with the part of the work
 * that is done. They are in the order of their ids, so that the lines of two ends may follow each
 * other.
 */
function* sortedLines(text) {
  const idOf = (line) => /"id":\s*"([^"]*)"/.exec(line)?.[1] ?? '';
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const sorted = lines
    .map((line) => ({ line, id: idOf(line) }))
    .sort((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  for (const [i, { line }] of sorted.entries()) yield { value: parse(line), part: (i + 1) / sorted.length };
}

module.exports = { RecordReader, frameOf, sortedLines };
