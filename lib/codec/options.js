'use strict';

const { invalidType, outOfRange } = require('../shared/errors');

// Checks of the options that constructors take. Each throws a TypeError or RangeError that names the option.

/**
 * @param {*} options
 * @returns {object}
 */
function checkOptions(options) {
  if (typeof options !== 'object' || options === null) throw invalidType('options', 'an object', options);
  return options;
}

/**
 * @param {object} options
 * @param {string} name
 * @returns {Function | undefined}
 */
function handler(options, name) {
  const value = options[name];
  if (value !== undefined && typeof value !== 'function') throw invalidType(`options.${name}`, 'a function', value);
  return value;
}

/**
 * @param {object} options
 * @param {string} key
 * @returns {string | null}
 */
function name(options, key) {
  const value = options[key] ?? null;
  if (value !== null && typeof value !== 'string') throw invalidType(`options.${key}`, 'a string', value);
  return value;
}

/**
 * @param {object} options
 * @param {string} name
 * @param {boolean} byDefault
 * @returns {boolean}
 */
function flag(options, name, byDefault) {
  const value = options[name] ?? byDefault;
  if (typeof value !== 'boolean') throw invalidType(`options.${name}`, 'a boolean', value);
  return value;
}

/**
 * @param {object} options
 * @param {string} name
 * @param {string[]} choices
 * @param {string} [byDefault]
 * @returns {string}
 */
function choice(options, name, choices, byDefault) {
  const value = options[name] ?? byDefault;
  if (!choices.includes(value)) {
    throw invalidType(`options.${name}`, `one of ${choices.map((text) => `'${text}'`).join(', ')}`, value);
  }
  return value;
}

/**
 * @param {object} options
 * @param {string} name
 * @param {number} least
 * @param {number} byDefault
 * @returns {number} a safe integer from `least` on, or Infinity
 */
function limit(options, name, least, byDefault) {
  const value = options[name] ?? byDefault;
  if (typeof value !== 'number') throw invalidType(`options.${name}`, 'a number', value);
  if (!(value >= least && (Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY))) {
    throw outOfRange(`options.${name}`, `a whole number from ${least} on, or Infinity`, value);
  }
  return value;
}

module.exports = { checkOptions, choice, flag, handler, limit, name };
