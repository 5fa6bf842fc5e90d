'use strict';

const { net, stream, tls } = require('../shared/node-modules');
const { acceptKey } = require('../handshake');
const { Buffer, join } = require('../shared/buffers');
const { invalidType, invalidValue } = require('../shared/errors');
const { readBoolean } = require('../shared/option-names');
const { destroyAfterReset } = require('../shared/stream-state');
const { fieldsOf, readHead, writeHead } = require('./http1-head');
const { SharedSessions } = require('./shared-sessions');

const { Duplex, finished } = stream;

/** An error code (RFC 9113 section 7). */
const CANCEL = 8;

/** The sessions that WebSockets of this thread share. */
const shared = new SharedSessions();

function overHttp2(session = null, choices = {}) {
	const fallback = readBoolean(choices, 'fallback');
	if (session !== null && typeof session?.request !== 'function') {
		throw invalidType('session', 'a session of http2.connect()', session);
	}
	let first;
	return (options) => {
		const scheme = isSecure(options) ? 'https' : 'http';
		const origin = `${scheme}://${options.socketPath ?? `${options.host}:${options.port}`}`;
		first ??= origin;
		const share = session === null ? shared.share(scheme, options) : ownSession(session, origin, first);
		const tunnel = new Tunnel(scheme, share, fallback ? () => connectHttp1(scheme, options) : null);
		// As net.connect does for node:http.
		return tunnel.setTimeout(options.timeout ?? 0);
	};
}

/**
 * Whether a request needs TLS. node:https gives its agent, which is not documented, and the
 * protocol of a URL; a client of ws gives its default port.
 */
function isSecure({ _defaultAgent: agent, protocol, defaultPort }) {
	return [agent?.protocol, protocol].includes('https:') || defaultPort === 443;
}

/**
 * The program's session, in place of a share of one, for the origin of the first request: a
 * redirect must not have it send credentials to another host, or in clear text (RFC 9113 section
 * 9.1.1).
 */
function ownSession(session, origin, first) {
	const openStream = () => {
		const isInClear = origin.startsWith('https:') && !session.encrypted;
		if (origin !== first || isInClear) throw invalidValue(`The session is not one for ${origin}`);
		return true;
	};
	return { session, isGone: false, check() {}, settle() {}, openStream, release() {} };
}

/**
 * The socket of a client's handshake over HTTP/1.1, made over HTTP/2 (RFC 8441 section 5): the
 * request that is written opens a stream, and the answer is read as of HTTP/1.1.
 */
class Tunnel extends Duplex {
	/** @param {(() => Socket) | null} connect for HTTP/1.1, if HTTP/2 fails */
	constructor(scheme, share, connect) {
		super({ allowHalfOpen: true });
		this._scheme = scheme;
		this._connect = connect;
		this._share = share;
		this._stream = null;
		/** The request that is written, and its callback, until the answer. Later writes wait. */
		this._request = null;
		this._key = '';
		this._timer = null;
		/** Calls of a socket's methods that come before an answer. */
		this._calls = [];
		this.once('close', () => share.release());
	}

	setTimeout(milliseconds, callback) {
		clearTimeout(this._timer);
		this._timer = milliseconds > 0 ? setTimeout(() => this._onTimeout(), milliseconds) : null;
		if (callback !== undefined) this[milliseconds > 0 ? 'once' : 'off']('timeout', callback);
		return this;
	}

	_onTimeout() {
		if (this._request !== null) this._share.settle(false);
		this.emit('timeout');
	}

	_write(chunk, _encoding, callback) {
		this._timer?.refresh?.(); // jsdom's timers are numbers
		const { _stream: opened } = this;
		if (opened === null) this._open({ bytes: chunk, callback });
		else opened.write(chunk, (error) => this._afterWrite(opened, error, callback));
	}

	/**
	 * After RST_STREAM, Node.js calls a write back without an error. From 26 on it does so before
	 * this is closed.
	 */
	_afterWrite({ rstCode }, error, callback) {
		if (rstCode) finished(this, () => callback(error));
		else callback(error);
	}

	_writev(chunks, callback) {
		this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), '', callback);
	}

	_final(callback) {
		this._stream?.end();
		callback();
	}

	_read() {
		this._stream?.resume();
	}

	_destroy(error, callback) {
		clearTimeout(this._timer);
		const stream = this._stream;
		const hasEnded = stream === null || (stream.writableFinished && stream.readableEnded);
		if (!hasEnded) {
			// A socket lacks `close`. After CANCEL, or the end of both sides, a stream with unread bytes
			// waits for a reader.
			stream.close?.(CANCEL);
			stream.destroy();
		}
		callback(error);
	}

	/** Opens the stream, for a request that node:http has written as one chunk. */
	async _open(request) {
		this._request = request;
		try {
			await this._findSession();
			if (this.destroyed) return;
			const head = readHead(request.bytes);
			if (head === null) throw new Error('The request must be written in one piece');
			this._attach(this._openStream(head));
			// As over TCP, bytes after the request reach the server.
			if (head.body.length > 0) this._stream.write(head.body);
		} catch (error) {
			this._fail(error);
		}
	}

	/** Waits for a session whose peer is there, takes WebSockets, and allows one more stream. */
	async _findSession() {
		do {
			await this._share.check();
			if (!this._share.isGone) await supportsWebSockets(this._share.session);
		} while (!this.destroyed && !this._share.openStream());
	}

	_openStream({ start, headers }) {
		this._key = headers['sec-websocket-key'];
		const pseudo = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': this._scheme };
		const target = { ':path': start[1], ':authority': headers.host };
		const stream = this._share.session.request({ ...pseudo, ...target, ...fieldsOf(headers) }, { endStream: false });
		stream.on('response', (response) => this._answer(response));
		return stream;
	}

	/**
	 * Passes the request on as it is, to HTTP/1.1. A GET may be sent again after "a communication
	 * failure ... before the client is able to read the server's response" (RFC 9110 section 9.2.2).
	 */
	_fail(error) {
		if (this._request === null || this._connect === null || this.destroyed) {
			this.destroy(error);
			return;
		}
		this._attach(this._connect());
		for (const [name, args] of this._calls) this._stream[name](...args);
		const { bytes, callback } = this._request;
		this._request = null;
		this._stream.write(bytes, callback);
		this._stream.resume();
	}

	_attach(stream) {
		this._stream = stream;
		stream.pause();
		stream.on('data', (chunk) => {
			this._timer?.refresh?.();
			if (!this.push(chunk)) stream.pause();
		});
		stream.on('end', () => {
			// Without an answer, 'close' tells.
			if (this._request === null) this.push(null);
		});
		const fail = (error) => {
			// A connection of HTTP/1.1 may have followed.
			if (stream === this._stream) this._fail(error);
		};
		destroyAfterReset(stream);
		stream.on('error', fail);
		stream.on('close', () => {
			// `rstCode` of a socket is undefined: a socket ends by 'end' or by an error.
			if (stream.rstCode || this._request !== null) fail();
		});
	}

	_answer(headers) {
		const status = headers[':status'];
		const upgraded = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-accept': acceptKey(this._key) };
		const head =
			status === 200
				? writeHead('HTTP/1.1 101 Switching Protocols', { ...fieldsOf(headers), ...upgraded })
				: writeHead(`HTTP/1.1 ${status} `, { ...fieldsOf(headers), connection: 'close' });
		this._share.settle(true);
		const { callback } = this._request;
		this._request = null;
		callback();
		// The program gets a view of this memory, the bytes after the head: so it is not that of
		// Node.js's pool.
		this.push(join([Buffer.from(head, 'latin1')]));
		this._stream.resume();
	}
}

// node:http and programs call these. A stream lacks them; the socket of a fallback has them.
for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref']) {
	Tunnel.prototype[name] = function (...args) {
		if (this._request !== null || this._stream === null) this._calls.push([name, args]);
		else this._stream[name]?.(...args);
		return this;
	};
}

function connectHttp1(scheme, { createConnection: _tunnel, path: _path, ...rest }) {
	const options = { ...rest, path: rest.socketPath };
	if (scheme === 'http') return net.connect(options);
	// "Literal IPv4 and IPv6 addresses are not permitted" as names (RFC 6066 section 3).
	const servername = options.servername ?? (net.isIP(options.host) === 0 ? options.host : '');
	return tls.connect({ ...options, servername });
}

/** A promise for each session. It resolves if the peer takes WebSockets. */
const support = new WeakMap();

/**
 * Waits for the settings of the peer: without SETTINGS_ENABLE_CONNECT_PROTOCOL a client may not ask
 * (RFC 8441 section 3).
 */
function supportsWebSockets(session) {
	if (!support.has(session)) {
		const found = findSupport(session);
		support.set(session, found);
		// The next WebSocket asks again: a peer may offer it later.
		found.catch(() => support.delete(session));
	}
	return support.get(session);
}

function findSupport(session) {
	return new Promise((resolve, reject) => {
		const settle = (error) => {
			session.off('error', settle).off('close', fail);
			if (error === undefined) resolve();
			else reject(error);
		};
		const fail = (cause) => settle(new Error('The session has ended, or the server does not speak HTTP/2', { cause }));
		const onAnswer = (error) => {
			if (error !== null) fail(error);
			else if (session.remoteSettings.enableConnectProtocol) settle();
			else settle(new Error('The server does not offer WebSockets over HTTP/2'));
		};
		const ask = () => {
			// Node.js emits 'connect' for a session that was destroyed before, too.
			if (session.closed || session.destroyed) fail();
			// The program's own Pings may leave no room for another.
			else if (session.remoteSettings.enableConnectProtocol) settle();
			// SETTINGS are the first frame of the peer: before the answer to a Ping.
			else session.ping(onAnswer);
		};
		session.once('error', settle).once('close', fail);
		if (session.connecting && !session.destroyed) session.once('connect', ask);
		else ask();
	});
}

module.exports = { overHttp2 };
