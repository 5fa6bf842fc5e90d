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
  return /^[\da-f]{8}-[\da-f]{4}-7/.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : null;
}

/** @returns {boolean} whether Date takes it */
const isTime = (value) => typeof value === 'number' && Math.abs(value) <= 8.64e15;

const isCount = (value, max) => Number.isInteger(value) && value >= 0 && value <= max;

/** @returns {Buffer} the first bytes of a payload in base64; it keeps no others */
function beginningOf(payload) {
  const bytes = Buffer.alloc(Math.min(Buffer.byteLength(payload, 'base64'), MAX_BEGINNING));
  return bytes.subarray(0, bytes.write(payload, 'base64'));
}

/**
 * @param {unknown} record anything
 * @returns {object | null} a record of a frame with only what is known of one; null if it is none
 */
function checkRecord(record) {
  if (typeof record !== 'object' || record === null) return null;
  const { id, time, connection, key, from, sequence, direction, role } = record;
  const { opcode, fin, rsv, masked, length, payload, error } = record;
  if (typeof connection !== 'string' || !ROLES.has(from) || !ROLES.has(role)) return null;
  if (!isCount(sequence, Number.MAX_SAFE_INTEGER) || (direction !== 'sent' && direction !== 'received')) return null;
  const fault = typeof error === 'object' && error !== null ? faultOf(error) : null;
  // An error says nothing of the frame but its place.
  const isKnown = isCount(opcode, 15) && isCount(length, Number.MAX_SAFE_INTEGER) && isCount(rsv, 7);
  if (!isKnown && fault === null) return null;
  // In one piece: there are 100,000 of them.
  return {
    id: textOf(id),
    time: isTime(time) ? time : timeOf(textOf(id)),
    connection: textOf(connection),
    key: typeof key === 'string' ? textOf(key) : null,
    from,
    sequence,
    direction,
    role,
    opcode: isKnown ? opcode : null,
    fin: isKnown && fin === true,
    rsv: isKnown ? rsv : 0,
    masked: isKnown ? masked === true : null,
    length: isKnown ? length : null,
    beginning: isKnown && typeof payload === 'string' ? beginningOf(payload) : null,
    error: fault
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

  /** @param {unknown} record @returns {number} the index of its connection; -1 if it is no record of a frame */
  add(record) {
    if (typeof record?.handshake === 'string') return this._addHandshake(record);
    if (typeof record?.closed === 'string') return this._close(record.closed);
    const checked = checkRecord(record);
    if (checked === null) {
      // Records of framemask:message repeat what those of its frames say.
      if (typeof record !== 'object' || record === null || record.fragments === undefined) this.refused++;
      return -1;
    }
    // A program may go on for days.
    if (this._session.isFull && !this._connections.has(checked.connection)) return -1;
    const connection = this._findConnection(checked);
    const known = connection[checked.from].get(checked.sequence);
    if (known === undefined) this._addFrame(connection, checked);
    else this._join(known, checked);
    return connection.index;
  }

  /** A program's notice of a handshake: see live-handshakes.js. */
  _addHandshake({ handshake: id, role, key, isSecure, host, path, client }) {
    const place = `${ROLES.has(role) ? role : ''} ${textOf(key)}`;
    // The first with a key: see _otherEnd.
    if (this._handshakes.has(place) || this._session.isFull) return -1;
    const url = urlOf(textOf(host), textOf(path), isSecure === true ? 'wss' : 'ws');
    const known = { place, url, target: `${textOf(host)} ${textOf(path)}`, client: textOf(client), connection: null };
    this._handshakes.set(place, known);
    this._open.set(id, known);
    const connection = this._connections.get(this._keys.get(textOf(key))?.[textOf(role)]);
    if (connection !== undefined) this._describe(connection, known);
    return -1;
  }

  _describe(connection, known) {
    const { url, target } = known;
    known.connection = connection;
    connection.address ||= known.client;
    this._session.changeConnection(connection.index, { name: `${connection.address || '?'} → ${target}`, url });
  }

  _close(id) {
    const known = this._open.get(id);
    if (known === undefined) return -1;
    this._open.delete(id);
    this._handshakes.delete(known.place);
    if (known.connection !== null) this._session.changeConnection(known.connection.index, { isOpen: false });
    return -1;
  }

  _findConnection({ connection: name, key, role }) {
    let connection = this._connections.get(name);
    if (connection === undefined) {
      connection = this._otherEnd(name, key, role) ?? {
        index: this._session.addConnection({ name }),
        client: new Map(),
        server: new Map(),
        inflaters: { client: new RecordInflater(), server: new RecordInflater() }
      };
      this._connections.set(name, connection);
      const handshake = this._handshakes.get(`${role} ${key}`);
      if (handshake !== undefined) this._describe(connection, handshake);
    }
    return connection;
  }

  /**
   * The two ends of framemask/ws have a name of their own each, and share the key. A client chooses
   * its key, so that it may be another's: only the first client and the first server with it are
   * joined.
   */
  _otherEnd(name, key, role) {
    if (key === null) return undefined;
    if (!this._keys.has(key)) this._keys.set(key, { client: null, server: null });
    const ends = this._keys.get(key);
    if (ends[role] !== null) {
      this._session.note(`Several connections of the role ${role} have the key ${key}: they are not joined.`);
      return undefined;
    }
    ends[role] = name;
    const other = ends[role === 'client' ? 'server' : 'client'];
    return other === null ? undefined : this._connections.get(other);
  }

  _addFrame(connection, record) {
    const { time, from, sequence, direction, opcode, fin, rsv, masked, length, error } = record;
    const end = endOf(record);
    const frame = {
      connection: connection.index,
      from,
      sequence,
      time,
      opcode,
      fin,
      rsv,
      masked,
      length,
      parsed: null,
      beginning: this._keep(record),
      inflated: null,
      fault: error,
      state: error === null ? State.GOOD : State.BAD,
      ends: direction === 'sent' ? { sent: end, received: null } : { sent: null, received: end }
    };
    if (!this._session.addFrame(frame)) return;
    connection[from].set(sequence, frame);
    const inflated = connection.inflaters[from].inflate(this._session, frame);
    if (inflated !== null) frame.inflated = this._session.keep(inflated);
  }

  _keep({ beginning }) {
    return beginning === null ? null : this._session.keep(beginning);
  }

  /** Adds what the other end, or a second record of this one, says of a frame. */
  _join(frame, record) {
    if (record.error !== null) {
      frame.fault = record.error;
      frame.state = State.BAD;
      frame.ends[record.direction] ??= endOf(record);
    } else {
      frame.ends[record.direction] = endOf(record);
      // Of a bad frame the receiver may say nothing but the error.
      frame.opcode ??= record.opcode;
      frame.length ??= record.length;
      frame.masked ??= record.masked;
      frame.fin ||= record.fin;
      frame.rsv ||= record.rsv;
      frame.beginning ??= this._keep(record);
    }
    this._session.changed(frame);
  }
}

/** What the page shows of one end's record. */
const endOf = ({ id, role, time, length, error }) => ({ id, role, time, length, error: error?.code ?? null });

/** Yields the values of JSON lines, and the place after each; null for a line that is no JSON. */
function* parseLines(text) {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(start, end);
    start = end + 1;
    if (line.trim() === '') continue;
    let value = null;
    try {
      value = JSON.parse(line);
    } catch {}
    yield { value, end };
  }
}

const idOf = (value) => (typeof value?.id === 'string' ? value.id : '');

/** Whether the ids of the lines ascend, as far as one sees without reading them as JSON. */
function isSorted(text) {
  let last = '';
  for (const [, id] of text.matchAll(/"id":"([^"]*)"/g)) {
    if (id < last) return false;
    last = id;
  }
  return true;
}

/**
 * Yields the values of JSON lines, each with the part of the work that is done. Those with ids are in
 * their order, so that the lines of two ends may follow each other.
 *
 * @param {string} text
 * @returns {Generator<{ value?: unknown, part: number }>} without a value while lines are sorted
 */
function* sortedLines(text) {
  const size = text.length;
  if (isSorted(text)) {
    for (const { value, end } of parseLines(text)) yield { value, part: end / size };
    return;
  }
  const values = [];
  for (const { value, end } of parseLines(text)) {
    values.push(value);
    yield { part: end / size / 2 };
  }
  values.sort((a, b) => (idOf(a) < idOf(b) ? -1 : idOf(a) > idOf(b) ? 1 : 0));
  for (const [i, value] of values.entries()) yield { value, part: (1 + i / values.length) / 2 };
}

module.exports = { RecordReader, checkRecord, sortedLines };
