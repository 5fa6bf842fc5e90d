'use strict';

// The header Sec-WebSocket-Extensions (RFC 6455 section 9.1), read in one pass:
//
//   extension-list = 1#extension
//   extension = extension-token *( ";" extension-param )
//   extension-param = token [ "=" (token | quoted-string) ]

/**
 * @typedef {object} Extension
 * @property {string} name
 * @property {[name: string, value: string | null][]} parameters in their order, repeated ones too;
 *   null for a parameter without a value
 */

/** Which characters a token has (RFC 7230 section 3.2.6), by code. */
const IS_TOKEN = new Uint8Array(128);
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  IS_TOKEN[character.charCodeAt(0)] = 1;
}

/** Reads a header from left to right. Every method moves `_at` forward, or not at all. */
class HeaderReader {
  constructor(text) {
    this._text = text;
    this._at = 0;
  }

  get isAtEnd() {
    return this._at === this._text.length;
  }

  skipSpace() {
    while (this._text[this._at] === ' ' || this._text[this._at] === '\t') this._at++;
  }

  /** @returns {boolean} whether there was this character, with or without white space around it */
  readSeparator(character) {
    this.skipSpace();
    if (this._text[this._at] !== character) return false;
    this._at++;
    this.skipSpace();
    return true;
  }

  /** @returns {boolean} whether there was an equals sign, which has no white space around it */
  readEquals() {
    if (this._text[this._at] !== '=') return false;
    this._at++;
    return true;
  }

  /** @returns {string} empty if there is none */
  readToken() {
    const start = this._at;
    // Beyond the table, and at the end of the text, there is undefined.
    while (IS_TOKEN[this._text.charCodeAt(this._at)] === 1) this._at++;
    return this._text.slice(start, this._at);
  }

  /**
   * "When using the quoted-string syntax variant, the value after quoted-string unescaping MUST
   * conform to the 'token' ABNF" (RFC 6455 section 9.1).
   *
   * @returns {string} empty if there is no such value
   */
  readValue() {
    if (this._text[this._at] !== '"') return this.readToken();
    let value = '';
    for (this._at++; !this.isAtEnd; this._at++) {
      if (this._text[this._at] === '"') {
        this._at++;
        return value;
      }
      if (this._text[this._at] === '\\') this._at++;
      if (IS_TOKEN[this._text.charCodeAt(this._at)] !== 1) return '';
      value += this._text[this._at];
    }
    return '';
  }
}

/**
 * Takes time and memory in proportion to the header's length, and accepts nothing but its ABNF.
 *
 * @param {string} header
 * @returns {Extension[] | null} null if it is malformed
 */
function parseExtensions(header) {
  const reader = new HeaderReader(header);
  const extensions = [];
  reader.skipSpace();
  do {
    const extension = readExtension(reader);
    if (extension === null) return null;
    extensions.push(extension);
  } while (reader.readSeparator(','));
  return reader.isAtEnd ? extensions : null;
}

/** @returns {Extension | null} null if it is malformed */
function readExtension(reader) {
  const name = reader.readToken();
  if (name === '') return null;
  const parameters = [];
  while (reader.readSeparator(';')) {
    const parameter = reader.readToken();
    if (parameter === '') return null;
    let value = null;
    if (reader.readEquals()) {
      value = reader.readValue();
      if (value === '') return null;
    }
    parameters.push([parameter, value]);
  }
  return { name, parameters };
}

module.exports = { parseExtensions };
