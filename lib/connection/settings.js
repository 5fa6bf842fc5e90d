'use strict';

const { Decoder } = require('../codec/decoder');
const { readHandler } = require('../codec/options');
const { invalidValue } = require('../shared/errors');
const { checkObject, checkOptions, readBoolean, readTime, readWhole } = require('../shared/option-names');

const CLOSE_TIMEOUT = 10_000;

const HANDLERS = ['onMessage', 'onPart', 'onPing', 'onPong', 'onDrain', 'onError', 'onClose'];
/** Options that the Decoder judges. */
const OF_DECODER = ['maxPayload', 'maxFragments', 'partsFrom', 'text'];
const SHARED = [...HANDLERS, ...OF_DECODER, 'maxBackpressure', 'closeTimeout', 'heartbeat', 'autoPong'];
/** Options of a Decoder that would be taken in silence: a Connection gets messages. */
const REFUSED = ['onFrame', 'onInflated', 'rsv1', 'skipUTF8Validation'];
const NAMES = [...SHARED, ...REFUSED];
/** Those of one connection. */
const OWN = ['context', 'protocol', 'headers', 'deflate', 'paused', 'trace'];

/** The options that a server's connections share, checked: see ConnectionOptions in index.d.ts. */
class Settings {
	constructor(options) {
		checkOptions(options, 'Connection');
		for (const name of REFUSED) {
			if (options[name]) throw invalidValue(`The option ${name} is for a Decoder, not for a Connection`);
		}
		for (const name of HANDLERS) this[name] = readHandler(options, name);
		this.maxBackpressure = options.maxBackpressure ?? null;
		if (this.maxBackpressure !== null) readWhole(options, 'maxBackpressure', 0, Infinity);
		this.closeTimeout = readTime(options, 'closeTimeout', CLOSE_TIMEOUT);
		this.heartbeat = readTime(options, 'heartbeat', 0);
		this.autoPong = readBoolean({ autoPong: options.autoPong ?? true }, 'autoPong');
		this.ofDecoder = {};
		for (const name of OF_DECODER) this.ofDecoder[name] = options[name];
		// Throws before a handshake is answered.
		new Decoder({ ...this.ofDecoder, role: 'server', onMessage: readHandler, onPart: this.onPart });
		this._given = NAMES.map((name) => options[name]);
	}

	/** Whether the options are still those that were read. */
	isOf(options) {
		return NAMES.every((name, i) => options[name] === this._given[i]);
	}
}

/** Settings by the object that a program has given. */
const known = new WeakMap();

/** @throws {TypeError | RangeError} for an option that can't be taken */
function settingsOf(options) {
	checkObject(options);
	let settings = known.get(options);
	if (settings === undefined || !settings.isOf(options)) {
		settings = new Settings(options);
		known.set(options, settings);
	}
	return settings;
}

/**
 * The options of one connection, which may stand among those that connections share.
 *
 * @throws {TypeError} for one of `own` that connections share
 */
function ownOf(options, own) {
	checkOptions(own, 'Connection');
	for (const name of SHARED) {
		if (own[name] !== undefined) throw invalidValue(`The option ${name} is one that connections share: give it there`);
	}
	const pick = (name) => (name in own ? own[name] : options[name]);
	return Object.fromEntries(OWN.map((name) => [name, pick(name)]));
}

module.exports = { ownOf, settingsOf };
