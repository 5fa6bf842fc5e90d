'use strict';

const { inspect } = require('./node-modules').util;

/**
 * Describes an invalid value in an error message: short, on one line, and without throwing for any
 * value (a Proxy, an object whose getters throw, a megabyte of text).
 */
function describe(value) {
	if (value === null || value === undefined) return String(value);
	switch (typeof value) {
		case 'function':
			return 'a function';
		case 'object':
			return describeObject(value);
		case 'string': {
			const shown = value.length > 24 ? `${value.slice(0, 24)}...` : value;
			return `the string ${inspect(shown)}`;
		}
		default:
			return `the ${typeof value} ${shorten(inspect(value))}`;
	}
}

function describeObject(value) {
	try {
		const { name } = value.constructor;
		if (typeof name === 'string' && name !== '') return `an instance of ${name.slice(0, 64)}`;
	} catch {
		// A Proxy or a getter threw. The caller still gets the error about the argument.
	}
	return 'an object';
}

/** A BigInt can have a million digits. */
function shorten(text) {
	return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}

const withCode = (error, code) => Object.assign(error, { code });

/** The error for an option that is refused without another one, which is given as its code. */
function invalidChoice(name, needed) {
	return invalidValue(`The option ${name} needs the option ${needed}`);
}

/** The error for an argument of the right type that can't be taken. */
function invalidValue(message) {
	return withCode(new TypeError(message), 'ERR_INVALID_ARG_VALUE');
}

/** The error for an argument of a wrong type, with the `code` of Node.js. */
function invalidType(name, expected, received) {
	const message = `The "${name}" argument must be ${expected}, but was ${describe(received)}`;
	return withCode(new TypeError(message), 'ERR_INVALID_ARG_TYPE');
}

/** The same for an invalid value of the right type; `received` may be a description of it. */
function outOfRange(name, expected, received) {
	const got = typeof received === 'string' ? received : shorten(inspect(received));
	return withCode(new RangeError(`The "${name}" argument must be ${expected}, but was ${got}`), 'ERR_OUT_OF_RANGE');
}

/** Warns, once for each variable of the environment, that its value is ignored. */
function warnOfVariable(name, value, expected) {
	if (warnedOf.has(name)) return;
	warnedOf.add(name);
	process.emitWarning(`${name} is ${JSON.stringify(value)}, and must be ${expected}: ignored`);
}

const warnedOf = new Set();

/** The error for a call that is not possible in the object's present state, as in Node.js. */
function invalidState(message) {
	return withCode(new Error(message), 'ERR_INVALID_STATE');
}

/** The error for a connection, with a code of framemask's. */
function connectionError(code, message) {
	return withCode(new Error(message), `FRAMEMASK_ERR_${code}`);
}

/** The error for a message that can't be sent, as the connection is closing or closed. */
function notOpenError() {
	return connectionError('NOT_OPEN', 'The WebSocket is not open');
}

/** The error for a peer that has not read what was sent: the option `maxBackpressure`. */
function backpressureError(limit) {
	return connectionError('BACKPRESSURE', `The peer has left more than ${limit} bytes unread`);
}

/** The error for a silent peer: the option `heartbeat`. */
function silenceError() {
	return connectionError('HEARTBEAT', 'The peer has sent and read nothing since the last Ping');
}

/** The error for a payload that a program has transferred, or made shorter, before it was sent. */
function goneError() {
	return invalidState('Memory that was to be sent has been transferred, or resized');
}

/**
 * A peer broke a rule or exceeded a limit. The endpoint answers with a Close frame of `closeCode`.
 */
class FrameError extends Error {
	/**
	 * @param {string} code a name, to which `FRAMEMASK_ERR_` is prefixed
	 * @param {number} closeCode (RFC 6455 section 7.4.1)
	 */
	constructor(code, closeCode, message, options) {
		super(message, options);
		this.code = `FRAMEMASK_ERR_${code}`;
		this.closeCode = closeCode;
		// The frame that the error is about: index.d.ts documents the three.
		this.firstByte = null;
		this.length = null;
		this.receivedCode = null;
	}
}

// On the prototype: an own property would be printed with the error.
Object.defineProperty(FrameError.prototype, 'name', { value: 'FrameError', configurable: true, writable: true });

/** For "a byte stream ... that is not, in fact, a valid UTF-8 stream" (RFC 6455 section 8.1). */
function utf8Error() {
	return new FrameError('UTF8', 1007, 'A text message is not UTF-8');
}

/** For a handler that transferred memory, to a worker say, which undelivered frames lie in. */
function detachedError() {
	return new FrameError('DETACHED', 1011, 'The memory of frames was detached before they were delivered');
}

/** Errors of Node.js's allocations: of zlib's contexts, and of Buffers, whose errors lack a code. */
const NO_MEMORY = ['Z_MEM_ERROR', 'ERR_ZLIB_INITIALIZATION_FAILED', 'ERR_MEMORY_ALLOCATION_FAILED'];

/**
 * The FrameError for an allocation that has failed here, with the close code of this endpoint's faults.
 * Another error is returned as it is.
 */
function memoryError(cause) {
	const isOfMemory = NO_MEMORY.includes(cause.code) || (cause instanceof RangeError && cause.code === undefined);
	if (!isOfMemory) return cause;
	return new FrameError('NO_MEMORY', 1011, 'There is no memory to compress or inflate a message', { cause });
}

function tooBigError() {
	return new FrameError('MESSAGE_TOO_BIG', 1009, 'A message is longer than maxPayload when it is inflated');
}

module.exports = {
	FrameError,
	backpressureError,
	connectionError,
	detachedError,
	goneError,
	invalidChoice,
	invalidState,
	invalidType,
	invalidValue,
	memoryError,
	notOpenError,
	outOfRange,
	silenceError,
	tooBigError,
	utf8Error,
	warnOfVariable
};
