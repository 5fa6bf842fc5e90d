'use strict';

const { http2, util } = require('../shared/node-modules');

/** Of Node.js: test runners replace it later. */
const { setImmediate } = globalThis;

/** The options in which the WebSockets on a session must agree: values, and functions and objects. */
const VALUES = ['host', 'port', 'socketPath', 'family', 'localAddress', 'settings', 'servername', 'rejectUnauthorized'];
VALUES.push('ca', 'cert', 'key', 'passphrase', 'pfx', 'crl', 'ciphers', 'sigalgs', 'ecdhCurve', 'dhparam');
VALUES.push('allowPartialTrustChain', 'minDHSize', 'privateKeyEngine', 'privateKeyIdentifier', 'clientCertEngine');
VALUES.push('ALPNProtocols', 'minVersion', 'maxVersion', 'secureProtocol', 'secureOptions', 'honorCipherOrder');
VALUES.push('sessionIdContext', 'session');
const IDENTITIES = ['checkServerIdentity', 'lookup', 'pskCallback', 'secureContext', 'socket'];

/**
 * @typedef {object} Entry
 * @property {import('node:http2').ClientHttp2Session} session
 * @property {string} scheme
 * @property {object} options
 * @property {number} shares how many WebSockets wait for the session or have a stream on it
 * @property {number} streams how many have a stream on it
 */

/**
 * Sessions that WebSockets of an origin share. A session takes streams up to its peer's limit, or
 * until GOAWAY, and ends with its last stream.
 */
class SharedSessions {
  constructor() {
    /** @type {Set<Entry>} */
    this._entries = new Set();
  }

  /** @returns {Share} a WebSocket's */
  share(scheme, options) {
    return new Share(this, scheme, options);
  }

  /** @returns {Entry} one with room, as far as its peer's limit is known */
  join(scheme, options) {
    const isFound = (entry) =>
      entry.shares < limitOf(entry.session) && entry.scheme === scheme && agree(entry.options, options);
    const found = [...this._entries].find(isFound) ?? this._connect(scheme, options);
    found.shares++;
    return found;
  }

  leave(entry) {
    entry.shares--;
    // Another one may follow. Node.js 20 can hang in the turn in which a stream was reset.
    setImmediate(() => {
      if (entry.shares > 0) return;
      this._entries.delete(entry);
      entry.session.close();
    });
  }

  _connect(scheme, options) {
    const { host, port, path: _path, createConnection: _tunnel, ...rest } = options;
    const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    // Nobody would read a push, nor hear its errors.
    const settings = { ...rest.settings, enablePush: false };
    const session = http2.connect(`${scheme}://${authority}`, { ...rest, settings, path: rest.socketPath });
    const entry = { session, scheme, options, shares: 0, streams: 0 };
    this._entries.add(entry);
    const forget = () => this._entries.delete(entry);
    // Its streams go on after GOAWAY, but new ones need another session. Each WebSocket tells the error.
    session.on('goaway', forget).on('close', forget).on('error', forget);
    return entry;
  }
}

/** A WebSocket's part of a session. */
class Share {
  constructor(sessions, scheme, options) {
    this._sessions = sessions;
    this._origin = [scheme, options];
    this._entry = sessions.join(scheme, options);
    this._hasStream = false;
  }

  get session() {
    return this._entry.session;
  }

  /**
   * Counts a stream, when the peer's limit is known. Others may have come first.
   *
   * @returns {boolean} false if the session is full: `session` is another one then
   */
  openStream() {
    const entry = this._entry;
    this._hasStream = entry.streams === 0 || entry.streams < limitOf(entry.session);
    if (this._hasStream) {
      entry.streams++;
    } else {
      this._sessions.leave(entry);
      this._entry = this._sessions.join(...this._origin);
    }
    return this._hasStream;
  }

  release() {
    if (this._hasStream) this._entry.streams--;
    this._sessions.leave(this._entry);
  }
}

/** The peer's limit of streams at a time. */
function limitOf({ remoteSettings }) {
  return remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
}

/** Whether a session that was opened with some options suits others. */
function agree(some, others) {
  return (
    IDENTITIES.every((name) => some[name] === others[name]) &&
    VALUES.every((name) => util.isDeepStrictEqual(some[name], others[name]))
  );
}

module.exports = { SharedSessions };
