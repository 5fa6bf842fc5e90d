'use strict';

const modules = require('../shared/node-modules');

/** The options in which WebSockets on one session must agree. */
const AGREED = ['host', 'port', 'servername', 'ca', 'cert', 'key', 'pfx', 'rejectUnauthorized', 'localAddress'];

/**
 * Sessions by their origin. A session takes streams up to its peer's limit, or until GOAWAY, and ends
 * with its last stream.
 */
class SharedSessions {
  constructor() {
    /** @type {Map<string, { session: import('node:http2').ClientHttp2Session, streams: number }[]>} */
    this._entries = new Map();
  }

  /** @returns {{ session: import('node:http2').ClientHttp2Session, release: () => void }} a stream's share */
  acquire(scheme, options) {
    const key = JSON.stringify([scheme, ...AGREED.map((name) => String(options[name]))]);
    const entry =
      this._entries.get(key)?.find(({ session, streams }) => streams < limitOf(session)) ??
      this._connect(key, scheme, options);
    entry.streams++;
    const release = () => {
      entry.streams--;
      // Another one may follow. Node.js 20 can hang in the turn in which a stream was reset.
      setImmediate(() => {
        if (entry.streams > 0) return;
        this._forget(key, entry);
        entry.session.close();
      });
    };
    return { session: entry.session, release };
  }

  _connect(key, scheme, { host, port, path: _path, createConnection: _tunnel, ...options }) {
    const session = modules.http2.connect(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`, options);
    const entry = { session, streams: 0 };
    this._entries.set(key, [...(this._entries.get(key) ?? []), entry]);
    const forget = () => this._forget(key, entry);
    // Its streams go on after GOAWAY, but new ones need another session. Each WebSocket tells the error.
    session.on('goaway', forget).on('close', forget).on('error', forget);
    return entry;
  }

  _forget(key, entry) {
    const left = (this._entries.get(key) ?? []).filter((each) => each !== entry);
    if (left.length === 0) this._entries.delete(key);
    else this._entries.set(key, left);
  }
}

/** The peer's limit of streams at a time. */
function limitOf({ remoteSettings }) {
  return remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
}

module.exports = { SharedSessions };
