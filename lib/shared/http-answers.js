'use strict';

const modules = require('./node-modules');
const { Buffer } = require('./buffers');
const { invalidType } = require('./errors');
const { readFields } = require('./header-fields');

// Answers to HTTP requests on their sockets.

function refuseUpgrade(socket, status = 400, headers = {}) {
	checkSocket(socket);
	if (!(Number.isInteger(status) && status >= 200 && status <= 999)) {
		throw invalidType('status', 'a status code from 200 to 999', status);
	}
	// The client may be gone.
	socket.on('error', () => {});
	socket.once('finish', socket.destroy);
	const answer = { Connection: 'close', 'Content-Length': 0 };
	socket.end(responseOf(`${status} ${modules.http.STATUS_CODES[status] ?? ''}`, answer, headers));
	return null;
}

/** A response with header fields, of which the program's own replace those of the same name. */
function responseOf(status, fields, headers) {
	const own = readFields(headers);
	const ownNames = own.map(([name]) => name.toLowerCase());
	const others = readFields(fields).filter(([name]) => !ownNames.includes(name.toLowerCase()));
	const lines = [...others, ...own].map(([name, value]) => `${name}: ${value}\r\n`);
	return Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`, 'latin1');
}

function checkSocket(socket) {
	if (typeof socket?.on !== 'function') throw invalidType('socket', 'a socket', socket);
}

module.exports = { checkSocket, refuseUpgrade, responseOf };
