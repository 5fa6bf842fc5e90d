'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { OPTIONS: NAMES } = require('../../lib/shared/option-names');
const { forEachCase, testCases } = require('../support/cases');
const { agree } = require('../support/deflate');
const { createGarbage } = require('../support/garbage');

// The options of Decoder and Encoder: which values each takes, and the error for any other. The
// tests of the codecs show what the options do.

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const RANGE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

const LIMITS = [1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, Number.POSITIVE_INFINITY];
const NO_LIMITS = [-1, 0.5, 1.5, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, 1e300];

const GARBAGE = createGarbage();

/** Options: some values that they take, whether they take another, and wrong values. */
const HANDLER = {
  expected: 'a function',
  good: [undefined, () => {}],
  isType: (value) => value === undefined || typeof value === 'function'
};
const BOOLEAN = {
  expected: 'a boolean',
  good: [undefined, null, true, false],
  isType: (value) => value === undefined || value === null || typeof value === 'boolean',
  wrong: ['true', new Boolean(true)]
};
const ROLE = {
  expected: "one of 'server', 'client'",
  good: ['server', 'client'],
  isType: () => false,
  wrong: ['Server', 'peer', 'toString', ['server'], new String('server')]
};
const OBJECT = {
  expected: 'an object',
  good: [undefined, null, false, {}, { id: 'a', key: 'b' }],
  isType: (value) => value === undefined || value === false || typeof value === 'object'
};
const TEXT = {
  expected: "one of 'string', 'buffer'",
  good: [undefined, null, 'string', 'buffer'],
  isType: (value) => value === undefined || value === null,
  wrong: ['String', 'utf8', 'toString', ['string'], new String('string')]
};
const limitFrom = (least, outOfRange) => ({
  expected: 'a number',
  good: [undefined, null, least, ...LIMITS],
  isType: (value) => value === undefined || value === null || typeof value === 'number',
  outOfRange: [...outOfRange, ...NO_LIMITS]
});

const OPTIONS = [
  [Decoder, ROLE, 'role'],
  [Decoder, TEXT, 'text'],
  [Decoder, BOOLEAN, 'rsv1', 'fragmentLengths', 'borrowed', 'skipUTF8Validation'],
  [Decoder, OBJECT, 'trace'],
  [Decoder, limitFrom(0, []), 'maxPayload', 'partsFrom'],
  [Decoder, limitFrom(1, [0]), 'maxFragments'],
  [Decoder, HANDLER, 'onMessage', 'onPart', 'onPing', 'onPong', 'onClose', 'onError', 'onFrame'],
  [Encoder, ROLE, 'role'],
  [Encoder, BOOLEAN, 'recycle'],
  [Encoder, OBJECT, 'trace']
].flatMap(([Codec, kind, ...options]) =>
  options.map((option) => ({
    name: `${option} of ${Codec.name}`,
    option,
    // skipUTF8Validation needs text as Buffers.
    create: (value) => new Codec({ role: 'server', ...(Codec === Decoder && { text: 'buffer' }), [option]: value }),
    wrong: [],
    outOfRange: [],
    ...kind
  }))
);

testCases('each option takes and refuses the types that it should', OPTIONS, (one) => {
  const { option, expected, good, isType, wrong, outOfRange, create } = one;
  forEachCase(good, (value) => create(value));
  const start = `The "options.${option}" argument must be ${expected}, but was `;
  // Among them are values that lie about themselves.
  forEachCase([...wrong, ...GARBAGE.filter((value) => !isType(value))], (value) => {
    const isRight = ({ code, message, name }) => message.startsWith(start) && code === TYPE.code && name === TYPE.name;
    assert.throws(() => create(value), isRight);
  });
  for (const value of outOfRange) {
    assert.throws(() => create(value), { ...RANGE, message: new RegExp(`"options.${option}"`) }, `${value}`);
  }
});

t.test('an error shows the value that was refused', async (t) => {
  const create = (options) => () => new Decoder({ role: 'server', ...options });
  const message = 'The "options.rsv1" argument must be a boolean, but was the number 1';
  t.throws(create({ rsv1: 1 }), { ...TYPE, message });
  t.throws(create({ maxFragments: 0 }), {
    message: 'The "options.maxFragments" argument must be a whole number from 1 on, or Infinity, but was 0'
  });
});

t.test('an option that needs another one says so', async (t) => {
  const refused = (options) => () => new Decoder({ role: 'server', ...options });
  const code = 'ERR_INVALID_ARG_VALUE';
  t.throws(refused({ skipUTF8Validation: true }), {
    code,
    message: /skipUTF8Validation needs the option text: 'buffer'/
  });
  const excluded = { onMessage() {}, onPart() {}, deflate: agree().server };
  for (const [name, value] of Object.entries(excluded)) {
    for (const [other, by] of Object.entries({ onFrame: () => {}, rsv1: true })) {
      const message = `${name} and ${other} exclude each other`;
      t.throws(refused({ [name]: value, [other]: by }), { code: 'ERR_INVALID_STATE', message });
    }
  }
  t.throws(refused({ trace: { id: 1 } }), { code: 'ERR_INVALID_ARG_TYPE', message: /"options.trace.id"/ });
  t.throws(refused({ trace: { key: 1 } }), { code: 'ERR_INVALID_ARG_TYPE', message: /"options.trace.key"/ });
});

t.test('options must be an object, of any prototype', async (t) => {
  forEachCase([Decoder, Encoder], (Codec) => {
    forEachCase([undefined, null, 1, 'options', true, Symbol('s'), 1n, () => {}], (options) => {
      assert.throws(() => new Codec(options), { ...TYPE, message: /^The "options" argument must be an object/ });
    });
    assert.throws(() => new Codec(), { message: 'The "options" argument must be an object, but was undefined' });
    assert.throws(() => new Codec({}), { ...TYPE, message: /"options.role"/ }, 'without a role');
    assert.ok(new Codec(Object.assign(Object.create(null), { role: 'server' })), 'an object without a prototype');
  });
  t.throws(() => Decoder({ role: 'server' }), TypeError, 'called without new');
});

t.test('writable must have a method write', async () => {
  forEachCase([undefined, null, { write() {} }], (writable) => new Encoder({ role: 'server', writable }));
  forEachCase([{}, { write: 1 }, 1, 'stream'], (writable) => {
    assert.throws(() => new Encoder({ role: 'server', writable }), { ...TYPE, message: /"options.writable"/ });
  });
});

/** Options that only lib/ gives: no slip is looked for. */
const INTERNAL = { Decoder: ['borrowed', 'fragmentLengths'], Encoder: ['recycle'] };
const CLASSES = { Decoder, Encoder };

/** What the constructor says of options that have one more, with an own property of this name. */
function complaint(owner, name, value = undefined) {
  try {
    new CLASSES[owner]({ role: 'server', [name]: value });
    return null;
  } catch (error) {
    if (error.name !== 'TypeError' || error.code !== 'ERR_INVALID_ARG_VALUE') throw error;
    return error.message;
  }
}

for (const [owner, Class] of Object.entries(CLASSES)) {
  t.test(`${owner}: its constructor reads the options of the list, internal ones, and no others`, async (t) => {
    const read = new Set();
    const record = (target, name) => {
      read.add(name);
      return target[name];
    };
    new Class(new Proxy({ role: 'server' }, { get: record }));
    t.same([...read].sort(), [...NAMES[owner], ...INTERNAL[owner]].sort());
  });

  t.test(`${owner}: refuses the name of an option in another case`, async (t) => {
    for (const option of NAMES[owner]) {
      for (const name of [option.toUpperCase(), option.toLowerCase()]) {
        if (name === option) continue;
        t.equal(complaint(owner, name), `Unknown option "${name}" of ${owner}. Did you mean "${option}"?`);
      }
    }
  });
}

t.test('refuses a slip in any place of a name of six letters or more, and ignores two', async () => {
  const slips = {
    'a letter less': (name, i) => name.slice(0, i) + name.slice(i + 1),
    'a letter more': (name, i) => `${name.slice(0, i)}q${name.slice(i)}`,
    'another letter': (name, i) => `${name.slice(0, i)}q${name.slice(i + 1)}`,
    'two letters swapped': (name, i) => name.slice(0, i) + (name[i + 1] ?? '') + name[i] + name.slice(i + 2)
  };
  for (const owner of Object.keys(CLASSES)) {
    const meant = `(${NAMES[owner].join('|')})`;
    for (const option of NAMES[owner]) {
      const long = option.length >= 6 && option !== 'context';
      for (const [slip, make] of Object.entries(slips)) {
        for (let i = 0; i < option.length; i++) {
          const name = make(option, i);
          if (NAMES[owner].includes(name)) continue;
          const refusal = complaint(owner, name);
          assert.equal(refusal !== null, long, `${owner}: ${name} for ${option}, ${slip}`);
          if (long) assert.match(refusal, new RegExp(`^Unknown option "${name}" of ${owner}. Did you mean "${meant}"`));
          for (const at of [i, i + 1, i + 4]) {
            if (at === i && ['a letter more', 'another letter'].includes(slip)) continue;
            const twice = `${name.slice(0, at % name.length)}z${name.slice((at % name.length) + 1)}`;
            assert.equal(complaint(owner, twice), null, `${owner}: ${twice} for ${option}, ${slip} and another letter`);
          }
        }
      }
    }
  }
});

t.test('ignores names that are like no option of the class, as often as they come', async () => {
  const others = [
    ...['test', 'next', 'roles', 'rule', 'rsv', 'rsv2', 'content', 'connection', 'minPayload', 'payload'],
    ...['port', 'path', 'host', 'server', 'readable', 'perMessageDeflate', 'maxPayloadLength', 'highWaterMark'],
    ...['_onMessage', '_recycle', '_context', '', 'onMessageAndMore', 'messageOn', 'onOpen', 'onData', 'cycle'],
    '__proto__x',
    'x'.repeat(1e6)
  ];
  // The options of the other class, and a slip in one.
  const ofOther = { Decoder: [...NAMES.Encoder, 'recyle'], Encoder: [...NAMES.Decoder, 'onmessage'] };
  for (const owner of Object.keys(CLASSES)) {
    const names = [...others, ...others, ...ofOther[owner].filter((name) => name !== 'role')];
    for (const name of names) assert.equal(complaint(owner, name), null, `${owner}: ${name.slice(0, 20)}`);
  }
});

t.test('looks at names of own, enumerable properties only, and reads none of them', async (t) => {
  const read = () => {
    throw new Error('nobody may ask');
  };
  const getter = Object.defineProperty({ role: 'server' }, 'other', { enumerable: true, get: read });
  t.ok(new Decoder(getter));
  t.throws(() => new Decoder(Object.defineProperty({ role: 'server' }, 'onmessage', { enumerable: true, get: read })), {
    code: 'ERR_INVALID_ARG_VALUE'
  });
  t.ok(new Decoder(Object.defineProperty({ role: 'server' }, 'onmessage', { value: 1 })), 'hidden');
  t.ok(new Decoder(Object.assign(Object.create({ onmessage: 1 }), { role: 'server' })), 'inherited');
  t.ok(new Decoder({ role: 'server', [Symbol('onmessage')]: 1 }), 'a symbol');
  t.ok(new Decoder(Object.assign(Object.create(null), { role: 'server' })), 'no prototype');
  t.ok(new Decoder(Object.create({ role: 'server' })), 'options may be inherited');
});

t.test('names that are made up as the program runs cost no memory for ever', async (t) => {
  const { add } = Set.prototype;
  const kept = new Set();
  t.teardown(() => {
    Set.prototype.add = add;
  });
  Set.prototype.add = function (value) {
    if (/^other\d/.test(value)) add.call(kept, value);
    return add.call(this, value);
  };
  for (let i = 0; i < 5000; i++) assert.equal(complaint('Encoder', `other${i}`), null);
  Set.prototype.add = add;
  t.ok(kept.size > 0, 'some are kept, which saves comparing them again');
  t.ok(kept.size <= 1000, `${kept.size} names are kept`);
  t.equal(complaint('Encoder', 'writeable'), 'Unknown option "writeable" of Encoder. Did you mean "writable"?');
});
