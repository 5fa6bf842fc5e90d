'use strict';

const { parseExtensions } = require('../shared/header-lists');

const NAME = 'permessage-deflate';

/** The largest window of DEFLATE, as its base-2 logarithm (RFC 7692 section 7.1.2). */
const MAX_WINDOW_BITS = 15;
/**
 * The smallest window that zlib compresses with. As it refers back 262 bytes less than the window,
 * what it compresses inflates with the window of 256 bytes, too (RFC 7692 section 7.1.2).
 */
const MIN_DEFLATE_BITS = 9;

/**
 * Those of an offer or an answer (RFC 7692 section 7.1).
 *
 * @typedef {object} Parameters
 * @property {boolean} server_no_context_takeover
 * @property {boolean} client_no_context_takeover
 * @property {number | null} server_max_window_bits null without the parameter
 * @property {number | true | null} client_max_window_bits true for the parameter without a value
 */

/**
 * @param {string} header
 * @returns {{ elements: (Parameters | null)[], others: number } | null} the elements for
 *   permessage-deflate, null for one whose parameters are not valid, and the number of others; null
 *   if the header is malformed
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
 * "A server MUST decline an extension negotiation offer ... if ... the negotiation offer contains
 * an extension parameter not defined for use in an offer ... with an invalid value ... multiple
 * extension parameters with the same name" (RFC 7692 section 7.1).
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

module.exports = { MAX_WINDOW_BITS, MIN_DEFLATE_BITS, readHeader, writeParameters };
