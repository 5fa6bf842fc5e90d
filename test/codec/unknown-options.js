'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { OPTIONS } = require('../../lib/shared/option-names');

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
  t.test(`${owner}: its constructor reads the options of the list, and no others`, (t) => {
    const read = new Set();
    const record = (target, name) => {
      read.add(name);
      return target[name];
    };
    new Class(new Proxy({ role: 'server' }, { get: record }));
    t.same([...read].sort(), [...OPTIONS[owner]].sort());
    t.end();
  });

  t.test(`${owner}: refuses the name of an option in another case`, (t) => {
    for (const option of OPTIONS[owner]) {
      for (const name of [option.toUpperCase(), option.toLowerCase()]) {
        if (name === option) continue;
        t.equal(complaint(owner, name), `${owner} has no option "${name}". Did you mean "${option}"?`);
      }
    }
    t.end();
  });
}

t.test('refuses a name with one letter more, less, other or swapped', (t) => {
  const misspelt = {
    onmessage: 'onMessage',
    maxPayLoad: 'maxPayload',
    onMesage: 'onMessage',
    onMessages: 'onMessage',
    omMessage: 'onMessage',
    noMessage: 'onMessage',
    onMessaeg: 'onMessage',
    nMessage: 'onMessage',
    maxplayoad: null,
    // Two slips: swapped, and a letter less or more.
    onlCse: null,
    onlCxose: null,
    maxPaylaod: 'maxPayload',
    maxFragment: 'maxFragments',
    conectionId: 'connectionId',
    connectionID: 'connectionId',
    onClosed: 'onClose',
    Context: 'context'
  };
  for (const [name, option] of Object.entries(misspelt)) {
    const expected = option && `Decoder has no option "${name}". Did you mean "${option}"?`;
    t.equal(complaint('Decoder', name), expected, name);
  }
  t.equal(complaint('Encoder', 'recyle'), 'Encoder has no option "recyle". Did you mean "recycle"?');
  t.equal(complaint('Encoder', 'writeable'), 'Encoder has no option "writeable". Did you mean "writable"?');
  t.end();
});

t.test('refuses a slip in any place of a name of six letters or more, and ignores two', (t) => {
  const slips = {
    'a letter less': (name, i) => name.slice(0, i) + name.slice(i + 1),
    'a letter more': (name, i) => `${name.slice(0, i)}q${name.slice(i)}`,
    'another letter': (name, i) => `${name.slice(0, i)}q${name.slice(i + 1)}`,
    'two letters swapped': (name, i) => name.slice(0, i) + (name[i + 1] ?? '') + name[i] + name.slice(i + 2)
  };
  for (const owner of Object.keys(CLASSES)) {
    for (const option of OPTIONS[owner]) {
      const long = option.length >= 6 && option !== 'context';
      for (const [slip, make] of Object.entries(slips)) {
        for (let i = 0; i < option.length; i++) {
          const name = make(option, i);
          if (OPTIONS[owner].includes(name)) continue;
          const refused = complaint(owner, name) !== null;
          assert.equal(refused, long, `${owner}: ${name} for ${option}, ${slip}`);
          for (const at of [i, i + 1, i + 4]) {
            if (at === i && ['a letter more', 'another letter'].includes(slip)) continue;
            const twice = `${name.slice(0, at % name.length)}z${name.slice((at % name.length) + 1)}`;
            assert.equal(complaint(owner, twice), null, `${owner}: ${twice} for ${option}, ${slip} and another letter`);
          }
        }
      }
    }
  }
  t.end();
});

t.test('ignores names that are like no option, as often as they come', (t) => {
  const others = [
    ...['test', 'next', 'roles', 'rule', 'rsv', 'rsv2', 'content', 'connection', 'minPayload', 'payload'],
    ...['port', 'path', 'host', 'server', 'readable', 'perMessageDeflate', 'maxPayloadLength', 'highWaterMark'],
    ...['_onMessage', '_recycle', '_context', '', 'onMessageAndMore', 'messageOn', 'onOpen', 'onData', 'cycle'],
    '__proto__x',
    'x'.repeat(1e6)
  ];
  for (const owner of Object.keys(CLASSES)) {
    for (const name of [...others, ...others]) t.equal(complaint(owner, name), null, name.slice(0, 20));
  }
  t.end();
});

t.test('ignores the options of the other class, and what is almost one of them', (t) => {
  for (const name of [...OPTIONS.Encoder, 'recyle']) {
    if (name !== 'role') t.equal(complaint('Decoder', name), null, name);
  }
  for (const name of [...OPTIONS.Decoder, 'onmessage']) {
    if (name !== 'role') t.equal(complaint('Encoder', name), null, name);
  }
  t.equal(complaint('Decoder', 'onmessage'), 'Decoder has no option "onmessage". Did you mean "onMessage"?');
  t.end();
});

t.test('looks at names of own, enumerable properties only, and reads none of them', (t) => {
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
  t.end();
});

t.test('names that are made up as the program runs cost no memory for ever', (t) => {
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
  t.equal(complaint('Encoder', 'recyle'), 'Encoder has no option "recyle". Did you mean "recycle"?');
  t.end();
});
