'use strict';

const { answerTo } = require('./closing');
const { throwLater } = require('../shared/call-in-order');
const { kPeer } = require('../streams/peer');

// The handlers of Decoders. `this.context` is the Endpoint. None of them throws.

/** The options of the Decoder of an Endpoint: a literal, as a spread leaves 4 KB of garbage. */
function decoderOptions(endpoint, role, deflate, trace) {
	const { ofDecoder, onMessage: ofProgram, onPart: partsOfProgram } = endpoint.settings;
	const { maxPayload, maxFragments, partsFrom, text } = ofDecoder;
	const hasParts = partsOfProgram !== undefined || (partsFrom !== undefined && ofProgram === undefined);
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
		onMessage: ofProgram !== undefined || partsOfProgram === undefined ? onMessage : undefined,
		onPart: hasParts ? onPart : undefined,
		onPing,
		onPong,
		onClose,
		onError,
		onInflated: deflate === null ? undefined : onInflated
	};
}

/** As `Endpoint.call`, without its `apply`: most calls come here. */
function onMessage(data, isBinary) {
	const { connection, counts, peer, settings } = this.context;
	if (counts !== null) counts.received(data, true);
	if (settings.onMessage === undefined && peer === null) return;
	this.context.hasHeard = true;
	try {
		if (settings.onMessage === undefined) peer.emit('message', data, isBinary);
		else settings.onMessage.call(connection, data, isBinary);
	} catch (error) {
		throwLater(error);
	}
}

/** Without a handler of the program, long messages are streams. */
function onPart(data, isBinary, isLast) {
	const { context } = this;
	context.counts?.received(data, isLast);
	context.hasHeard = true;
	if (context.settings.onPart === undefined) context.connection[kPeer].addPart(data, isBinary, isLast);
	else context.call('onPart', data, isBinary, isLast);
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
