'use strict';

const { answerTo } = require('./closing');
const { throwLater } = require('../shared/call-in-order');
const { kPeer } = require('../streams/peer');

// The handlers of Decoders. `this.context` is the Endpoint. None of them throws.

/** The options of the Decoder of an Endpoint: a literal, as a spread leaves 4 KB of garbage. */
function decoderOptions(endpoint, role, deflate, trace) {
	const { ofDecoder, onMessage: ofProgram, onPart: partsOfProgram } = endpoint.settings;
	const { maxPayload, maxFragments, partsFrom, text } = ofDecoder;
	const hasHandler = ofProgram !== undefined || partsOfProgram !== undefined;
	return {
		role,
		maxPayload,
		maxFragments,
		partsFrom,
		text,
		deflate,
		trace,
		context: endpoint,
		borrowed: false,
		onMessage: hasHandler ? ofProgram && onMessage : emitMessage,
		onPart: hasHandler ? partsOfProgram && onPart : partsFrom === undefined ? undefined : emitPart,
		onPing,
		onPong,
		onClose,
		onError,
		onInflated: deflate === null ? undefined : onInflated
	};
}

/** As `Endpoint.call`, without its `apply`: most calls come here. */
function onMessage(data, isBinary) {
	const { connection, counts, settings } = this.context;
	if (counts !== null) counts.received(data, true);
	this.context.hasHeard = true;
	try {
		settings.onMessage.call(connection, data, isBinary);
	} catch (error) {
		throwLater(error);
	}
}

function onPart(data, isBinary, isLast) {
	this.context.counts?.received(data, isLast);
	this.context.hasHeard = true;
	this.context.call('onPart', data, isBinary, isLast);
}

/** Without a handler of the program, messages are for a loop. */
function emitMessage(data, isBinary) {
	const { counts, peer } = this.context;
	if (counts !== null) counts.received(data, true);
	if (peer === null) return;
	this.context.hasHeard = true;
	peer.emit('message', data, isBinary);
}

/** And long ones are streams. */
function emitPart(data, isBinary, isLast) {
	this.context.counts?.received(data, isLast);
	this.context.hasHeard = true;
	this.context.connection[kPeer].addPart(data, isBinary, isLast);
}

function onPing(payload) {
	if (!this.context.settings.autoPong) this.context.hasHeard = true;
	this.context.answer(payload);
	this.context.call('onPing', payload);
}

function onPong(payload) {
	this.context.call('onPong', payload);
}

function onClose(code, reason) {
	this.context.follow(this.context.closing.receiveClose(code, reason), answerTo(code));
}

function onError(error) {
	this.context.fault = error;
	this.context.follow(this.context.closing.fail(), error.closeCode);
	this.context.peer?.fail(error);
	this.context.call('onError', error);
}

function onInflated() {
	this.context.run(() => {});
}

module.exports = { decoderOptions };
