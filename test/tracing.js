'use strict';

const { channel } = require('node:diagnostics_channel');
const t = require('tap');
const { Decoder } = require('../lib/codec/decoder');
const { Encoder } = require('../lib/codec/encoder');
const { prepare } = require('../lib/codec/prepared');
const { framesFor } = require('./support/frames');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What is published on a channel while `run` runs. */
function published(name, run) {
  const records = [];
  const listen = (record) => records.push(record);
  channel(name).subscribe(listen);
  try {
    run();
  } finally {
    channel(name).unsubscribe(listen);
  }
  return records;
}

/** A conversation: a fragmented text with a ping inside it, binary, prepared, a close. */
function converse(encoder) {
  encoder.text('frag', { fin: false });
  encoder.ping('p');
  encoder.continuation('mented');
  encoder.binary(Buffer.alloc(3));
  encoder.text('é');
  encoder.close(1000);
  return encoder.take();
}

const expectedFrames = [
  { sequence: 1, opcode: 1, fin: false, length: 4 },
  { sequence: 2, opcode: 9, fin: true, length: 1 },
  { sequence: 3, opcode: 0, fin: true, length: 6 },
  { sequence: 4, opcode: 2, fin: true, length: 3 },
  { sequence: 5, opcode: 1, fin: true, length: 2 },
  { sequence: 6, opcode: 8, fin: true, length: 2 }
];
const expectedMessages = [
  { binary: false, rsv: 0, length: 10, fragments: 2 },
  { binary: true, rsv: 0, length: 3, fragments: 1 },
  { binary: false, rsv: 0, length: 2, fragments: 1 }
];

for (const role of ['server', 'client']) {
  const peer = role === 'server' ? 'client' : 'server';
  const masked = role === 'client';

  t.test(`sent, ${role}`, (t) => {
    const run = () => converse(new Encoder({ role, connectionId: 'c-1' }));
    const common = { connection: 'c-1', from: role, direction: 'sent', role };
    const frames = published('framemask:frame', run);
    t.match(
      frames,
      expectedFrames.map((frame) => ({ ...common, ...frame, rsv: 0, masked, error: null }))
    );
    t.equal(frames.length, expectedFrames.length);
    const ids = frames.map(({ id }) => id);
    t.ok(ids.every((id) => UUID.test(id)));
    t.same(ids, [...ids].sort(), 'ids ascend');
    const messages = published('framemask:message', run);
    t.match(
      messages,
      expectedMessages.map((message) => ({ ...common, ...message }))
    );
    t.equal(messages.length, expectedMessages.length);
    t.end();
  });

  t.test(`received by a ${peer}, in one chunk and byte by byte`, (t) => {
    for (const text of ['string', 'buffer']) {
      for (const handlers of [{}, { onMessage() {} }, { onFrame() {} }, { onMessage() {}, onFrame() {} }]) {
        for (const size of [1, 1000]) {
          const run = () => {
            const bytes = Buffer.concat(converse(new Encoder({ role })));
            const decoder = new Decoder({ role: peer, connectionId: 'c-2', text, ...handlers });
            for (let i = 0; i < bytes.length; i += size) decoder.write(bytes.subarray(i, i + size));
          };
          const common = { connection: 'c-2', from: role, direction: 'received', role: peer };
          const received = ({ direction }) => direction === 'received';
          const frames = published('framemask:frame', run).filter(received);
          t.match(
            frames,
            expectedFrames.map((frame) => ({ ...common, ...frame, rsv: 0, masked, error: null }))
          );
          t.equal(frames.length, expectedFrames.length);
          const messages = published('framemask:message', run).filter(received);
          t.match(
            messages,
            expectedMessages.map((message) => ({ ...common, ...message }))
          );
          t.equal(messages.length, expectedMessages.length);
        }
      }
    }
    t.end();
  });
}

t.test('frames are counted while nobody listens', (t) => {
  for (const size of [1, 10, 1000]) {
    for (const options of [{ onMessage() {} }, { onFrame() {} }, { text: 'buffer', onMessage() {} }]) {
      const encoder = new Encoder({ role: 'client' });
      for (let i = 0; i < 50; i++) encoder.text('x'.repeat(i));
      const bytes = Buffer.concat(encoder.take());
      const decoder = new Decoder({ role: 'server', ...options });
      for (let i = 0; i < bytes.length; i += size) decoder.write(bytes.subarray(i, i + size));
      const frames = published('framemask:frame', () => {
        encoder.ping();
        for (const chunk of encoder.take()) decoder.write(chunk);
      });
      t.match(frames, [
        { direction: 'sent', sequence: 51 },
        { direction: 'received', sequence: 51 }
      ]);
    }
  }
  t.end();
});

t.test('prepared messages, and connections that were given no name', (t) => {
  const encoders = [new Encoder({ role: 'server' }), new Encoder({ role: 'server' })];
  const run = () => {
    const message = prepare('to all');
    for (const encoder of [...encoders, ...encoders]) encoder.prepared(message);
  };
  const frames = published('framemask:frame', run);
  t.match(frames, new Array(4).fill({ opcode: 1, length: 6, masked: false, direction: 'sent' }));
  const [a, b, c, d] = frames.map(({ connection }) => connection);
  t.match(a, UUID);
  t.same([c, d], [a, b], 'the name that one was given is kept');
  t.not(a, b);
  t.match(published('framemask:message', run), new Array(4).fill({ length: 6, fragments: 1 }));
  t.end();
});

t.test('an error is told before onError, whoever listens to messages alone is not bothered', (t) => {
  const { text, frame } = framesFor('server');
  for (const bad of [frame(3), text(Buffer.from([0xff]))]) {
    const order = [];
    const errors = published('framemask:frame', () => {
      const listen = ({ error }) => error !== null && order.push('traced');
      channel('framemask:frame').subscribe(listen);
      new Decoder({ role: 'server', onError: () => order.push('onError') }).write(Buffer.from(bad));
      channel('framemask:frame').unsubscribe(listen);
    }).filter(({ error }) => error !== null);
    t.equal(errors[0]?.sequence, 1);
    t.match(errors, [
      { opcode: null, fin: null, rsv: null, masked: null, length: null, error: { name: 'FrameError' } }
    ]);
    t.same(order, ['traced', 'onError']);
    const messages = published('framemask:message', () => {
      new Decoder({ role: 'server', onError() {} }).write(Buffer.from(bad));
    });
    t.same(messages, []);
  }
  t.end();
});

t.test('a subscriber that throws breaks no codec', (t) => {
  const thrown = [];
  process.on('uncaughtException', (error) => thrown.push(error.message));
  t.teardown(() => process.removeAllListeners('uncaughtException'));
  const listen = () => {
    throw new Error('from a subscriber');
  };
  for (const name of ['framemask:frame', 'framemask:message']) channel(name).subscribe(listen);
  const received = [];
  const decoder = new Decoder({ role: 'server', onMessage: (data) => received.push(String(data)) });
  for (const chunk of converse(new Encoder({ role: 'client' }))) decoder.write(chunk);
  for (const name of ['framemask:frame', 'framemask:message']) channel(name).unsubscribe(listen);
  t.same(received, ['fragmented', '\0\0\0', 'é']);
  setImmediate(() => {
    t.ok(thrown.length > 0 && thrown.every((message) => message === 'from a subscriber'));
    t.end();
  });
});
