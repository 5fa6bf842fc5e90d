'use strict';

const { copyOf } = require('../shared/buffers');
const { nextTick, setImmediate } = require('../shared/ticks');
const {
	DECODING,
	DEFERRED,
	INFLATING,
	emptyBuffer,
	isHeardByWsAlone,
	isServer,
	isWaiting,
	learnListener,
	receiverOptions,
	setReceiverState
} = require('./internals');
const { stopReading } = require('../sockets/shared-reads');
const { loadCodec, loadCompression } = require('./parts');
const { toBinaryType } = require('./binary-types');

// The parts that a Receiver's `_write` needs.
const kWebSocket = Symbol('websocket');
const kSender = Symbol('sender');
const kReceiverAdapter = Symbol('receiverAdapter');
const kBorrows = Symbol('borrows');
const kStreamFrom = Symbol('streamFrom');

/**
 * The way in of a connection. ws writes its reads to its Receiver, a stream.Writable. That stays,
 * and with it the order of 'error', 'drain', 'finish' and 'close'; only `_write` gives the chunk to
 * a Decoder, and calls back when it is used up. Messages in the thread pool, and the option
 * `allowSynchronousEvents: false`, pause the decoder until they are done.
 */
class ReceiverAdapter {
	constructor(websocket, receiver, sender) {
		this.websocket = websocket;
		this.receiver = receiver;
		/** The emitter of messages: the Receiver, as with ws, if it has listeners besides ws's. */
		this.emitter = websocket;
		this._listeners = -1;
		if (!receiverOptions(receiver).allowSynchronousEvents) this.isDeferred = true;
		this._sender = sender;
		const streamFrom = receiver[kStreamFrom];
		let parts;
		if (streamFrom !== undefined && this._inflatesInParts) parts = this._beginStreams(streamFrom);
		this._decoder = this._createDecoder(parts);
		this._callback = null;
	}

	write(chunk, callback) {
		this._callback = callback;
		const listeners = this.receiver.listenerCount('message');
		if (listeners !== this._listeners) this._countListeners(listeners);
		this._enter(decodeChunk, chunk);
	}

	/** Finds the emitter of messages. Not for each chunk: it makes an array, 30 ns. */
	_countListeners(count) {
		this._listeners = count;
		this.emitter = isHeardByWsAlone(this.receiver) ? this.websocket : this.receiver;
	}

	resume() {
		this._enter(resumeDecoder);
	}

	/** Emits an event in a turn of its own, and goes on then. */
	defer(event, data, isBinary) {
		this._pauseFor(DEFERRED);
		setImmediate(() => this._enter(emitAndResume, [event, data, isBinary]));
	}

	/**
	 * Emits a message in a turn of its own. As with ws, one that the thread pool has inflated has
	 * that turn already if it is text.
	 */
	deferMessage(data, isBinary) {
		const isDue = this.hasTurn && !isBinary;
		this.hasTurn = false;
		if (isDue) this.emitter.emit('message', data, isBinary);
		else this.defer('message', data, isBinary);
	}

	emitControl(event, payload) {
		const data = payload.length === 0 ? emptyBuffer() : payload;
		if (this.isDeferred) this.defer(event, data);
		else this.receiver.emit(event, data);
	}

	end() {
		this._decoder.stop();
	}

	/**
	 * Runs code that may call listeners: replies are sent together. An error of a listener is thrown
	 * in the next tick, for the Receiver would not recover from one in its `_write`; then the decoder
	 * goes on, unless it waits.
	 */
	_enter(action, argument) {
		this._sender.beginRead();
		try {
			try {
				action(this, argument);
			} finally {
				// Messages that the thread pool inflates are delivered by `resume`.
				if (this._decoder.inflating) this._pauseFor(INFLATING);
				// The `write` of a stream of the program's own may throw, too.
				this._sender.endRead();
			}
		} catch (error) {
			nextTick(throwAndResume, this, error);
			return;
		}
		if (!this._decoder.paused) this._settle();
	}

	_pauseFor(state) {
		this._decoder.pause();
		setReceiverState(this.receiver, state);
	}

	_settle() {
		const callback = this._callback;
		this._callback = null;
		callback?.(this.error);
	}

	/** Stops reading at once, until the reader of a stream asks for more. */
	hold() {
		this._pauseFor(DEFERRED);
		stopReading(this._sender.socket);
		if (this._isTerminated) this.terminate();
	}

	/** From now on no stream waits for its reader. */
	terminate() {
		this._isTerminated = true;
		nextTick(() => this._abandonStream());
	}

	_release() {
		this.resume();
		// ws resumes the socket itself on 'drain', and when the program resumes it.
		const waits = this.streams.isHeld || this.websocket.isPaused || this.receiver.writableNeedDrain;
		if (!waits) this._sender.socket.resume();
	}

	_announce(stream, isBinary) {
		// The stream is held until it has a reader: nothing overtakes it.
		if (this.isDeferred) setImmediate(() => this._emitStream(stream, isBinary));
		else this._emitStream(stream, isBinary);
	}

	/**
	 * A stream that nobody hears is discarded, as a message is. So is one whose listener throws
	 * first.
	 */
	_emitStream(stream, isBinary) {
		let isHeard = false;
		try {
			isHeard = this.websocket.emit('stream', stream, isBinary);
		} finally {
			const isRead = stream.readableFlowing !== null || stream.listenerCount('readable') > 0;
			if (!isHeard && !isRead) stream.destroy();
		}
	}

	/**
	 * Ends a stream that holds the connection when its socket was destroyed. After the peer's end the
	 * reader may take its time, unless the program terminates.
	 */
	_abandonStream() {
		const mayBeRead = this._sender.socket.readableEnded && !this._isTerminated;
		if (mayBeRead || !this.streams.isHeld) return;
		this.end();
		this.streams.fail();
		this.resume();
	}

	/** False on Deno for a connection with compression: its messages come as a whole. */
	get _inflatesInParts() {
		return this._sender.agreement === null || loadCompression().supportsSyncZlib();
	}

	/** @returns {object} the options of a Decoder for messages as streams */
	_beginStreams(partsFrom) {
		const { socket } = this._sender;
		const { MessageStreams } = loadCodec();
		this.streams = new MessageStreams({
			onStream: (stream, isBinary) => this._announce(stream, isBinary),
			onRelease: () => this._release()
		});
		this.receiver.once('finish', () => this.streams.fail());
		socket.once('close', () => this._abandonStream());
		return { onPart, partsFrom };
	}

	_createDecoder(parts) {
		const { Decoder } = loadCodec();
		const { maxFragments, maxPayload, skipUTF8Validation } = receiverOptions(this.receiver);
		return new Decoder({
			role: isServer(this.websocket) ? 'server' : 'client',
			text: 'buffer',
			skipUTF8Validation,
			maxPayload,
			maxFragments,
			fragmentLengths: true,
			borrowed: this.receiver[kBorrows] === true,
			deflate: this._sender.agreement,
			trace: this._sender.trace,
			context: this,
			onMessage,
			onPing,
			onPong,
			onClose: conclude,
			onError: keepError,
			onInflated,
			...parts
		});
	}
}

// Own properties of few:
/** whether each event has a turn of its own, */
ReceiverAdapter.prototype.isDeferred = false;
/** and whether the thread pool has inflated the next message, so that this turn is its own; */
ReceiverAdapter.prototype.hasTurn = false;
/** the error that ends the connection; */
ReceiverAdapter.prototype.error = null;
/** with the option `streamFrom`, */
/** @type {import('../streams/message-streams').MessageStreams | null} */
ReceiverAdapter.prototype.streams = null;
ReceiverAdapter.prototype._isTerminated = false;

/**
 * Replaces the decoding of a Receiver, with its first chunk: until then `borrowChunks` may be
 * called, and an idle connection needs no decoder.
 */
function attachDecoder(websocket, receiver, sender, streamFrom) {
	receiver[kWebSocket] = websocket;
	receiver[kSender] = sender;
	if (streamFrom !== undefined) receiver[kStreamFrom] = streamFrom;
	receiver._write = write;
	learnListener(receiver);
}

/** Whether a Receiver's chunks go to a Decoder. */
const hasDecoder = (receiver) => receiver[kSender] !== undefined;

/** Says that the chunks for a Receiver lie in memory that is read into again. */
function borrowChunks(receiver) {
	receiver[kBorrows] = true;
	receiver.write = writeBorrowed;
}

/** Copies a chunk that the stream keeps, because the one before it waits for the thread pool. */
function writeBorrowed(chunk, ...rest) {
	const own = this.writableLength === 0 ? chunk : copyOf(chunk, 0, chunk.length);
	return Object.getPrototypeOf(this).write.call(this, own, ...rest);
}

function write(chunk, _encoding, callback) {
	this[kReceiverAdapter] ??= new ReceiverAdapter(this[kWebSocket], this, this[kSender]);
	this[kReceiverAdapter].write(chunk, callback);
}

/** A connection that waits for the thread pool, or for a turn, goes on by itself. */
function throwAndResume(adapter, error) {
	if (!isWaiting(adapter.receiver)) nextTick(() => adapter.resume());
	throw error;
}

const decodeChunk = (adapter, chunk) => adapter._decoder.write(chunk);

function resumeDecoder(adapter) {
	setReceiverState(adapter.receiver, DECODING);
	adapter._decoder.resume();
}

function emitAndResume(adapter, [event, data, isBinary]) {
	setReceiverState(adapter.receiver, DECODING);
	if (event === 'message') adapter.emitter.emit('message', data, isBinary);
	else adapter.receiver.emit(event, data);
	adapter._decoder.resume();
}

// Handlers of Decoders. `this.context` is the ReceiverAdapter.

function onMessage(payload, isBinary) {
	const adapter = this.context;
	const { counts } = adapter._sender;
	if (counts !== null) counts.received(payload, true);
	const { binaryType } = adapter.websocket;
	let data = payload;
	if (isBinary && binaryType !== 'nodebuffer') data = toBinaryType(data, binaryType, this.fragmentLengths);
	else if (data.length === 0) data = emptyBuffer();
	if (adapter.isDeferred) adapter.deferMessage(data, isBinary);
	else adapter.emitter.emit('message', data, isBinary);
}

function onPart(bytes, isBinary, isLast) {
	const adapter = this.context;
	adapter._sender.counts?.received(bytes, isLast);
	try {
		adapter.streams.add(bytes, isBinary, isLast);
	} finally {
		if (adapter.streams.isHeld) adapter.hold();
	}
}

function onPing(payload) {
	this.context.emitControl('ping', payload);
}

function onPong(payload) {
	this.context.emitControl('pong', payload);
}

function conclude(code, _reason, bytes) {
	const { receiver } = this.context;
	receiver.emit('conclude', code, bytes.length === 0 ? emptyBuffer() : bytes);
	receiver.end();
}

function keepError(error) {
	const adapter = this.context;
	const { toWsError } = loadCodec();
	adapter._sender.error = adapter.error = toWsError(error, adapter._sender.agreement !== null);
	adapter.streams?.fail(adapter.error);
}

function onInflated() {
	this.context.hasTurn = true;
	this.context.resume();
}

/** Ends the stream that holds a Receiver, whose WebSocket is terminated. */
function terminateStreams(receiver) {
	const adapter = receiver?.[kReceiverAdapter];
	if (adapter?.streams) adapter.terminate();
}

function endDecoding(receiver) {
	receiver[kReceiverAdapter]?.end();
}

module.exports = { attachDecoder, borrowChunks, endDecoding, hasDecoder, terminateStreams };
