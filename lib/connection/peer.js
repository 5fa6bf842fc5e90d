'use strict';

const { framedMessage } = require('../codec/prepared');
const { ownBytes, sizeOf } = require('../shared/buffers');
const { invalidState } = require('../shared/errors');
const { EventEmitter } = require('../shared/node-modules').events;
const { ABNORMAL } = require('../shared/protocol');
const { MessageStreams } = require('../streams/message-streams');
const { Watchers, kWayOut } = require('../streams/peer');

/**
 * A Connection as lib/streams knows it, and its WayOut: see lib/streams/peer.js. It is made when a
 * program first reads messages on demand, or sends a stream.
 */
class ConnectionPeer extends EventEmitter {
	constructor(connection, endpoint) {
		super();
		this.socket = endpoint.socket;
		this[kWayOut] = this;
		this._connection = connection;
		this._endpoint = endpoint;
		this.watchers = new Watchers();
		this._closeHasLeft = false;
		/** The messages that come in parts. */
		this._streams = null;
	}

	get isPaused() {
		return this._connection.paused;
	}

	get extensions() {
		return this._connection.deflate === null ? '' : 'permessage-deflate';
	}

	get url() {
		return '';
	}

	get bufferedAmount() {
		return this.queuedAmount + this.heldBytes;
	}

	/** Without the frames that are held back until the end of the turn, as for framemask/ws. */
	get queuedAmount() {
		return this.socket.writableLength + this._endpoint.output.encoder.waiting;
	}

	get heldBytes() {
		return this._endpoint.output.heldBytes;
	}

	set heldBytes(bytes) {
		const { output } = this._endpoint;
		const wasFull = output.isFull;
		output.heldBytes = bytes;
		this._endpoint.afterWrites(wasFull);
	}

	get isFragmenting() {
		return this._endpoint.output.isAmidMessage;
	}

	/** Whether somebody hears why the connection is lost. */
	get hearsErrors() {
		return this.listenerCount('error') !== 0;
	}

	on(event, listener) {
		if (event === 'message') this._beginMessages();
		return super.on(event, listener);
	}

	/** As of ws, for 'close'. */
	addEventListener(event, listener) {
		this.once(event, (code, reason, wasClean) => listener({ code, reason, wasClean }));
	}

	watchSender(callback) {
		return this.watchers.add(callback);
	}

	redirectSends(take) {
		this._endpoint.redirect = take;
	}

	/** A short payload is copied, as by `send`. */
	holdCall(call) {
		const [data, options] = call;
		if (options?.fin === false) throw invalidState('A message in fragments must wait for the end of sendStream()');
		const isPrepared = data?.byteLength === undefined && framedMessage(data) !== null;
		if (typeof data !== 'string' && !isPrepared) call[0] = ownBytes('data', data);
		return sizeOf(call[0]);
	}

	sendHeld([data, options, callback]) {
		if (this._endpoint.maySend(callback)) this._endpoint.send(data, options, callback);
		this.watchers.callAll();
	}

	/** Adds a part of a message that comes as a stream. */
	addPart(bytes, isBinary, isLast) {
		this._streams ??= new MessageStreams({
			onStream: (stream, binary) => this.emit('stream', stream, binary) || stream.destroy(),
			onRelease: () => this._endpoint.releaseReader()
		});
		try {
			this._streams.add(bytes, isBinary, isLast);
		} finally {
			if (this._streams.isHeld) this._endpoint.holdForReader();
		}
	}

	/** The peer has broken a rule: the message in progress ends by that error. */
	fail(error) {
		this._streams?.fail(error);
	}

	/** Sees whether this end's Close frame leaves. */
	awaitClose() {
		this._endpoint.output.whenLeft((error) => {
			this._closeHasLeft = !error;
		});
	}

	/** The connection is closed. @param {Error | null} error why it was lost */
	finish(code, reason, error) {
		this._streams?.fail();
		if (error !== null && this.hearsErrors) this.emit('error', error);
		this.emit('close', code, reason, code !== ABNORMAL && this._closeHasLeft);
	}

	/** The first loop over the messages of a paused connection resumes it. */
	_beginMessages() {
		const { onMessage, onPart } = this._endpoint.settings;
		if (onMessage !== undefined || onPart !== undefined) {
			throw invalidState('The messages of a Connection go to its option onMessage or onPart, and not to a loop, too');
		}
		if (this.isPaused && this.listenerCount('message') === 0) this.resume();
	}
}

// Those of the Connection itself.
for (const name of ['send', 'close', 'terminate', 'pause', 'resume']) {
	ConnectionPeer.prototype[name] = function (...args) {
		return this._connection[name](...args);
	};
}
for (const name of ['readyState', 'protocol']) {
	Object.defineProperty(ConnectionPeer.prototype, name, {
		get() {
			return this._connection[name];
		}
	});
}

module.exports = { ConnectionPeer };
