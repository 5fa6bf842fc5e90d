'use strict';

const { crypto, http } = require('../shared/node-modules');
const { Buffer } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');
const { destroyAfterReset } = require('../shared/stream-state');
const { setImmediate } = require('../shared/ticks');
const { fieldsOf, readHead } = require('./http1-head');

/** Error codes (RFC 9113 section 7). */
const NO_ERROR = 0;
const CANCEL = 8;

const kAccepts = Symbol('accepts');
/** The session of a stream, also after its end. */
const kSession = Symbol('session');

/**
 * The properties that a stream takes from its session's socket while that lasts, as over HTTP/1.1.
 */
const OF_SOCKET = ['remoteAddress', 'remoteFamily', 'remotePort', 'localAddress', 'localFamily', 'localPort'];
OF_SOCKET.push('encrypted', 'authorized', 'authorizationError', 'alpnProtocol', 'servername', 'getCertificate');
OF_SOCKET.push('getCipher', 'getPeerCertificate', 'getPeerX509Certificate', 'getProtocol', 'getSession', 'getFinished');
/** Methods that programs call for each socket, such as proxies. */
const WITHOUT_EFFECT = ['setNoDelay', 'setKeepAlive', 'ref', 'unref'];

/**
 * See index.d.ts. Each stream of a WebSocket (RFC 8441) becomes an event 'upgrade' of the server,
 * as over HTTP/1.1: its listeners answer by HTTP/1.1, and the answer is translated.
 */
function acceptHttp2(server) {
	if (typeof server?.updateSettings !== 'function') throw invalidType('server', 'a server of node:http2', server);
	if (server[kAccepts]) return server;
	server[kAccepts] = true;
	server.updateSettings({ enableConnectProtocol: true });
	// In front of the program's listeners: those of `once` still count.
	server.prependListener('stream', onStream);
	// With a listener of 'request', Node.js answers CONNECT with 405 unless this event has one.
	server.on('connect', onConnect);
	return server;
}

function onConnect(request, response) {
	if (request.headers[':protocol'] !== undefined || this.listenerCount('connect') > 1) return;
	// With `allowHTTP1`, that of HTTP/1.1 has a socket: Node.js destroys it if nobody listens.
	if (request.httpVersionMajor === 1) {
		response.destroy();
		return;
	}
	response.statusCode = 405;
	response.end();
}

function onStream(stream, headers) {
	// Without a listener, a client's RST_STREAM would end the process.
	stream.on('error', ignore);
	if (headers[':protocol'] === undefined && hasOtherListeners(this, stream.session)) return;
	// A client that opens streams and resets them at once (CVE-2023-44487) makes nothing here.
	setImmediate(() => {
		const isAnswered = stream.destroyed || stream.closed || stream.headersSent;
		if (!isAnswered) upgrade(this, stream, headers);
	});
}

/** Whether the program answers streams itself: for 'request', Node.js listens to 'stream', too. */
function hasOtherListeners(server, session) {
	// Node.js listens to each session for the server. A stream that was reset at once has left its
	// session.
	return server.listenerCount('stream') > 1 || session?.listenerCount('stream') > 1;
}

function upgrade(server, stream, headers) {
	const refusal = findRefusal(headers);
	if (refusal !== null) {
		refuse(stream, ...refusal);
		return;
	}
	makeSocket(stream);
	destroyAfterReset(stream);
	stream.write = answerByWrite;
	stream.end = answerByEnd;
	stream.destroy = destroy;
	// After WebSocketServer.close() there are none, but the announcement may not be taken back
	// (section 3).
	// An empty Buffer, too, is the program's: it may transfer it.
	const head = Buffer.allocUnsafeSlow(0);
	if (!server.emit('upgrade', createRequest(stream, headers), stream, head)) refuse(stream, 503);
}

/** The prototype in front of that of streams. */
let socketPrototype = null;

/**
 * Gives a stream the properties of a socket, for `request.socket` is this stream. The session's own
 * socket throws for its methods, and for everything after its end.
 */
function makeSocket(stream) {
	socketPrototype ??= createSocketPrototype(Object.getPrototypeOf(stream));
	stream[kSession] = stream.session;
	Object.setPrototypeOf(stream, socketPrototype);
}

function createSocketPrototype(prototype) {
	const made = Object.create(prototype);
	for (const name of OF_SOCKET) {
		const get = function () {
			const session = this[kSession];
			return session.destroyed ? undefined : session.socket[name];
		};
		Object.defineProperty(made, name, { get, configurable: true });
	}
	for (const name of WITHOUT_EFFECT) made[name] = returnThis;
	return made;
}

function returnThis() {
	return this;
}

/** Errors are the WebSocket's, once there is one; unheard, they would end the process. */
function ignore() {}

/**
 * Requests for others, and faults that nghttp2 leaves (RFC 9113 section 8.2, RFC 8441 section 4).
 *
 * @returns {[status: number, headers?: object] | null}
 */
function findRefusal(headers) {
	if (headers[':method'] !== 'CONNECT') return [404];
	// Without a protocol it asks for a tunnel (RFC 9113 section 8.5): "most origin servers do not
	// implement CONNECT" (RFC 9110 section 9.3.6).
	if (headers[':protocol'] !== 'websocket') return [501];
	return headers['sec-websocket-version'] === '13' ? null : [400, { 'sec-websocket-version': '13' }];
}

function refuse(stream, status, headers = {}) {
	restore(stream);
	// The client is gone: a stream that is closed ends itself.
	if (stream.closed) return;
	stream.respond({ ':status': status, ...headers }, { endStream: true });
	stream.resume();
}

/**
 * The request as over HTTP/1.1. "The Sec-WebSocket-Key ... header fields are not used" (section 5):
 * the one here only satisfies those who look for it.
 */
function createRequest(stream, headers) {
	const request = new http.IncomingMessage(stream);
	const fields = {
		host: headers[':authority'],
		...fieldsOf(headers),
		connection: 'Upgrade',
		upgrade: 'websocket',
		'sec-websocket-key': crypto.randomBytes(16).toString('base64')
	};
	request.method = 'GET';
	request.url = headers[':path'];
	request.httpVersion = '2.0';
	request.httpVersionMajor = 2;
	request.httpVersionMinor = 0;
	request.complete = true;
	request.headers = fields;
	request.rawHeaders = Object.entries(fields).flat();
	request.stream = stream;
	request.push(null);
	return request;
}

/** `write` until the answer has been written. */
function answerByWrite(head, ...rest) {
	answer(this, head, rest[0], false);
	return rest.length === 0 || this.write('', ...rest);
}

/** `end` until then: the answer is an error, or there is none. */
function answerByEnd(head, ...rest) {
	if (head === undefined) refuse(this, 500);
	else answer(this, head, rest[0], true);
	const callback = rest.find((each) => typeof each === 'function');
	if (callback !== undefined) this.once('finish', callback);
	return this;
}

/** Translates an answer of HTTP/1.1: 101 is 200 (section 5). */
function answer(stream, data, encoding, ends) {
	// A callback may stand in the place of the encoding.
	const head = readHead(Buffer.from(data, typeof encoding === 'string' ? encoding : 'utf8'));
	restore(stream);
	if (head === null) throw new Error('The answer to a WebSocket over HTTP/2 must be written as one head of HTTP/1.1');
	const { start, headers, body } = head;
	const status = Number(start[1]);
	// HTTP/2 lacks 426 (RFC 9113 section 8.6).
	const translated = status === 101 ? 200 : status === 426 ? 400 : status;
	stream.respond({ ':status': translated, ...fieldsOf(headers) });
	if (ends) {
		// An error: bytes that the client sends meanwhile are dropped.
		stream.end(body);
		stream.resume();
	} else if (body.length > 0) {
		stream.write(body);
	}
}

function restore(stream) {
	delete stream.write;
	delete stream.end;
}

/** An end without END_STREAM of both sides is CANCEL: as RST is with TCP (section 5). */
function destroy(error) {
	// After an error has been answered, the client's side is not waited for.
	if (!this.closed) this.close(this.writableFinished ? NO_ERROR : CANCEL);
	return Object.getPrototypeOf(this).destroy.call(this, error);
}

module.exports = { acceptHttp2 };
