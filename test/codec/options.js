'use strict';

const t = require('tap');
const { checkOptions, choice, flag, handler, limit, name } = require('../../lib/codec/options');
const { createGarbage } = require('../support/garbage');

const WRONG_TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const WRONG_VALUE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

t.test('checkOptions', (t) => {
  const options = {};
  t.equal(checkOptions(options, 'Decoder'), options);
  t.ok(checkOptions(Object.create(null), 'Encoder'), 'any object, whatever its prototype');
  for (const value of [undefined, null, 1, 'options', true, Symbol('s'), 1n, () => {}]) {
    t.throws(() => checkOptions(value, 'Decoder'), WRONG_TYPE);
  }
  t.throws(() => checkOptions(undefined, 'Decoder'), {
    message: 'The "options" argument must be an object, but was undefined'
  });
  t.end();
});

t.test('readHandler', (t) => {
  const onPing = () => {};
  t.equal(readHandler({ onPing }, 'onPing'), onPing);
  t.equal(readHandler({}, 'onPing'), undefined);
  t.equal(readHandler({ onPing: undefined }, 'onPing'), undefined);
  for (const onPing of [null, 1, 'onPing', {}, []]) t.throws(() => readHandler({ onPing }, 'onPing'), WRONG_TYPE);
  t.throws(() => readHandler({ onPing: null }, 'onPing'), {
    message: 'The "options.onPing" argument must be a function, but was null'
  });
  t.end();
});

t.test('readString', (t) => {
  t.equal(readString({ connectionId: 'a' }, 'connectionId'), 'a');
  t.equal(readString({ connectionId: '' }, 'connectionId'), '');
  for (const options of [{}, { connectionId: undefined }, { connectionId: null }]) {
    t.equal(readString(options, 'connectionId'), null);
  }
  for (const connectionId of [1, true, {}, new String('a')]) {
    t.throws(() => readString({ connectionId }, 'connectionId'), WRONG_TYPE);
  }
  t.throws(() => readString({ connectionId: 1 }, 'connectionId'), {
    message: 'The "options.connectionId" argument must be a string, but was the number 1'
  });
  t.end();
});

t.test('readBoolean', (t) => {
  for (const byDefault of [true, false]) {
    t.equal(readBoolean({ rsv1: true }, 'rsv1', byDefault), true);
    t.equal(readBoolean({ rsv1: false }, 'rsv1', byDefault), false);
    for (const options of [{}, { rsv1: undefined }, { rsv1: null }])
      t.equal(readBoolean(options, 'rsv1', byDefault), byDefault);
  }
  for (const rsv1 of [0, 1, 'true', {}, new Boolean(true)])
    t.throws(() => readBoolean({ rsv1 }, 'rsv1', false), WRONG_TYPE);
  t.throws(() => readBoolean({ rsv1: 1 }, 'rsv1', false), {
    message: 'The "options.rsv1" argument must be a boolean, but was the number 1'
  });
  t.end();
});

t.test('readChoice', (t) => {
  const choices = ['string', 'buffer'];
  t.equal(readChoice({ text: 'buffer' }, 'text', choices, 'string'), 'buffer');
  t.equal(readChoice({}, 'text', choices, 'string'), 'string');
  t.equal(readChoice({ text: null }, 'text', choices, 'string'), 'string');
  for (const text of ['', 'String', 'toString', 1, ['string'], new String('string')]) {
    t.throws(() => readChoice({ text }, 'text', choices, 'string'), WRONG_TYPE);
  }
  t.throws(() => readChoice({}, 'role', ['server', 'client']), {
    message: `The "options.role" argument must be one of 'server', 'client', but was undefined`
  });
  t.end();
});

t.test('readLimit', (t) => {
  for (const maxPayload of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, Number.POSITIVE_INFINITY]) {
    t.equal(readLimit({ maxPayload }, 'maxPayload', 0, 5), maxPayload);
  }
  for (const options of [{}, { maxPayload: undefined }, { maxPayload: null }]) {
    t.equal(readLimit(options, 'maxPayload', 0, 5), 5);
  }
  for (const maxPayload of [-1, 0.5, 1.5, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, 1e300]) {
    t.throws(() => readLimit({ maxPayload }, 'maxPayload', 0, 5), WRONG_VALUE);
  }
  for (const maxPayload of ['1', true, 1n, {}, new Number(1)]) {
    t.throws(() => readLimit({ maxPayload }, 'maxPayload', 0, 5), WRONG_TYPE);
  }
  t.throws(() => readLimit({ maxFragments: 0 }, 'maxFragments', 1, 5), {
    message: 'The "options.maxFragments" argument must be a whole number from 1 on, or Infinity, but was 0'
  });
  t.equal(readLimit({ maxFragments: 1 }, 'maxFragments', 1, 5), 1);
  t.end();
});

t.test('no value gets past a check by what it says of itself', (t) => {
  for (const value of createGarbage()) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'function') t.throws(() => readHandler({ name: value }, 'name'), WRONG_TYPE);
    if (typeof value !== 'boolean') t.throws(() => readBoolean({ name: value }, 'name', true), WRONG_TYPE);
    if (typeof value !== 'string') t.throws(() => readString({ name: value }, 'name'), WRONG_TYPE);
    if (typeof value !== 'number') t.throws(() => readLimit({ name: value }, 'name', 0, 1), WRONG_TYPE);
    t.throws(() => readChoice({ name: value }, 'name', ['a', 'b'], 'a'), WRONG_TYPE);
  }
  t.end();
});
