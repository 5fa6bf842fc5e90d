'use strict';

const modules = require('./shared/node-modules');
const { checkBytes } = require('./shared/buffers');
const { acceptDeflate, offerDeflate } = require('./deflate/negotiation');
const { checkSocket, refuseUpgrade, responseOf } = require('./shared/http-answers');
const { FrameError, invalidType } = require('./shared/errors');
const { TOKEN, hasToken, parseTokens } = require('./shared/header-lists');
const { checkObject } = require('./shared/option-names');
const { isOver, responseOn } = require('./shared/stream-state');

// The opening handshake over HTTP/1.1 (RFC 6455 section 4): see index.d.ts.

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** 16 bytes in base64. As other servers, it does not judge the bits that no byte has. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;
/**
 * "A server that sends a 426 response MUST send an Upgrade header field" (RFC 9110 section
 * 15.5.22).
 */
const UPGRADE = { Connection: 'Upgrade, close', Upgrade: 'websocket' };
/** "concatenated with the string GUID, a SHA-1 hash ..., base64-encoded" (section 1.3). */
const acceptKey = (key) => modules.crypto.createHash('sha1').update(`${key}${GUID}`).digest('base64');

function acceptUpgrade(request, socket, head, options = {}) {
	checkObject(request?.headers, 'request.headers');
	checkSocket(socket);
	checkBytes('head', head);
	const { protocol, deflate, headers } = checkObject(options);
	const isFunction = typeof protocol === 'function';
	if (!isFunction && typeof (protocol ?? '') !== 'string') {
		throw invalidType('options.protocol', 'a string or a function', protocol);
	}
	// An asynchronous listener may come too late: neither 'end' nor 'close' would ever tell.
	if (isOver(socket)) {
		socket.destroy();
		return null;
	}
	if (responseOn(socket) !== null) return refuseInTurn(socket);
	const refusal = findRefusal(request);
	if (refusal !== null) return refuseUpgrade(socket, ...refusal);
	const protocols = request.headers['sec-websocket-protocol'];
	const offered = protocols === undefined ? [] : parseTokens(protocols);
	if (offered === null) return refuseUpgrade(socket, 400);
	// A copy: the function may take its choice out of the array.
	const chosen = isFunction ? protocol([...offered]) : offered.find((name) => name === protocol);
	if (chosen !== undefined && !offered.includes(chosen)) {
		throw invalidType('options.protocol', 'a function that returns an offered subprotocol or undefined', chosen);
	}
	const agreement = deflate ? acceptDeflate(request.headers['sec-websocket-extensions'], optionsOf(deflate)) : null;
	const answer = {
		Upgrade: 'websocket',
		Connection: 'Upgrade',
		'Sec-WebSocket-Accept': acceptKey(request.headers['sec-websocket-key']),
		'Sec-WebSocket-Protocol': chosen,
		'Sec-WebSocket-Extensions': agreement?.header
	};
	socket.write(responseOf('101 Switching Protocols', answer, headers));
	// Frames that came with the request.
	if (head.length > 0) socket.unshift(head);
	return { protocol: chosen ?? '', deflate: agreement };
}

/**
 * Refuses a request that came before an earlier one on its socket has been answered: that answer
 * would be read as frames. Responses leave "in the same order that the requests were received" (RFC
 * 9112 section 9.3.2).
 */
function refuseInTurn(socket) {
	const response = responseOn(socket);
	if (response === null) return refuseUpgrade(socket);
	response.once('finish', () => refuseInTurn(socket));
	return null;
}

/** @returns {[status: number, headers: object] | null} null for a handshake (section 4.2.1) */
function findRefusal({ method, httpVersion, headers }) {
	if (method !== 'GET') return [405, { Allow: 'GET' }];
	// A proxy would take the body's bytes for the first frames, or these for the body.
	if (hasBody(headers)) return [400, {}];
	// "an HTTP/1.1 or higher GET request"
	if (Number(httpVersion) < 1.1 || headers.host === undefined) return [400, {}];
	if (!hasToken(headers.upgrade, 'websocket')) return [426, UPGRADE];
	if (!hasToken(headers.connection, 'upgrade')) return [400, {}];
	// "a |Sec-WebSocket-Version| header field indicating the version(s) the server is capable of"
	// (section 4.4).
	if (headers['sec-websocket-version'] !== '13') return [426, { ...UPGRADE, 'Sec-WebSocket-Version': '13' }];
	return KEY.test(headers['sec-websocket-key']) ? null : [400, {}];
}

const hasBody = (headers) =>
	headers['transfer-encoding'] !== undefined || !/^0*$/.test(headers['content-length'] ?? '');

/** A client's part (section 4.1). */
class UpgradeOffer {
	constructor(options = {}) {
		const { protocols = [], deflate = false } = checkObject(options);
		// "The elements that comprise this value MUST ... all be unique" (section 4.1).
		if (!Array.isArray(protocols) || new Set(protocols).size !== protocols.length) {
			throw invalidType('options.protocols', 'an array without duplicates', protocols);
		}
		for (const protocol of protocols) {
			if (typeof protocol !== 'string' || !TOKEN.test(protocol)) {
				throw invalidType('options.protocols', 'tokens, without spaces', protocol);
			}
		}
		this._key = modules.crypto.randomBytes(16).toString('base64');
		this._protocols = protocols;
		this._deflate = deflate ? offerDeflate(optionsOf(deflate)) : null;
		this.headers = {
			Connection: 'Upgrade',
			Upgrade: 'websocket',
			'Sec-WebSocket-Version': '13',
			'Sec-WebSocket-Key': this._key
		};
		if (protocols.length > 0) this.headers['Sec-WebSocket-Protocol'] = protocols.join(', ');
		if (this._deflate !== null) this.headers['Sec-WebSocket-Extensions'] = this._deflate.header;
	}

	readAnswer(response) {
		const headers = checkObject(response?.headers, 'response.headers');
		const { statusCode } = response;
		if (statusCode !== 101) throw badAnswer(`its status is ${statusCode}, not 101`);
		if (!hasToken(headers.upgrade, 'websocket')) throw badAnswer('its header Upgrade is not websocket');
		if (!hasToken(headers.connection, 'upgrade')) throw badAnswer('its header Connection lacks upgrade');
		if (headers['sec-websocket-accept'] !== acceptKey(this._key)) throw badAnswer('its Sec-WebSocket-Accept is wrong');
		const protocol = headers['sec-websocket-protocol'] ?? '';
		if (protocol !== '' && !this._protocols.includes(protocol)) throw badAnswer('its subprotocol was not offered');
		const extensions = headers['sec-websocket-extensions'];
		if (extensions !== undefined && this._deflate === null) throw badAnswer('it has extensions that were not offered');
		return { protocol, deflate: this._deflate?.readAnswer(extensions) ?? null };
	}
}

const offerUpgrade = (options) => new UpgradeOffer(options);

const optionsOf = (deflate) => (deflate === true ? {} : deflate);

function badAnswer(fault) {
	return new FrameError('HANDSHAKE', 1002, `The server's answer to the handshake: ${fault}`);
}

module.exports = { acceptKey, acceptUpgrade, offerUpgrade, refuseUpgrade };
