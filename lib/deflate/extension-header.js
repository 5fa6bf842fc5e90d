'use strict';

// The header Sec-WebSocket-Extensions (RFC 6455 section 9.1), read in one pass:
//
//   extension-list = 1#extension
//   extension = extension-token *( ";" extension-param )
//   extension-param = token [ "=" (token | quoted-string) ]
//
// No pattern takes more than linear time for any text.

/** A character of a token (RFC 7230 section 3.2.6). */
const T = "[\\w!#$%&'*+.^`|~-]";
const NAME = new RegExp(`[ \\t]*(${T}+)[ \\t]*`, 'y');
const PARAMETER = new RegExp(`;[ \\t]*(${T}+)(?:=(${T}+|"[^"]*"))?[ \\t]*`, 'y');
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
  return at > header.length ? extensions : null;
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

module.exports = { parseExtensions };
