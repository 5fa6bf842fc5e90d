'use strict';

const { backend, kernel, nativeError } = require('./lib/masking/backend');
const { createMasking } = require('./lib/masking/mask');
// Now, as the first use of an export below may be in the context of a request.
require('./lib/shared/outside');

const { mask, unmask } = createMasking(backend);

/**
 * The exports, writable, so that tests can count calls. With `__esModule`, the automatic mocks of
 * Jest have getters, too. Vitest would show the getters of `exports` itself to nobody.
 */
const api = { mask, unmask, kernel, nativeError };
Object.defineProperties(api, { __esModule: { value: true }, default: { value: api } });
module.exports = api;

// The other exports load at their first use: masking alone takes a quarter of the modules. Those of
// a group load together, so that none is left to a read: `require` fails there without descriptors.
define(['Decoder', 'Encoder', 'prepare', 'FrameError', 'frameId', 'formatFrameId', 'parseFrameId'], () => ({
	...require('./lib/codec/decoder'),
	...require('./lib/codec/encoder'),
	...require('./lib/codec/prepared'),
	...require('./lib/shared/errors'),
	...require('./lib/frame-id')
}));
define(['acceptDeflate', 'offerDeflate', 'acceptUpgrade', 'refuseUpgrade', 'offerUpgrade'], () => ({
	...require('./lib/handshake'),
	...require('./lib/deflate/negotiation')
}));
define(['Connection', 'shutDown'], () => ({
	...require('./lib/connection/connection'),
	...require('./lib/sockets/shut-down')
}));
define(['drained', 'messages', 'sendStream', 'WebSocketError', 'WebSocketStream'], () => ({
	...require('./lib/streams/drained'),
	...require('./lib/streams/messages'),
	...require('./lib/streams/send-stream'),
	...require('./lib/streams/websocket-stream')
}));
define(['acceptHttp2'], () => require('./lib/http2/accept-http2'));
define(['overHttp2'], () => require('./lib/http2/over-http2'));

/** Defines exports. Each becomes an ordinary property when it is first read or assigned. */
function define(names, load) {
	let loaded = null;
	for (const name of names) {
		const become = (value) => {
			Object.defineProperty(api, name, { value, writable: true, enumerable: true, configurable: true });
			return value;
		};
		const get = () => {
			loaded ??= load();
			return become(loaded[name]);
		};
		Object.defineProperty(api, name, { get, set: become, enumerable: true, configurable: true });
	}
}
