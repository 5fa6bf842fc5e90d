'use strict';

// Header fields whose values are lists. Sec-WebSocket-Extensions is read in one pass (RFC 6455
// section 9.1):
//
//   extension-list = 1#extension
//   extension = extension-token *( ";" extension-param )
//   extension-param = token [ "=" (token | quoted-string) ]
//
// "using ABNF syntax/rules from [RFC2616], including the "implied *LWS rule"" (same section):
// spaces may stand on both sides of a separator. "null elements are allowed" (RFC 2616 section
// 2.1): `a,,b` is a list of two. No pattern takes more than linear time for any text.

/** A character of a token (RFC 7230 section 3.2.6). */
const T = "[\\w!#$%&'*+.^`|~-]";
/** An element that is empty. */
const NULL_ELEMENT = /[ \t]*(?=,|$)/y;
const NAME = new RegExp(`[ \\t]*(${T}+)[ \\t]*`, 'y');
const PARAMETER = new RegExp(`;[ \\t]*(${T}+)(?:[ \\t]*=[ \\t]*(${T}+|"[^"]*"))?[ \\t]*`, 'y');
const QUOTED_PAIR = new RegExp(`\\\\(${T})`, 'g');
const TOKEN = new RegExp(`^${T}+$`);

/**
 * @typedef {object} Extension
 * @property {string} name
 * @property {[name: string, value: string | null][]} parameters in their order, repeated ones too;
 *   null for a parameter without a value
 */

/**
 * @param {string} header
 * @returns {Extension[] | null} null if it is malformed
 */
function parseExtensions(header) {
	const extensions = [];
	let at = 0;
	const read = (pattern) => {
		pattern.lastIndex = at;
		const match = pattern.exec(header);
		if (match !== null) at = pattern.lastIndex;
		return match;
	};
	do {
		if (read(NULL_ELEMENT) !== null) continue;
		const extension = read(NAME);
		if (extension === null) return null;
		const parameters = [];
		for (let match = read(PARAMETER); match !== null; match = read(PARAMETER)) {
			const value = match[2]?.[0] === '"' ? unquote(match[2]) : match[2];
			if (value === null) return null;
			parameters.push([match[1], value ?? null]);
		}
		extensions.push({ name: extension[1], parameters });
	} while (header[at++] === ',');
	return at > header.length && extensions.length > 0 ? extensions : null;
}

/**
 * "When using the quoted-string syntax variant, the value after quoted-string unescaping MUST
 * conform to the 'token' ABNF" (RFC 6455 section 9.1).
 *
 * @returns {string | null} null if it does not
 */
function unquote(quoted) {
	const value = quoted.slice(1, -1).replace(QUOTED_PAIR, '$1');
	return TOKEN.test(value) ? value : null;
}

/**
 * @returns {string[] | null} the tokens of a list without parameters; null if it is malformed, or
 *   repeats one
 */
function parseTokens(header) {
	const elements = parseExtensions(header);
	if (elements === null || elements.some(({ parameters }) => parameters.length > 0)) return null;
	const tokens = elements.map(({ name }) => name);
	return new Set(tokens).size === tokens.length ? tokens : null;
}

/** Whether a list has a token, in any case. Other elements may be of any form, such as `h2c/1`. */
function hasToken(header, token) {
	return (header ?? '').split(',').some((text) => text.trim().toLowerCase() === token);
}

module.exports = { TOKEN, hasToken, parseExtensions, parseTokens };
