'use strict';

const { http2, util } = require('../shared/node-modules');
const { runOutside } = require('../shared/outside');
const { setImmediate } = require('../shared/ticks');

/** A peer that has answered in the last so many milliseconds is not asked again. */
const FRESH = 1000;
/** A Ping that takes longer costs one more session. */
const PING_TIMEOUT = 1000;
/** As that of ws, which is there for each WebSocket. */
const CLOSE_TIMEOUT = 30_000;
/** Node.js keeps every origin that a server names (RFC 8336). */
const MAX_ORIGINS = 1000;
const ENHANCE_YOUR_CALM = 11;

/** Options in which the WebSockets on a session must agree: values, and functions and objects. */
const VALUES = ['host', 'port', 'socketPath', 'family', 'localAddress', 'settings', 'servername', 'rejectUnauthorized'];
VALUES.push('ca', 'cert', 'key', 'passphrase', 'pfx', 'crl', 'ciphers', 'sigalgs', 'ecdhCurve', 'dhparam');
VALUES.push('allowPartialTrustChain', 'minDHSize', 'privateKeyEngine', 'privateKeyIdentifier', 'clientCertEngine');
VALUES.push('ALPNProtocols', 'minVersion', 'maxVersion', 'secureProtocol', 'secureOptions', 'honorCipherOrder');
VALUES.push('sessionIdContext', 'session');
const IDENTITIES = ['checkServerIdentity', 'lookup', 'pskCallback', 'secureContext', 'socket'];

/**
 * @typedef {object} Entry
 * @property {number} shares how many WebSockets wait for the session or have a stream on it
 * @property {number} streams how many have a stream on it
 * @property {import('node:net').Socket | null} socket null until it is connected
 * @property {number} answeredAt when the peer answered a handshake or a Ping; at first when it was
 *   opened
 * @property {Promise<void> | null} check that of a Ping which is under way
 * @property {boolean} isGone whether the peer left a Ping or a handshake unanswered
 */

/**
 * Sessions that WebSockets of an origin share. A session takes streams up to its peer's limit,
 * until GOAWAY, and while its peer answers; it ends with its last stream.
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
		const isFound = ({ session, shares, ...entry }) =>
			!session.destroyed && shares < limitOf(session) && entry.scheme === scheme && agree(entry.options, options);
		const found = [...this._entries].find(isFound) ?? this._connect(scheme, options);
		found.shares++;
		return found;
	}

	leave(entry) {
		entry.shares--;
		// Another one may follow. Node.js 20 can hang in the turn in which a stream was reset.
		setImmediate(() => {
			if (entry.shares > 0 || entry.hasEnded) return;
			entry.hasEnded = true;
			this._entries.delete(entry);
			end(entry);
		});
	}

	/** Gives a session whose peer has not answered no more WebSockets. */
	setAside(entry) {
		entry.isGone = true;
		this._entries.delete(entry);
	}

	/** Asks the peer of a silent session whether it is there: a loss may have told nobody. */
	check(entry) {
		const { session } = entry;
		if (session.connecting || session.destroyed || performance.now() - entry.answeredAt < FRESH) return null;
		entry.check ??= new Promise((resolve) => {
			const settle = (error) => {
				clearTimeout(timer);
				entry.check = null;
				entry.answeredAt = performance.now();
				if (error !== null) this.setAside(entry);
				resolve();
			};
			const timer = setTimeout(settle, PING_TIMEOUT);
			session.ping(settle);
		});
		return entry.check;
	}

	_connect(scheme, options) {
		const { host, port, path: _path, createConnection: _tunnel, ...rest } = options;
		const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
		// Nobody would read a push, nor hear its errors.
		const settings = { ...rest.settings, enablePush: false };
		const given = { ...rest, settings, path: rest.socketPath };
		const session = runOutside(http2.connect, `${scheme}://${authority}`, given);
		const entry = { session, scheme, options, shares: 0, streams: 0, socket: null, check: null };
		Object.assign(entry, { answeredAt: performance.now(), isGone: false, hasEnded: false });
		this._entries.add(entry);
		session.once('connect', (_session, socket) => {
			entry.socket = socket;
		});
		const forget = () => this._entries.delete(entry);
		// Its streams go on after GOAWAY, but new ones need another session. Each WebSocket tells the
		// error.
		session.on('goaway', forget).on('close', forget).on('error', forget);
		session.on('origin', () => {
			const isTooMuch = session.originSet.length > MAX_ORIGINS;
			if (isTooMuch) session.destroy(new Error('The server names too many origins'), ENHANCE_YOUR_CALM);
		});
		return entry;
	}
}

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

	get isGone() {
		return this._entry.isGone;
	}

	/** Waits until it is known whether the session's peer is there. */
	check() {
		return this._sessions.check(this._entry);
	}

	/** Notes that the handshake has been answered, or not in time. */
	settle(isAnswered) {
		if (isAnswered) this._entry.answeredAt = performance.now();
		else this._sessions.setAside(this._entry);
	}

	/**
	 * Counts a stream, when the peer's limit is known. Others may have come first.
	 *
	 * @returns {boolean} false if the session is full, or its peer gone: `session` is another one
	 *   then
	 */
	openStream() {
		const entry = this._entry;
		this._hasStream = !entry.isGone && (entry.streams === 0 || entry.streams < limitOf(entry.session));
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

function end({ session, socket, options, isGone }) {
	// close() waits for the peer to end its side, or for a connection.
	if (isGone || socket === null) session.destroy();
	else session.close();
	if (socket === null) return;
	const timer = setTimeout(() => socket.destroy(), options.closeTimeout ?? CLOSE_TIMEOUT);
	timer.unref?.(); // jsdom's timers are numbers
	socket.once('close', () => clearTimeout(timer));
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
