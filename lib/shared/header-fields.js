'use strict';

const { invalidType } = require('./errors');
const { TOKEN } = require('./header-lists');

// Header fields that a program gives, in the forms of node:http and of fetch.

/** HTTP's visible characters, spaces and obs-text (RFC 9110 section 5.5). */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const EXPECTED = 'an object of header fields, a Headers, or a flat list of names and values';

/**
 * "Origin servers SHOULD NOT fold multiple Set-Cookie header fields" (RFC 6265 section 3): each
 * value of a list is a field of its own, undefined is left out.
 *
 * @returns {[name: string, value: string | number][]}
 * @throws {TypeError} for another form, a wrong name, or a value that would begin another field
 */
function readFields(headers) {
	const fields = [];
	for (const [name, given] of pairsOf(headers)) {
		for (const value of Array.isArray(given) ? given : [given]) {
			if (value === undefined) continue;
			const isValid = typeof value === 'string' ? FIELD_VALUE.test(value) : typeof value === 'number';
			if (!TOKEN.test(name) || !isValid) throw invalidType(`headers.${name}`, 'a header field', value);
			fields.push([name, value]);
		}
	}
	return fields;
}

function pairsOf(headers) {
	if (headers === undefined || headers === null) return [];
	if (Array.isArray(headers)) return pairUp(headers);
	if (typeof headers !== 'object') throw invalidType('headers', EXPECTED, headers);
	if (typeof headers[Symbol.iterator] !== 'function') return Object.entries(headers);
	// A Headers of fetch, of any realm: a Map and other lists of pairs lack the method.
	if (typeof headers.getSetCookie !== 'function') throw invalidType('headers', EXPECTED, headers);
	return [...headers];
}

/** @param {string[]} list as `rawHeaders` */
function pairUp(list) {
	if (list.length % 2 !== 0 || list.some((text) => typeof text !== 'string')) {
		throw invalidType('headers', EXPECTED, list);
	}
	return list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]]] : []));
}

module.exports = { readFields };
