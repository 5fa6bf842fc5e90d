'use strict';

// The chat: who is in which room, and what a client may ask for. Nothing here knows how connections
// work, or how messages reach other processes.
//
// Messages are JSON. A client sends
//
//     { type: 'hello', name, session }     once, first; the session is a secret of the client's
//     { type: 'join', room, since? }       `since` is the last id that it has, when it comes back
//     { type: 'leave', room }
//     { type: 'say', room, n, text }       `n` counts the messages of the session, from 1
//
// and gets
//
//     { type: 'welcome', from }            its public name, made from the session
//     { type: 'message', id, room, from, name, n, text }
//     { type: 'joined', room, at, complete }   after the earlier messages; `complete` is false if
//                                          messages after `since` are no longer there
//     { type: 'sent', n }                  the message was published
//     { type: 'members', room, count, members: [{ from, name }] }   those in the room, or the first
//                                          hundred of them

const { createHash } = require('node:crypto');
const { History } = require('./history');
const { Presence } = require('./presence');
const { RateLimit } = require('./rate-limit');

const LIMITS = {
  maxPayload: 16 * 1024, // bytes of a message
  maxPending: 4 * 1024 * 1024, // bytes that may wait for a client to read them
  maxRooms: 10, // of one client
  burst: 50, // messages of one client at once
  perSecond: 10, // and in the long run
  // Bytes. For maxRooms rooms it is below maxPending: a client that comes back is not too slow at
  // once.
  maxRoomHistory: 256 * 1024,
  maxHistory: 64 * 1024 * 1024, // bytes, of all rooms
  closeTimeout: 10_000, // milliseconds for the closing handshake
  shutDownTime: 10_000, // milliseconds in which a process closes all connections
  heartbeat: 30_000 // milliseconds of silence until a Ping, and again until a client is dropped
};
const MAX_NAME = 64; // of a nickname and of a room, in characters
const MAX_TEXT = 4000;
const SHOWN_TO_NEWCOMERS = 20; // messages

/** Of a connection's `readyState`. */
const OPEN = 1;

const isText = (value, most, least = 1) => typeof value === 'string' && value.length >= least && value.length <= most;
const isId = (value) => typeof value === 'string' && /^\d{1,15}-\d{1,15}$/.test(value);

/** The rooms of this process. */
class Chat {
  /** `frameOnce` is that of the kind of connections. */
  constructor({ bus, frameOnce, limits }) {
    this.limits = limits;
    this.bus = bus;
    this.members = new Set();
    /** Room → the members that are here. */
    this.rooms = new Map();
    this.history = new History(limits);
    this.counts = { published: 0, repeated: 0, broadcast: 0, delivered: 0, tooSlow: 0, tooMany: 0, silent: 0 };
    this._frameOnce = frameOnce;
    this._lastId = '0-0';
    this._presence = new Presence(
      bus,
      (room) => [...(this.rooms.get(room) ?? [])].map(({ from, name }) => ({ from, name })),
      (room, count, members) => this._send(room, frameOnce(JSON.stringify({ type: 'members', room, count, members })))
    );
  }

  /** Reads what was said before this process began; messages follow from then on. */
  async start() {
    const { recent, complete } = await this.bus.start(
      (entry) => this._deliver(entry),
      (announcement) => this._presence.receive(announcement)
    );
    if (recent.length === 0) return;
    if (!complete) this.history.startAfter(recent[0].id);
    for (const entry of recent) this._remember(entry);
  }

  /** A connection is open: returns its handlers. */
  open(connection) {
    const member = new Member(this, connection);
    this.members.add(member);
    return member;
  }

  stop() {
    this._presence.stop();
  }

  /** Sends a message that is framed once. @returns {number} how many members it was sent to */
  _send(room, message) {
    let count = 0;
    for (const { connection } of this.rooms.get(room) ?? []) {
      connection.send(message);
      if (connection.readyState === OPEN) count++;
    }
    return count;
  }

  _remember({ id, room, body }) {
    this._lastId = id;
    const entry = { id, room, message: this._frameOnce(`{"type":"message","id":"${id}",${body.slice(1)}`) };
    this.history.add(entry);
    return entry;
  }

  /** A message has come, from here or from another process. It is framed once, for all members. */
  _deliver(published) {
    const { room, message } = this._remember(published);
    this.counts.broadcast++;
    this.counts.delivered += this._send(room, message);
  }

  /** A member enters a room, and gets what was said after `since`, or the latest without it. */
  enter(member, room, since) {
    // No message can come in between: this is one turn.
    const { entries, complete } =
      since === undefined
        ? { entries: this.history.latest(room, SHOWN_TO_NEWCOMERS), complete: true }
        : this.history.after(room, since);
    for (const { message } of entries) member.connection.send(message);
    const members = this.rooms.get(room) ?? new Set();
    this.rooms.set(room, members.add(member));
    member.reply({ type: 'joined', room, at: this._lastId, complete });
    this._presence.change(room);
  }

  leave(member, room) {
    const members = this.rooms.get(room);
    members.delete(member);
    if (members.size === 0) this.rooms.delete(room);
    this._presence.change(room);
  }
}

/** A client, and what it asks for. */
class Member {
  constructor(chat, connection) {
    this.chat = chat;
    this.connection = connection;
    this.rooms = new Set();
    this.name = null;
    this.from = null;
    this._lastNumber = 0;
    this._rate = new RateLimit(chat.limits);
  }

  reply(message) {
    this.connection.send(JSON.stringify(message));
  }

  /** The connection is lost. A client that did not read may come back for what it missed. */
  onError({ code }) {
    if (code === 'FRAMEMASK_ERR_BACKPRESSURE') this.chat.counts.tooSlow++;
    if (code === 'FRAMEMASK_ERR_HEARTBEAT') this.chat.counts.silent++;
  }

  onClose() {
    for (const room of this.rooms) this.chat.leave(this, room);
    this.rooms.clear();
    this.chat.members.delete(this);
  }

  onMessage(data, isBinary) {
    const { connection } = this;
    // Messages may come until the client answers a Close frame.
    if (connection.readyState !== OPEN) return;
    if (!this._rate.take()) {
      this.chat.counts.tooMany++;
      connection.close(1008, 'Too many messages');
    } else if (isBinary) {
      connection.close(1003, 'Text only');
    } else if (!this._obey(parse(data))) {
      connection.close(1008, 'Not a message of this chat');
    }
  }

  /** @returns {boolean} false for what is no message of a client */
  _obey(message) {
    if (this.name === null) return message.type === 'hello' && this._hello(message);
    if (message.type === 'join') return this._join(message);
    if (message.type === 'leave') return this._leave(message);
    return message.type === 'say' && this._say(message);
  }

  _hello({ name, session }) {
    if (!isText(name, MAX_NAME) || !isText(session, 64, 16)) return false;
    this.name = name;
    // Everybody sees `from`: with the session they could publish in its place.
    this.from = createHash('sha256').update(session).digest('base64url').slice(0, 16);
    this.reply({ type: 'welcome', from: this.from });
    return true;
  }

  _join({ room, since }) {
    if (!isText(room, MAX_NAME) || (since !== undefined && !isId(since))) return false;
    if (this.rooms.has(room) || this.rooms.size >= this.chat.limits.maxRooms) return false;
    this.rooms.add(room);
    this.chat.enter(this, room, since);
    return true;
  }

  _leave({ room }) {
    if (!this.rooms.delete(room)) return false;
    this.chat.leave(this, room);
    return true;
  }

  _say({ room, n, text }) {
    if (!this.rooms.has(room) || !isText(text, MAX_TEXT)) return false;
    if (!Number.isSafeInteger(n) || n <= this._lastNumber) return false;
    this._lastNumber = n;
    this._publish(room, n, text);
    return true;
  }

  async _publish(room, n, text) {
    const { from, name, chat } = this;
    const body = JSON.stringify({ room, from, name, n, text });
    try {
      const isNew = await chat.bus.publish({ from, n, room, body });
      chat.counts[isNew ? 'published' : 'repeated']++;
      this.reply({ type: 'sent', n });
    } catch {
      this.connection.close(1013, 'Try again later'); // the other processes can't be reached
    }
  }
}

/** @returns {object} what JSON says, or an empty object */
function parse(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

module.exports = { Chat, LIMITS };
