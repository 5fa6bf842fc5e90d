'use strict';

// A matrix of cases inside one test stops at the first case that fails, and the error names it.

const assert = require('node:assert/strict');
const { inspect } = require('node:util');

/**
 * Messages are cut here: an assertion about 64 KiB would repeat them. `actual` and `expected` stay
 * whole.
 */
const MAX_MESSAGE = 600;

/** @returns {string} the name of a case: its `name`, or else the value itself on one line */
function nameOf(one) {
  try {
    if (typeof one?.name === 'string') return one.name;
    return inspect(one, { depth: 1, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 80 }).slice(0, 120);
  } catch {
    return 'a value that cannot be inspected';
  }
}

/** @returns {Error} what was thrown, with the name of the case before its message */
function inCase(name, thrown) {
  const error = thrown instanceof Error ? thrown : new Error(`threw ${inspect(thrown)}`);
  const { message, stack } = error;
  error.message = `${name}: ${message.slice(0, MAX_MESSAGE)}`;
  error.stack = String(stack).replace(message, () => error.message);
  return error;
}

/**
 * Calls `check` with each case. Checks use node:assert, so that thousands of them cost no line of
 * TAP each. Calls may be nested: the message then has the name of each level.
 *
 * @template T
 * @param {Iterable<T> | Object<string, T>} cases by their names, or objects with a `name`, or
 *   values that are their own name
 * @param {(one: T, name: string) => void} check throws if the case fails
 * @throws {Error} what `check` threw first, its message beginning with the name of the case; or
 *   that there was no case
 */
function forEachCase(cases, check) {
  let count = 0;
  const isNamed = cases[Symbol.iterator] === undefined;
  for (const one of isNamed ? Object.entries(cases) : cases) {
    try {
      if (isNamed) check(one[1], one[0]);
      else check(one);
    } catch (error) {
      throw inCase(isNamed ? one[0] : nameOf(one), error);
    }
    count++;
  }
  assert.notEqual(count, 0, 'there must be a case');
}

/**
 * A test that calls `check` with each case, see `forEachCase`.
 *
 * @param {string} title
 * @param {Iterable | object} cases
 * @param {Function} check
 */
function testCases(title, cases, check) {
  // Programs that are no tests use this file, too.
  require('tap').test(title, async () => forEachCase(cases, check));
}

/**
 * `assert.deepEqual` for bytes, with a message that fits on a line.
 *
 * @param {Uint8Array} actual
 * @param {Uint8Array} expected
 * @param {string} [what]
 */
function assertBytes(actual, expected, what = 'bytes') {
  if (Buffer.compare(actual, expected) === 0) return;
  const at = expected.findIndex((byte, i) => byte !== actual[i]);
  const where = at === -1 ? expected.length : at;
  const difference = `byte ${where} is ${actual[where]}, not ${expected[where]}`;
  assert.fail(`${what}: ${difference}, ${actual.length} bytes of ${expected.length}`);
}

module.exports = { assertBytes, forEachCase, testCases };
