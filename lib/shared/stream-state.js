'use strict';

const modules = require('./node-modules');
const { nextTick, setImmediate } = require('./ticks');

// How a stream stands where no event tells: they have passed, or never come.

/**
 * Whether a stream can carry no connection: it has been read to its end, ended, destroyed, or has
 * failed. ws looks at the same. A stream of another kind lacks the properties.
 */
const isOver = ({ readable, writable }) => readable === false || writable === false;

/**
 * The response of node:http that a socket waits for, to a request before the present one; null if
 * it waits for none. The property is not documented.
 */
const responseOn = ({ _httpMessage: response }) => (response && !response.writableEnded ? response : null);

/**
 * Calls back after `destroy` where no 'close' follows, by Node.js's option `emitClose: false`.
 * Sockets have it, too, and emit 'close' themselves.
 */
function watchDestroy(stream, callback) {
	const { _readableState: state, destroy } = stream;
	if (state?.emitClose !== false || stream instanceof modules.net.Socket) return;
	stream.destroy = function (...args) {
		nextTick(callback);
		return destroy.apply(this, args);
	};
}

/**
 * Destroys a stream of HTTP/2 that is gone: after a reset with NO_ERROR that meets a write, Node.js
 * 20 emits 'end', and neither 'close' nor the callback of the write ever comes.
 */
function destroyAfterReset(stream) {
	stream.once('end', () => {
		if (stream.closed) setImmediate(() => stream.destroy());
	});
}

module.exports = { destroyAfterReset, isOver, responseOn, watchDestroy };
