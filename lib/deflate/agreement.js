'use strict';

const { invalidState } = require('../shared/errors');
const { showPublicState } = require('../shared/inspect');
const { checkOptions, readBoolean, readWhole } = require('../shared/option-names');
const { MIN_DEFLATE_BITS } = require('./deflater');
const { Inflater } = require('./inflater');
const { SendQueue } = require('./send-queue');
const { supportsSyncZlib } = require('./zlib-handle');

/** The largest window of DEFLATE, as its base-2 logarithm (RFC 7692 section 7.1.2). */
const MAX_WINDOW_BITS = 15;

/**
 * A smaller message fits in one packet either way (an Ethernet frame carries 1,460 bytes of TCP),
 * so that compressing it saves little.
 */
const THRESHOLD = 1024;

/** Compressing this many bytes of JSON at level 6 takes 0.3 to 0.9 ms of the event loop. */
const THREAD_POOL_FROM = 32 * 1024;

/** Validated local options of permessage-deflate. */
class DeflateSettings {
	/** Without handles, zlib keeps no window from one synchronous call to the next. */
	constructor(options, handles = supportsSyncZlib()) {
		checkOptions(options, 'permessage-deflate');
		this.contextTakeover = readBoolean(options, 'contextTakeover') && handles;
		const readBits = (name) => readWhole(options, name, MIN_DEFLATE_BITS, MAX_WINDOW_BITS, MAX_WINDOW_BITS);
		this.serverWindowBits = readBits('serverWindowBits');
		this.clientWindowBits = readBits('clientWindowBits');
		this.level = readWhole(options, 'level', -1, 9, -1);
		this.memLevel = readWhole(options, 'memLevel', 1, 9, 8);
		this.threshold = readWhole(options, 'threshold', 0, Infinity, THRESHOLD);
		this.threadPoolFrom = readWhole(options, 'threadPoolFrom', 0, Infinity, THREAD_POOL_FROM);
		Object.freeze(this);
	}
}

/**
 * How the messages in one direction are compressed, and the settings of this endpoint.
 * `zlibOptions` are further options of zlib, which no other connection shares.
 *
 * @typedef {{ windowBits: number, contextTakeover: boolean, settings: DeflateSettings,
 *   zlibOptions: import('node:zlib').ZlibOptions | undefined }} DeflateDirection
 */

/** See index.d.ts. The contexts are the Decoder's and the Encoder's. */
class NegotiatedDeflate {
	// Nothing else has the field.
	#isAgreement = true;

	/**
	 * @param {Parameters} answer of negotiation.js
	 * @param {number} clientBits the largest window of the client
	 * @param {string} [header] the answer, as a server sends it
	 */
	constructor(answer, clientBits, settings, header = '') {
		this.header = header;
		const serverBits = answer.server_max_window_bits ?? MAX_WINDOW_BITS;
		this._server = { windowBits: serverBits, contextTakeover: !answer.server_no_context_takeover };
		// A client that has offered client_no_context_takeover keeps to it "even if the server doesn't
		// include" it in the response (RFC 7692 section 7.1.1.2).
		const clientTakeover = settings.contextTakeover && !answer.client_no_context_takeover;
		this._client = { windowBits: clientBits, contextTakeover: clientTakeover };
		this._settings = settings;
		Object.freeze(this);
	}

	/** @returns {DeflateDirection} that of the messages which an endpoint sends */
	sending(role) {
		const settings = this._settings;
		return { ...(role === 'server' ? this._server : this._client), settings, zlibOptions: settings.zlibDeflateOptions };
	}

	/** @returns {DeflateDirection} that of the messages which it receives */
	receiving(role) {
		const settings = this._settings;
		return { ...(role === 'server' ? this._client : this._server), settings, zlibOptions: settings.zlibInflateOptions };
	}

	/** For the messages that an Encoder sends. A server's large payloads may wait without a copy. */
	createSendQueue(role, onDeflated) {
		return new SendQueue(this.sending(role), role === 'server', onDeflated);
	}

	/**
	 * For the messages that a Decoder receives.
	 *
	 * @param {boolean} inParts whether it delivers them in parts
	 * @throws {Error} ERR_INVALID_STATE if this runtime can't inflate in parts
	 */
	createInflater(role, inParts, sync = supportsSyncZlib()) {
		if (!inParts || sync) return new Inflater(this.receiving(role), inParts, sync);
		throw invalidState('onPart and deflate exclude each other on a runtime without synchronous zlib');
	}

	static isAgreement(value) {
		return typeof value === 'object' && value !== null && #isAgreement in value && value.#isAgreement;
	}
}

showPublicState(NegotiatedDeflate, []);

module.exports = { MAX_WINDOW_BITS, NegotiatedDeflate, DeflateSettings, THREAD_POOL_FROM };
