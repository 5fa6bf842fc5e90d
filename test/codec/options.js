'use strict';

// The options of Decoder and Encoder: which values each takes, and the error for any other. The
// tests of the codecs show what the options do.

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { forEachCase } = require('../support/cases');
const { createGarbage } = require('../support/garbage');

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const RANGE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

const LIMITS = [1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, Number.POSITIVE_INFINITY];
const NO_LIMITS = [-1, 0.5, 1.5, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, 1e300];

/**
 * What an option must be: values that it takes, values of a wrong type, and numbers out of range.
 */
const HANDLER = {
  expected: 'a function',
  good: [undefined, () => {}],
  wrong: [null, 1, 'name', {}, []],
  isType: (value) => value === undefined || typeof value === 'function'
};
const STRING = {
  expected: 'a string',
  good: [undefined, null, 'a', ''],
  wrong: [1, true, {}, new String('a')],
  isType: (value) => value === undefined || value === null || typeof value === 'string'
};
const BOOLEAN = {
  expected: 'a boolean',
  good: [undefined, null, true, false],
  wrong: [0, 1, 'true', {}, new Boolean(true)],
  isType: (value) => value === undefined || value === null || typeof value === 'boolean'
};
const ROLE = {
  expected: "one of 'server', 'client'",
  good: ['server', 'client'],
  wrong: [undefined, null, '', 'Server', 'peer', 'toString', 1, ['server'], {}, new String('server')],
  isType: () => false
};
const OBJECT = {
  expected: 'an object',
  good: [undefined, null, {}, { id: 'a', key: 'b' }],
  wrong: ['', 'a connection', 1, true, () => {}],
  // Its properties are only read for records.
  isType: (value) => value === undefined || typeof value === 'object'
};
const TEXT = {
  expected: "one of 'string', 'buffer', 'unchecked'",
  good: [undefined, null, 'string', 'buffer', 'unchecked'],
  wrong: ['', 'String', 'utf8', 'toString', 1, true, ['string'], new String('string')],
  isType: (value) => value === undefined || value === null
};
const limitFrom = (least, outOfRange) => ({
  expected: 'a number',
  good: [undefined, null, least, ...LIMITS],
  wrong: ['1', true, 1n, {}, new Number(1)],
  outOfRange: [...outOfRange, ...NO_LIMITS],
  isType: (value) => value === undefined || value === null || typeof value === 'number'
});

const OPTIONS = [
  { Codec: Decoder, option: 'role', ...ROLE },
  { Codec: Decoder, option: 'text', ...TEXT },
  { Codec: Decoder, option: 'rsv1', ...BOOLEAN },
  { Codec: Decoder, option: 'fragmentLengths', ...BOOLEAN },
  { Codec: Decoder, option: 'borrowed', ...BOOLEAN },
  { Codec: Decoder, option: 'connectionId', ...STRING },
  { Codec: Decoder, option: 'trace', ...OBJECT },
  { Codec: Decoder, option: 'maxPayload', ...limitFrom(0, []) },
  { Codec: Decoder, option: 'maxFragments', ...limitFrom(1, [0]) },
  ...['onMessage', 'onPing', 'onPong', 'onClose', 'onError', 'onFrame'].map((option) => ({
    Codec: Decoder,
    option,
    ...HANDLER
  })),
  { Codec: Encoder, option: 'role', ...ROLE },
  { Codec: Encoder, option: 'recycle', ...BOOLEAN },
  { Codec: Encoder, option: 'connectionId', ...STRING },
  { Codec: Encoder, option: 'trace', ...OBJECT }
].map((one) => ({
  name: `${one.option} of ${one.Codec.name}`,
  outOfRange: [],
  create: (value) => new one.Codec({ role: 'server', [one.option]: value }),
  ...one
}));

t.test('each option takes what it is documented to take', (t) => {
  forEachCase(OPTIONS, ({ good, create }) => {
    forEachCase(good, (value) => create(value));
  });
  t.end();
});

t.test('each option refuses another type, and the error names the option', (t) => {
  forEachCase(OPTIONS, ({ option, expected, wrong, create }) => {
    const start = `The "options.${option}" argument must be ${expected}, but was `;
    forEachCase(wrong, (value) => {
      assert.throws(
        () => create(value),
        (error) => {
          assert.equal(error.message.slice(0, start.length), start, 'the message');
          assert.equal(error.name, TYPE.name, 'the name');
          assert.equal(error.code, TYPE.code, 'the code');
          return true;
        }
      );
    });
  });
  t.end();
});

t.test('a limit refuses numbers out of its range, and the error names the option', (t) => {
  const limits = OPTIONS.filter(({ outOfRange }) => outOfRange.length > 0);
  forEachCase(limits, ({ option, outOfRange, create }) => {
    forEachCase(outOfRange, (value) => {
      assert.throws(() => create(value), { ...RANGE, message: new RegExp(`"options.${option}"`) });
    });
  });
  t.throws(() => new Decoder({ role: 'server', maxFragments: 0 }), {
    message: 'The "options.maxFragments" argument must be a whole number from 1 on, or Infinity, but was 0'
  });
  t.end();
});

t.test('an error says which value was refused', (t) => {
  const messages = {
    'a function, but was null': { onPing: null },
    'a string, but was the number 1': { connectionId: 1 },
    'a boolean, but was the number 1': { rsv1: 1 },
    "one of 'server', 'client', but was undefined": { role: undefined }
  };
  for (const [end, option] of Object.entries(messages)) {
    const message = `The "options.${Object.keys(option)[0]}" argument must be ${end}`;
    t.throws(() => new Decoder({ role: 'server', ...option }), { message }, message);
  }
  t.end();
});

t.test('options must be an object, of any prototype', (t) => {
  forEachCase([Decoder, Encoder], (Codec) => {
    forEachCase([undefined, null, 1, 'options', true, Symbol('s'), 1n, () => {}], (options) => {
      assert.throws(() => new Codec(options), { ...TYPE, message: /^The "options" argument must be an object/ });
    });
    assert.throws(() => new Codec(), { message: 'The "options" argument must be an object, but was undefined' });
    assert.throws(() => new Codec({}), { ...TYPE, message: /"options.role"/ }, 'without a role');
    assert.ok(new Codec(Object.assign(Object.create(null), { role: 'server' })), 'an object without a prototype');
  });
  t.throws(() => Decoder({ role: 'server' }), TypeError, 'called without new');
  t.end();
});

t.test('writable must have a method write', (t) => {
  forEachCase([undefined, null, { write() {} }], (writable) => new Encoder({ role: 'server', writable }));
  forEachCase([{}, { write: 1 }, 1, 'stream'], (writable) => {
    assert.throws(() => new Encoder({ role: 'server', writable }), { ...TYPE, message: /"options.writable"/ });
  });
  t.end();
});

t.test('a value that lies about itself passes no check', (t) => {
  const garbage = createGarbage();
  forEachCase(OPTIONS, ({ create, isType }) => {
    forEachCase(garbage, (value) => {
      if (!isType(value)) assert.throws(() => create(value), TYPE);
    });
  });
  t.end();
});
