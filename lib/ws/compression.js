'use strict';

const { MAX_WINDOW_BITS, NegotiatedDeflate, THREAD_POOL_FROM } = require('../deflate/agreement');
const { Deflater } = require('../deflate/deflater');
const { supportsSyncZlib } = require('../deflate/zlib-handle');
const { Buffer, EMPTY, lengthOf } = require('../shared/buffers');
const { warnOfVariable } = require('../shared/errors');
const { negotiatedBy } = require('./internals');

// Compresses the messages of a connection in place of ws's PerMessageDeflate, which negotiates and
// sets the threshold. ws takes each message through zlib's thread pool; here small ones are
// compressed at once, to the same bytes. The Decoder of receiver-adapter.js inflates.

/** The agreement, for a codec, that a PerMessageDeflate has negotiated. */
function agreementOf(deflate) {
	const { params, settings } = negotiatedBy(deflate);
	const clientBits = params.client_max_window_bits ?? MAX_WINDOW_BITS;
	return new NegotiatedDeflate(params, clientBits, { ...settings, threadPoolFrom: THREAD_POOL_FROM });
}

/** Whether framemask compresses, and not ws: on Deno, handles of zlib do not work. */
const compressesHere = () => supportsSyncZlib() && !isLeftToWs();

/** Whether ws compresses and inflates, as FRAMEMASK_DEFLATE asks. Deno may refuse `env`. */
function isLeftToWs() {
	if (!supportsSyncZlib()) return false;
	const { FRAMEMASK_DEFLATE: wanted = '' } = process.env;
	if (wanted !== '' && wanted !== 'ws') warnOfVariable('FRAMEMASK_DEFLATE', wanted, '"ws"');
	return wanted === 'ws';
}

/**
 * Compresses the messages of a PerMessageDeflate in framemask's contexts, a fragment at a time, as
 * ws's Sender passes them: small ones at once, others in the thread pool.
 */
class Compressor {
	constructor(direction, onError) {
		this._deflater = new Deflater(direction);
		this._onError = onError;
		/** Of the fragment that is being compressed; else null. */
		this._callback = null;
	}

	compress(data, fin, callback) {
		this._callback = callback;
		// A string has at least as many bytes as characters.
		if (data.length >= THREAD_POOL_FROM) {
			const length = typeof data === 'string' ? data.length : lengthOf(data);
			this._deflater.deflateLater(data, length, fin, (error, deflated) => this._take(error, deflated));
			return;
		}
		const bytes = typeof data === 'string' ? Buffer.from(data) : data;
		let [error, deflated] = [null, null];
		try {
			deflated = this._deflater.deflate(bytes, lengthOf(bytes), fin);
		} catch (cause) {
			error = cause;
		}
		this._take(error, deflated);
	}

	/** ws heeds no error: what it frames then must not be sent. */
	_take(error, deflated) {
		if (error !== null && this._callback !== null) this._onError(error);
		this._settle(null, deflated ?? EMPTY);
	}

	/** Calls back with an error where the thread pool is at work, as ws does before 'close'. */
	end() {
		this._deflater.end();
		this._settle(new Error('The deflate stream was closed while data was being processed'));
	}

	_settle(error, deflated) {
		const callback = this._callback;
		this._callback = null;
		callback?.(error, deflated);
	}
}

/**
 * Has framemask compress the messages of a PerMessageDeflate.
 *
 * @param {(error: Error) => void} onError called before a message that could not be compressed is
 *   framed
 * @param {boolean} [here] whether framemask compresses; given by tests
 */
function attachCompressor(deflate, direction, onError, onEnd, here = compressesHere()) {
	const { cleanup } = deflate;
	const compressor = here ? new Compressor(direction, onError) : null;
	if (here) deflate.compress = (...args) => compressor.compress(...args);
	deflate.cleanup = () => {
		if (here) compressor.end();
		else cleanup.call(deflate);
		onEnd();
	};
}

module.exports = { agreementOf, attachCompressor, compressesHere, isLeftToWs, supportsSyncZlib };
