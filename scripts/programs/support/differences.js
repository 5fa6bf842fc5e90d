'use strict';

const { isDeepStrictEqual } = require('node:util');

/** The most that is shown of a value. */
const LENGTH = 200;

const isObject = (value) => typeof value === 'object' && value !== null;

/** @returns {string} a value, cut to a line */
function show(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > LENGTH ? `${text.slice(0, LENGTH)}…` : text;
}

/**
 * Compares two results, down to the values that differ.
 *
 * @param {any} expected
 * @param {any} actual
 * @param {string} [at] where they are in the whole results
 * @returns {string[]} a line for each difference
 */
function differences(expected, actual, at = 'result') {
  if (isDeepStrictEqual(expected, actual)) return [];
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual)) {
    return [`${at} is ${show(actual)} instead of ${show(expected)}`];
  }
  const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...keys].flatMap((key) => differences(expected[key], actual[key], `${at}.${key}`));
}

module.exports = { differences };
