'use strict';

const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { OPTIONS } = require('../../lib/codec/options');

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
  for (let i = 0; i < 5000; i++) t.equal(complaint('Encoder', `other${i}`), null);
  t.equal(complaint('Encoder', 'recyle'), 'Encoder has no option "recyle". Did you mean "recycle"?');
  t.end();
});
