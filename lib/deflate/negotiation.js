'use strict';

const { FrameError, invalidType } = require('../shared/errors');
const { parseExtensions } = require('../shared/header-lists');
const { MAX_WINDOW_BITS, NegotiatedDeflate, DeflateSettings } = require('./agreement');

// index.d.ts documents the exports.

const NAME = 'permessage-deflate';

/**
 * Those of an offer or an answer (RFC 7692 section 7.1).
 *
 * @typedef {object} Parameters
 * @property {number | null} server_max_window_bits null without the parameter
 * @property {number | true | null} client_max_window_bits true for the parameter without a value
 */

/** A server's answer to the extensions that a client offers (RFC 7692 section 7.1). */
function acceptDeflate(header, options = {}) {
	const settings = new DeflateSettings(options);
	if (header === undefined) return null;
	if (typeof header !== 'string') throw invalidType('header', 'a string or undefined', header);
	for (const offer of readHeader(header)?.elements ?? []) {
		const answer = offer === null ? null : answerOffer(offer, settings);
		if (answer !== null) return answer;
	}
	return null;
}

/** @returns {NegotiatedDeflate | null} null if the offer is declined */
function answerOffer(offer, settings) {
	const offeredServer = offer.server_max_window_bits ?? MAX_WINDOW_BITS;
	// "If the received extension negotiation offer doesn't have the client_max_window_bits extension
	// parameter, the ... response MUST NOT include" it (RFC 7692 section 7.1.2.2).
	const limitsClient = settings.clientWindowBits < MAX_WINDOW_BITS;
	if (limitsClient && offer.client_max_window_bits === null) return null;

	const offeredClient =
		typeof offer.client_max_window_bits === 'number' ? offer.client_max_window_bits : MAX_WINDOW_BITS;
	const serverBits = Math.min(offeredServer, settings.serverWindowBits);
	const clientBits = Math.min(offeredClient, settings.clientWindowBits);
	const answer = {
		server_no_context_takeover: offer.server_no_context_takeover || !settings.contextTakeover,
		client_no_context_takeover: offer.client_no_context_takeover || !settings.contextTakeover,
		server_max_window_bits: offer.server_max_window_bits !== null || serverBits < MAX_WINDOW_BITS ? serverBits : null,
		client_max_window_bits: limitsClient ? clientBits : null
	};
	return new NegotiatedDeflate(answer, clientBits, settings, writeParameters(answer));
}

class DeflateOffer {
	constructor(options) {
		this._settings = new DeflateSettings(options);
		const { contextTakeover, serverWindowBits, clientWindowBits } = this._settings;
		this._offer = {
			server_no_context_takeover: !contextTakeover,
			client_no_context_takeover: !contextTakeover,
			server_max_window_bits: serverWindowBits < MAX_WINDOW_BITS ? serverWindowBits : null,
			// Without a value it says that the server may choose.
			client_max_window_bits: clientWindowBits < MAX_WINDOW_BITS ? clientWindowBits : true
		};
		this.header = writeParameters(this._offer);
	}

	/** Reads the server's answer (RFC 7692 section 7.1). */
	readAnswer(header) {
		if (header === undefined) return null;
		if (typeof header !== 'string') throw invalidType('header', 'a string or undefined', header);
		const read = readHeader(header);
		if (read === null) throw badAnswer('it is malformed');
		if (read.others !== 0 || read.elements.length !== 1) throw badAnswer('it has extensions that were not offered');
		const [answer] = read.elements;
		const fault = answer === null ? 'it has parameters that are not valid' : findFault(this._offer, answer);
		if (fault !== null) throw badAnswer(fault);
		const clientBits = answer.client_max_window_bits ?? this._settings.clientWindowBits;
		return new NegotiatedDeflate(answer, clientBits, this._settings, writeParameters(answer));
	}
}

/**
 * A client "MUST _Fail the WebSocket Connection_" for parameters that do not answer its offer (RFC
 * 7692 section 7.1).
 */
function findFault(offer, answer) {
	if (offer.server_no_context_takeover && !answer.server_no_context_takeover) {
		return 'it lacks server_no_context_takeover';
	}
	if (offer.server_max_window_bits !== null) {
		const bits = answer.server_max_window_bits ?? MAX_WINDOW_BITS;
		if (bits > offer.server_max_window_bits) return 'server_max_window_bits is larger than offered';
	}
	const { client_max_window_bits: clientBits } = answer;
	if (clientBits === true) return 'client_max_window_bits lacks a value';
	if (clientBits !== null && offer.client_max_window_bits !== true && clientBits > offer.client_max_window_bits) {
		return 'client_max_window_bits is larger than offered';
	}
	return null;
}

function badAnswer(fault) {
	return new FrameError('EXTENSIONS', 1002, `The server's answer to the offer of permessage-deflate: ${fault}`);
}

function offerDeflate(options = {}) {
	return new DeflateOffer(options);
}

/**
 * @param {string} header
 * @returns {{ elements: (Parameters | null)[], others: number } | null} the elements for
 *   permessage-deflate, null for one that is not valid; the number of others. Null if malformed
 */
function readHeader(header) {
	const extensions = parseExtensions(header);
	if (extensions === null) return null;
	const elements = extensions.filter(({ name }) => name === NAME);
	return {
		elements: elements.map(({ parameters }) => readParameters(parameters)),
		others: extensions.length - elements.length
	};
}

/**
 * "A server MUST decline" an offer with "an extension parameter not defined for use in an offer ...
 * with an invalid value ... multiple extension parameters with the same name" (RFC 7692 section
 * 7.1).
 */
function readParameters(list) {
	const parameters = {
		server_no_context_takeover: false,
		client_no_context_takeover: false,
		server_max_window_bits: null,
		client_max_window_bits: null
	};
	const seen = new Set();
	for (const [name, text] of list) {
		if (!Object.hasOwn(parameters, name) || seen.has(name)) return null;
		seen.add(name);
		const value = readValue(name, text);
		if (value === undefined) return null;
		parameters[name] = value;
	}
	return parameters;
}

/** @returns {number | true | undefined} undefined if it is not valid */
function readValue(name, text) {
	if (name.endsWith('no_context_takeover')) return text === null ? true : undefined;
	if (text === null) return name === 'client_max_window_bits' ? true : undefined;
	// "a decimal integer value without leading zeroes between 8 to 15" (RFC 7692 section 7.1.2).
	return /^([89]|1[0-5])$/.test(text) ? Number(text) : undefined;
}

function writeParameters(parameters) {
	let element = NAME;
	for (const [name, value] of Object.entries(parameters)) {
		if (value === true) element += `; ${name}`;
		else if (typeof value === 'number') element += `; ${name}=${value}`;
	}
	return element;
}

module.exports = { acceptDeflate, offerDeflate };
