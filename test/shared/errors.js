'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const vm = require('node:vm');
const t = require('tap');
const { FrameError, invalidState, invalidType, outOfRange } = require('../../lib/shared/errors');

const describe = (value) => invalidType('key', 'a Buffer', value).message.replace(/^.* but was /, '');

t.test('invalidType makes a TypeError that names the argument', (t) => {
  const error = invalidType('key', 'a Buffer', 1);
  t.type(error, TypeError);
  t.equal(error.code, 'ERR_INVALID_ARG_TYPE');
  t.equal(error.message, 'The "key" argument must be a Buffer, but was the number 1');
  t.end();
});

t.test('outOfRange makes a RangeError that names the argument', (t) => {
  const error = outOfRange('offset', 'a whole number', 1.5);
  t.type(error, RangeError);
  t.equal(error.code, 'ERR_OUT_OF_RANGE');
  t.equal(error.message, 'The "offset" argument must be a whole number, but was 1.5');
  t.match(outOfRange('offset', 'so', -0).message, /but was -0$/);
  t.match(outOfRange('offset', 'so', Number.NaN).message, /but was NaN$/);
  t.match(outOfRange('offset', 'so', 2n ** 64n).message, /but was 18446744073709551616n$/);
  t.match(outOfRange('key', '4 bytes long', '3 bytes long').message, /but was 3 bytes long$/);
  t.end();
});

t.test('an error describes any value on a short line', (t) => {
  class Socket {}
  const unnamed = new (class {})();
  const throwing = {
    get constructor() {
      throw new Error('not for you');
    }
  };
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('not for you');
      }
    }
  );
  const cases = [
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'the boolean true'],
    [-0, 'the number -0'],
    [Number.NaN, 'the number NaN'],
    [2n ** 70n, 'the bigint 1180591620717411303424n'],
    [Symbol('s'), 'the symbol Symbol(s)'],
    ['', "the string ''"],
    ['a\nb', "the string 'a\\nb'"],
    ['x'.repeat(24), `the string '${'x'.repeat(24)}'`],
    ['x'.repeat(1e6), `the string '${'x'.repeat(24)}...'`],
    [() => {}, 'a function'],
    [class A {}, 'a function'],
    [{}, 'an instance of Object'],
    [[], 'an instance of Array'],
    [new Socket(), 'an instance of Socket'],
    [new (vm.runInNewContext('Date'))(), 'an instance of Date'],
    [unnamed, 'an object'],
    [Object.create(null), 'an object'],
    [{ constructor: null }, 'an object'],
    [{ constructor: { name: 7 } }, 'an object'],
    [{ constructor: { name: 'n'.repeat(1e6) } }, `an instance of ${'n'.repeat(64)}`],
    [throwing, 'an object'],
    [hostile, 'an object'],
    [revoked, 'an object']
  ];
  for (const [i, [value, expected]] of cases.entries()) assert.equal(describe(value), expected, `value ${i}`);
  t.end();
});

t.test('invalidState makes an Error with a code', (t) => {
  const error = invalidState('the connection is closed');
  t.equal(error.name, 'Error');
  t.equal(error.code, 'ERR_INVALID_STATE');
  t.equal(error.message, 'the connection is closed');
  t.end();
});

t.test('a FrameError has a code and a close code', (t) => {
  const error = new FrameError('INVALID_UTF8', 1007, 'a text message is not UTF-8');
  t.type(error, Error);
  t.type(error, FrameError);
  t.equal(error.name, 'FrameError');
  t.equal(error.code, 'FRAMEMASK_ERR_INVALID_UTF8');
  t.equal(error.closeCode, 1007);
  t.equal(error.message, 'a text message is not UTF-8');
  t.same(Object.keys(error), ['code', 'closeCode', 'firstByte', 'length', 'receivedCode']);
  t.match(inspect(error), /^FrameError: a text message is not UTF-8\n/);
  t.end();
});
