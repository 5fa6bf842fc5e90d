'use strict';

const { offerUpgrade } = require('./handshake');
const { connectionError, invalidValue } = require('./shared/errors');
const { readFields } = require('./shared/header-fields');
const modules = require('./shared/node-modules');
const { readTime } = require('./shared/option-names');

/** Milliseconds. */
const TIMEOUT = 10_000;

/**
 * A client's opening handshake over node:http or node:https (RFC 6455 section 4.1): see
 * `Connection.connect` in index.d.ts. Redirects are not followed.
 *
 * @returns {Promise<{ socket: Duplex, protocol: string, deflate: NegotiatedDeflate | null,
 *   trace: { key: string, path: string } }>} of the socket nothing has been read after the answer
 */
async function openClient(url, options) {
	const { protocols, deflate, headers, signal, createConnection } = options;
	const timeout = readTime(options, 'handshakeTimeout', TIMEOUT, 1);
	const { protocol, href, hash, pathname } = new URL(url);
	if (protocol !== 'ws:' && protocol !== 'wss:')
		throw invalidValue(`The URL must be one of ws: or wss:, not ${protocol}`);
	// "Fragment identifiers are meaningless in the context of WebSocket URIs and MUST NOT be used"
	// (section 3).
	if (hash !== '') throw invalidValue('The URL of a WebSocket has no fragment');
	const fields = new Map();
	for (const [name, value] of readFields(headers)) {
		const key = name.toLowerCase();
		fields.set(key, [name, [...(fields.get(key)?.[1] ?? []), value]]);
	}
	signal?.throwIfAborted();
	const offer = offerUpgrade({ protocols, deflate });
	const isSecure = protocol === 'wss:';
	// Loaded for this call, not for servers.
	const { request: send } = isSecure ? modules.https : modules.http;
	return new Promise((resolve, reject) => {
		const request = send(href.replace(/^ws/, 'http'), {
			// With `createConnection`, an agent would open the connection itself.
			agent: createConnection === undefined ? false : undefined,
			...options,
			defaultPort: isSecure ? 443 : 80,
			method: 'GET',
			headers: { ...Object.fromEntries(fields.values()), ...offer.headers },
			signal: undefined
		});
		const abort = () => fail(signal.reason);
		const timer = setTimeout(
			() => fail(connectionError('HANDSHAKE_TIMEOUT', `The handshake took longer than ${timeout} ms`)),
			timeout
		);
		// As the timeouts of sockets: a program that has given up its socket (`unref`) may end.
		timer.unref?.();
		signal?.addEventListener('abort', abort);

		function settle() {
			clearTimeout(timer);
			signal?.removeEventListener('abort', abort);
		}

		function fail(error) {
			settle();
			// Node.js's error for a name with several addresses, such as localhost, is silent.
			if (error?.message === '') error.message = error.errors.map(({ message }) => message).join('; ');
			reject(error);
			request.destroy();
		}

		/** @returns {object | null} null for a wrong answer: the promise has its status */
		function accept(response) {
			try {
				return offer.readAnswer(response);
			} catch (error) {
				fail(Object.assign(error, { statusCode: response.statusCode, headers: response.headers }));
				return null;
			}
		}

		request.on('error', fail);
		request.on('response', accept);
		request.on('upgrade', (response, socket, head) => {
			// Until a Connection listens, and if the answer is refused.
			socket.on('error', () => {});
			const upgrade = accept(response);
			if (upgrade === null) {
				socket.destroy();
				return;
			}
			settle();
			// Frames that came with the answer.
			if (head.length > 0) socket.unshift(head);
			resolve({ ...upgrade, socket, trace: { key: offer.headers['Sec-WebSocket-Key'], path: pathname } });
		});
		request.end();
	});
}

module.exports = { openClient };
