'use strict';

const { inspect } = require('./node-modules').util;

/**
 * What an error message says of a value that was refused: short, on one line, and safe for any value
 * (a Proxy, an object whose getters throw, a megabyte of text).
 *
 * @param {*} value what the caller passed
 * @returns {string}
 * @private
 */
function describe(value) {
  if (value === null || value === undefined) return String(value);
  switch (typeof value) {
    case 'function':
      return 'a function';
    case 'object':
      return describeObject(value);
    case 'string': {
      const shown = value.length > 24 ? `${value.slice(0, 24)}...` : value;
      return `the string ${inspect(shown)}`;
    }
    default:
      return `the ${typeof value} ${inspect(value)}`;
  }
}

/**
 * @param {object} value
 * @returns {string} `an instance of Date`, or `an object` for what will not tell its constructor
 * @private
 */
function describeObject(value) {
  try {
    const { name } = value.constructor;
    if (typeof name === 'string' && name !== '') return `an instance of ${name.slice(0, 64)}`;
  } catch {
    // A Proxy or a getter that throws: what it is cannot be told, and the caller still gets the error that is due.
  }
  return 'an object';
}

/**
 * The error for an argument of a wrong type.
 *
 * @param {string} name the argument's name, as in the documentation
 * @param {string} expected what it must be
 * @param {*} received what it was
 * @returns {TypeError} with `code` ERR_INVALID_ARG_TYPE, as Node.js's own functions have it
 */
function invalidType(name, expected, received) {
  const error = new TypeError(`The "${name}" argument must be ${expected}, but was ${describe(received)}`);
  error.code = 'ERR_INVALID_ARG_TYPE';
  return error;
}

/**
 * The error for an argument of the right type whose value is not acceptable.
 *
 * @param {string} name the argument's name, as in the documentation
 * @param {string} expected what it must be
 * @param {*} received what it was: a value, or a phrase made by the caller
 * @returns {RangeError} with `code` ERR_OUT_OF_RANGE, as Node.js's own functions have it
 */
function outOfRange(name, expected, received) {
  const got = typeof received === 'number' || typeof received === 'bigint' ? inspect(received) : String(received);
  const error = new RangeError(`The "${name}" argument must be ${expected}, but was ${got}`);
  error.code = 'ERR_OUT_OF_RANGE';
  return error;
}

/**
 * The error for a call that is not due: for what it is, see its message.
 *
 * @param {string} message
 * @returns {Error} with `code` ERR_INVALID_STATE, as Node.js's own functions have it
 */
function invalidState(message) {
  const error = new Error(message);
  error.code = 'ERR_INVALID_STATE';
  return error;
}

/**
 * What a peer did wrong, or sent too much of. A server or client answers it with a Close frame of `closeCode`.
 */
class FrameError extends Error {
  /**
   * @param {string} code what happened, `FRAMEMASK_ERR_` and a name
   * @param {number} closeCode what to close the connection with (RFC 6455 section 7.4.1): 1002 for a broken protocol,
   *   1007 for text that is not UTF-8, 1008 for too many fragments, 1009 for a message that is too big
   * @param {string} message
   */
  constructor(code, closeCode, message) {
    super(message);
    this.code = `FRAMEMASK_ERR_${code}`;
    this.closeCode = closeCode;
  }
}

// On the prototype, so that it is no property of its own in what a log prints.
Object.defineProperty(FrameError.prototype, 'name', { value: 'FrameError', configurable: true, writable: true });

module.exports = { FrameError, invalidState, invalidType, outOfRange };
