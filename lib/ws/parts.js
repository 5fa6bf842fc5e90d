'use strict';

/**
 * The modules that connections need. They load when the first server or client is made: a program
 * without either starts 18 ms sooner. Nothing is left to a read: `require` fails there without
 * descriptors, after its files were replaced, and after Jest's teardown.
 */

/** All that a connection without compression may need. */
const loadCodec = once(() => ({
	...require('../codec/decoder'),
	...require('../codec/encoder'),
	...require('../codec/header'),
	...require('../codec/prepared'),
	...require('../frame-id'),
	...require('../shared/http-answers'),
	...require('../sockets/shut-down'),
	...require('../streams/message-streams'),
	...require('../tracing'),
	...require('./frame-errors')
}));

/** What a connection with permessage-deflate needs, too. */
const loadCompression = once(() => require('./compression'));

const loadHttp2 = once(() => require('../http2/over-http2'));

/** A function that loads something at its first call, and returns the same again. */
function once(load) {
	let loaded = null;
	return () => {
		loaded ??= load();
		return loaded;
	};
}

module.exports = { loadCodec, loadCompression, loadHttp2 };
