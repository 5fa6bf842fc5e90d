'use strict';

const { invalidType } = require('../shared/errors');
const { UNTRACED } = require('../tracing');

function readHandler(options, name) {
	const value = options[name];
	if (value !== undefined && typeof value !== 'function') throw invalidType(`options.${name}`, 'a function', value);
	return value;
}

/**
 * The connection in trace records, for both codecs of an endpoint; UNTRACED for the option `false`,
 * which leaves it out.
 */
function readTrace(options) {
	const { trace = null } = options;
	if (trace === false || trace === UNTRACED) return UNTRACED;
	if (typeof trace !== 'object') throw invalidType('options.trace', 'an object', trace);
	for (const name of ['id', 'key']) {
		const value = trace?.[name] ?? '';
		if (typeof value !== 'string') throw invalidType(`options.trace.${name}`, 'a string', value);
	}
	return trace;
}

/**
 * The option `deflate`. The codec does not load lib/deflate: with zlib it takes longer than the
 * rest. An agreement brings its classes, and its own class says whether it is one: that of a module
 * which was loaded anew, as jest does, is another.
 *
 * @returns {NegotiatedDeflate | null}
 */
function readAgreement(options) {
	const value = options.deflate ?? null;
	if (value !== null && !isAgreement(value)) {
		throw invalidType('options.deflate', 'the result of acceptDeflate() or of readAnswer() of an offer', value);
	}
	return value;
}

function isAgreement(value) {
	const judge = value.constructor?.isAgreement;
	return typeof judge === 'function' && judge(value) === true;
}

function readChoice(options, name, choices, byDefault) {
	const value = options[name] ?? byDefault;
	if (!choices.includes(value)) {
		throw invalidType(`options.${name}`, `one of ${choices.map((text) => `'${text}'`).join(', ')}`, value);
	}
	return value;
}

module.exports = { readAgreement, readChoice, readTrace, readHandler };
