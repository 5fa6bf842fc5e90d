'use strict';

const { kernel, nativeError } = require('../masking/backend');
const { canShareReads } = require('../sockets/shared-reads');
const { log } = require('../shared/log');
const { describeRegister } = require('./copies');
const { wsVersion } = require('./internals');
const { loadCompression } = require('./parts');

/** Of this thread: see ws.d.ts. */
const connections = {
	opened: 0,
	shared: 0,
	compressed: 0,
	ended: { maxBackpressure: 0, heartbeat: 0, shutDown: 0 }
};

/** Counts a connection. The first is logged: it shows that framemask is in use, and how. */
function noteOpened(isServer) {
	if (connections.opened++ > 0) return;
	log('first connection: a %s of ws %s, kernel %s', isServer ? 'server' : 'client', wsVersion, kernel);
}

function report() {
	const deflate = loadCompression().compressesHere() ? 'framemask' : 'ws';
	return {
		kernel,
		nativeError,
		ws: wsVersion,
		reads: canShareReads() ? 'shared' : 'events',
		deflate,
		...describeRegister(),
		connections: { ...connections, ended: { ...connections.ended } }
	};
}

module.exports = { connections, noteOpened, report };
