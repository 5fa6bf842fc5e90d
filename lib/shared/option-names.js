'use strict';

const { checkWhole } = require('./buffers');
const { invalidType, invalidValue } = require('./errors');

// Unknown names are ignored. A name one letter from an option's is a slip: those who call
// `checkNames` throw.

const OPTIONS = {
	// biome-ignore format: several names a line
	Decoder: [
    'role', 'onMessage', 'onPart', 'partsFrom', 'onPing', 'onPong', 'onClose', 'onError', 'onFrame',
    'maxPayload', 'maxFragments', 'text', 'skipUTF8Validation', 'rsv1', 'trace', 'context',
    'deflate', 'onInflated'
  ],
	Encoder: ['role', 'writable', 'trace', 'deflate', 'onDeflated'],
	// biome-ignore format: several names a line
	Connection: [
    'onMessage', 'onPart', 'onPing', 'onPong', 'onDrain', 'onError', 'onClose', 'maxPayload',
    'maxFragments', 'maxBackpressure', 'closeTimeout', 'heartbeat', 'autoPong', 'text', 'deflate',
    'partsFrom', 'context', 'protocol', 'headers', 'paused', 'trace', 'protocols',
    'handshakeTimeout', 'signal', 'createConnection'
  ],
	'permessage-deflate': [
		'contextTakeover',
		'serverWindowBits',
		'clientWindowBits',
		'level',
		'memLevel',
		'threshold',
		'threadPoolFrom'
	],
	// Those that framemask/ws adds to ws's.
	WebSocketServer: ['sharedReads', 'streamFrom', 'maxBackpressure', 'heartbeat'],
	WebSocket: ['http2', 'sharedReads', 'streamFrom'],
	perMessageDeflate: ['contextTakeover']
};

/**
 * One letter makes another word of a shorter option, and of `context` (test, roles, content): only
 * their case is compared.
 */
const MIN_LENGTH = 6;

/** The maximum size of the sets below, for programs that make up names as they run. */
const MAX_ACCEPTED = 1000;

// Names that need no check: those of both codecs, which may be given the same object, and those
// found to be unlike any option.
const accepted = Object.fromEntries(Object.entries(OPTIONS).map(([owner, names]) => [owner, new Set(names)]));
accepted.Decoder = new Set([...OPTIONS.Decoder, ...OPTIONS.Encoder]);
accepted.Encoder = new Set(accepted.Decoder);

/** Refuses names that are almost an option's. The options may be any value. */
function checkNames(options, owner) {
	const names = accepted[owner];
	// Costs 45 ns for six options, 20 for two (Node 20). Names on prototypes are ignored, so that
	// Object.prototype may have any.
	for (const name in options) {
		if (!names.has(name) && Object.hasOwn(options, name)) checkUnknown(name, owner);
	}
}

/** Refuses a value that is not an object. */
function checkObject(value, name = 'options', expected = 'an object') {
	if (typeof value !== 'object' || value === null) throw invalidType(name, expected, value);
	return value;
}

/** Refuses options that are not an object, and names that are almost an option's. */
function checkOptions(options, owner) {
	checkNames(checkObject(options), owner);
	return options;
}

/** Reads an option that is false if it is left out, or null. The options may be any value. */
function readBoolean(options, name) {
	const value = options?.[name] ?? false;
	if (typeof value !== 'boolean') throw invalidType(`options.${name}`, 'a boolean', value);
	return value;
}

/** Reads an option that is a whole number from `least` to `most`. */
function readWhole(options, name, least, most, byDefault) {
	const value = options[name] ?? byDefault;
	checkWhole(`options.${name}`, value, least, most);
	return value;
}

/** Reads an option in milliseconds, up to what Node.js's timers take. */
function readTime(options, name, byDefault, least = 0) {
	return readWhole(options, name, least, 2 ** 31 - 1, byDefault);
}

function checkUnknown(name, owner) {
	const lowerCase = name.toLowerCase();
	const options = OPTIONS[owner];
	const meant =
		options.find((option) => option.toLowerCase() === lowerCase) ??
		options.find((option) => isOneLetterOff(lowerCase, option.toLowerCase()));
	if (meant !== undefined) throw invalidValue(`Unknown option "${name}" of ${owner}. Did you mean "${meant}"?`);
	if (accepted[owner].size < MAX_ACCEPTED) accepted[owner].add(name);
}

/** Whether `a` differs from the option `b` by one letter, or by two neighbours swapped. */
function isOneLetterOff(a, b) {
	// A leading underscore is deliberate: objects that serve as options may have private fields.
	if (b.length < MIN_LENGTH || b === 'context' || a[0] === '_') return false;
	if (Math.abs(a.length - b.length) > 1) return false;

	let start = 0;
	while (a[start] === b[start]) start++;
	let endA = a.length;
	let endB = b.length;
	while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
		endA--;
		endB--;
	}
	const restA = a.slice(start, endA);
	const restB = b.slice(start, endB);
	if (restA.length <= 1 && restB.length <= 1) return true;
	return restA.length === 2 && restB.length === 2 && restA[0] === restB[1] && restA[1] === restB[0];
}

module.exports = { OPTIONS, checkNames, checkObject, checkOptions, readBoolean, readTime, readWhole };
