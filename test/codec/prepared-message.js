'use strict';

const t = require('tap');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');

const WRONG_TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message: /prepare\(\)/ };
const server = () => new Encoder({ role: 'server' });
const HELLO = Buffer.from('\x81\x05hello', 'latin1');

t.test('only what prepare() has made is sent', (t) => {
  const message = prepare('hello');
  const { prototype } = message.constructor;
  const forged = {
    'an object of the same shape': { frame: HELLO, length: 5 },
    'an object of the same class': Object.create(prototype),
    'one with a frame': Object.create(prototype, { frame: { value: HELLO }, length: { value: 5 } }),
    'one that inherits from a message': Object.create(message),
    'a Proxy of a message': new Proxy(message, {}),
    'a copy of a message': structuredClone(message),
    'the prototype': prototype,
    null: null,
    undefined: undefined,
    'a string': 'hello',
    'a function': () => message
  };
  for (const [name, value] of Object.entries(forged)) {
    const encoder = server();
    t.throws(() => encoder.prepared(value), WRONG_TYPE, name);
    t.equal(encoder.pending, 0, name);
  }
  t.end();
});

t.test('the constructor of a message frames data, as prepare() does', (t) => {
  const PreparedMessage = prepare('').constructor;
  const encoder = server();
  encoder.prepared(new PreparedMessage('hello', {}));
  t.same(encoder.take(), [HELLO]);
  t.throws(() => new PreparedMessage({ frame: HELLO, length: 5 }, {}), { code: 'ERR_INVALID_ARG_TYPE' });
  t.end();
});

t.test('a message can not be changed', (t) => {
  const message = prepare('hello');
  t.equal(message.length, 5);
  t.same(message.frame, HELLO);
  message.frame.fill(0);
  const { buffer } = Buffer.from(new Uint8Array(message.frame).buffer);
  structuredClone(buffer, { transfer: [buffer] });
  t.throws(() => {
    message.frame = Buffer.alloc(3);
  }, TypeError);
  t.throws(() => {
    message.length = 1;
  }, TypeError);
  Object.defineProperty(message, 'frame', { value: Buffer.alloc(3) });
  const encoder = server();
  encoder.prepared(message);
  t.equal(encoder.pending, HELLO.length);
  t.same(encoder.take(), [HELLO]);
  t.end();
});

t.test('the data of a message is copied', (t) => {
  const data = Buffer.from('hello');
  const message = prepare(data, { binary: false });
  data.fill(0);
  t.same(message.frame, HELLO);
  t.end();
});

t.test('a message whose memory somebody has transferred away is refused', (t) => {
  const message = prepare('hello');
  const encoder = server();
  encoder.prepared(message);
  const [frame] = encoder.take();
  structuredClone(frame.buffer, { transfer: [frame.buffer] });
  t.throws(() => encoder.prepared(message), { code: 'ERR_INVALID_STATE', message: /transferred/ });
  t.equal(encoder.pending, 0);
  t.ok(encoder.text('x'), 'and the encoder goes on');
  t.same(encoder.take(), [Buffer.from('\x81\x01x', 'latin1')]);
  t.end();
});
