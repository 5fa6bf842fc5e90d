'use strict';

// Every undocumented part of ws in use, and the version that brought it. Nothing of ws is changed,
// but for own properties of the Receiver and the Sender of a connection that is framemask's.

const { Buffer } = require('../shared/buffers');
const { loadWs } = require('./load-ws');

const ws = loadWs();
const { version: wsVersion } = require('#ws/package.json');

/**
 * ws assigns `_receiver`, `_sender` and `_socket` in `setSocket`, `_socket` last, before 'open'. It
 * writes its reads to the Receiver, a stream.Writable, and listens to its events 'message',
 * 'ping', 'pong' and 'conclude'; the Sender writes frames by `sendFrame(list, callback)`. What has
 * waited for compression or a Blob comes to `dispatch(data, compress, options, callback)`.
 */
const PARTS = {
	WebSocket: [
		'emitClose',
		'setSocket',
		'_receiver',
		'_sender',
		'_socket',
		'_extensions',
		'_isServer',
		'_closeCode',
		'_closeMessage',
		'_closeFrameReceived'
	],
	// `_allowSynchronousEvents` since 8.15.
	Receiver: ['_write', '_maxPayload', '_skipUTF8Validation', '_allowSynchronousEvents'],
	Sender: ['sendFrame', 'dispatch', '_firstFragment', '_bufferedBytes']
};
const samples = {
	WebSocket: new ws.WebSocket(null, undefined, {}),
	Receiver: new ws.Receiver(),
	Sender: new ws.Sender(null)
};

for (const [of, names] of Object.entries(PARTS)) {
	const missing = names.find((name) => !(name in samples[of]));
	if (missing !== undefined) {
		throw new Error(
			`framemask/ws can't work with this ws: its ${of} lacks ${missing}. Install another version of ws ` +
				"(8.17.1 to 8.23 are tested), or require 'ws' instead of 'framemask/ws'"
		);
	}
}

/** @returns {object} those of a Receiver; without `maxFragments` before ws 8.21 */
function receiverOptions(receiver) {
	return {
		allowSynchronousEvents: receiver._allowSynchronousEvents,
		maxFragments: limitOf(receiver._maxFragments),
		maxPayload: limitOf(receiver._maxPayload),
		skipUTF8Validation: receiver._skipUTF8Validation
	};
}

/** 0 and less mean unlimited. */
const limitOf = (option) => (option === undefined || option > 0 ? option : Infinity);

/** Whether a Sender compresses or reads a Blob, so that messages must wait in its queue. */
function isBusy(sender) {
	// `_state` since 8.18, `_deflating` before.
	return sender._state === undefined ? sender._deflating : sender._state !== 0;
}

/** Whether a message has been begun by `send(data, { fin: false })`. */
const isFragmenting = (sender) => !sender._firstFragment;

/**
 * Whether a Sender must frame the next message itself: it is busy, a message has been begun by
 * `send(data, { fin: false })`, or the option `generateMask` was given (since 8.4).
 */
const mustFrame = (sender) => isBusy(sender) || isFragmenting(sender) || sender._generateMask !== undefined;

const bufferedBytes = (sender) => sender._bufferedBytes;

/** Where the options of a message in a Sender have its length; a symbol of ws. */
let kByteLength;

/** Whether a message that has waited in a Sender has fewer bytes now. */
function isShortened({ length }, options) {
	kByteLength ??= Object.getOwnPropertySymbols(options)[0];
	return length < options[kByteLength];
}

/**
 * Ends a connection whose Sender has failed. Since 8.18 ws does it when a Blob can't be read: it
 * ends the socket, and emits 'error'.
 */
function failSender(sender, error) {
	if (sender.onerror === undefined) sender._socket.destroy(error);
	else sender.onerror(error);
}

const deflateOf = (websocket) => websocket._extensions['permessage-deflate'];

const textOf = Function.prototype.toString;

/**
 * ws's own `send` of a WebSocket; null if a tracer has replaced it before it was loaded here, which
 * its text tells. A later replacement is seen by comparing.
 */
const plainSend = textOf.call(ws.WebSocket.prototype.send).includes('_sender.send(')
	? ws.WebSocket.prototype.send
	: null;

/** ws's own listener for the Receiver's event 'message', which emits the event on the WebSocket. */
let plainListener = null;

/** Learns it from the first Receiver, while nobody listens yet: ws adds its own before a tracer. */
function learnListener(receiver) {
	if (plainListener !== null) return;
	receiver.on = (event, listener) => {
		if (event === 'message') {
			plainListener ??= listener;
			delete receiver.on;
		}
		return Object.getPrototypeOf(receiver).on.call(receiver, event, listener);
	};
}

/** Whether that listener alone hears a Receiver's messages: no tracer's is around or beside it. */
function isHeardByWsAlone(receiver) {
	const listeners = receiver.listeners('message');
	return listeners.length === 1 && listeners[0] === plainListener;
}

/** The options of zlib that only say how a message is compressed, or in which pieces it comes. */
const PLAIN_OPTIONS = ['level', 'memLevel', 'chunkSize'];

/** @returns {object | undefined} undefined if contexts with these options of zlib can be shared */
const unsharedOptions = (options) =>
	Object.keys(options).every((name) => PLAIN_OPTIONS.includes(name)) ? undefined : options;

/** A PerMessageDeflate's negotiated parameters, and its settings but for the thread pool's. */
function negotiatedBy({ _options: options, params }) {
	// ws spreads them, so that null sets none, too.
	const zlibDeflateOptions = options.zlibDeflateOptions ?? {};
	const zlibInflateOptions = options.zlibInflateOptions ?? {};
	const { level = -1, memLevel = 8 } = zlibDeflateOptions;
	const settings = {
		level,
		memLevel,
		contextTakeover: !options.clientNoContextTakeover,
		zlibDeflateOptions: unsharedOptions(zlibDeflateOptions),
		zlibInflateOptions: unsharedOptions(zlibInflateOptions)
	};
	return { params, settings };
}

const { _closeMessage: EMPTY_BUFFER } = samples.WebSocket;

/**
 * The empty payload that ws gives a listener: one Buffer for all, which pins no other memory; a new
 * one if a listener has transferred it.
 */
function emptyBuffer() {
	try {
		// Throws if it is detached.
		new Uint8Array(EMPTY_BUFFER.buffer);
		return EMPTY_BUFFER;
	} catch {
		return Buffer.alloc(0);
	}
}

/** Sets the state of a Receiver while its connection waits, as ws does. */
function setReceiverState(receiver, state) {
	receiver._state = state;
}
const DECODING = 0;
const INFLATING = 5;
const DEFERRED = 6;

/** Whether a connection waits for a message to be inflated, or for the turn of an event. */
const isWaiting = (receiver) => receiver._state !== DECODING;

/** Whether a Close or wrong frame has come: ws itself calls `close` of an open WebSocket then. */
const isEndedByPeer = (websocket) => websocket._closeFrameReceived || Boolean(websocket._receiver.errored);

const closeCodeOf = (websocket) => websocket._closeCode;

const isServer = (websocket) => websocket._isServer;

module.exports = {
	DECODING,
	DEFERRED,
	INFLATING,
	bufferedBytes,
	closeCodeOf,
	deflateOf,
	emptyBuffer,
	failSender,
	isBusy,
	isEndedByPeer,
	isFragmenting,
	isHeardByWsAlone,
	isServer,
	isShortened,
	isWaiting,
	learnListener,
	mustFrame,
	negotiatedBy,
	plainSend,
	receiverOptions,
	setReceiverState,
	ws,
	wsVersion
};
