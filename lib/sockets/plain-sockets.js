'use strict';

const { writeAll } = require('../codec/write-buffer');
const { net, stream } = require('../shared/node-modules');

/** How sockets write. A replaced one may retain chunks. */
const { write, _write, _writev } = net.Socket.prototype;

/**
 * Whether a socket is a TCP socket or pipe that does not read its own writes, so that memory can be
 * used again once it is written.
 */
function isPlain(socket) {
	return (
		write === stream.Writable.prototype.write &&
		Object.getPrototypeOf(socket) === net.Socket.prototype &&
		writesAsNode(socket)
	);
}

/** Whether nothing has been replaced since, on the socket or on all of them. */
function writesAsNode(socket) {
	return socket.write === write && socket._write === _write && socket._writev === _writev;
}

/**
 * Flushes an Encoder that uses its memory again into a socket.
 *
 * @returns {boolean} as `Encoder.flush`
 */
function flushInto(socket, encoder, callback) {
	if (writesAsNode(socket)) return encoder.flush(socket, callback);
	// The Buffers of `take` are the writer's own.
	return writeAll(socket, encoder.take(), callback);
}

module.exports = { flushInto, isPlain, writesAsNode };
