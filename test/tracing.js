'use strict';

// The records on the channels framemask:frame and framemask:message.

const assert = require('node:assert/strict');
const { channel } = require('node:diagnostics_channel');
const t = require('tap');
const { Decoder } = require('../lib/codec/decoder');
const { Encoder } = require('../lib/codec/encoder');
const { prepare } = require('../lib/codec/prepared');
const { forEachCase } = require('./support/cases');
const { framesFor } = require('./support/frames');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The records that are published on a channel while `run` runs. */
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

/** A fragmented text with a Ping frame inside, binary data, text, a Close frame. */
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

/** Throws unless there is a record for each object of `expected`, with its properties. */
function assertRecords(records, expected, common, what) {
  const properties = { ...common, ...expected[0] };
  const actual = records.map((record) => Object.fromEntries(Object.keys(properties).map((key) => [key, record[key]])));
  assert.deepEqual(
    actual,
    expected.map((one) => ({ ...common, ...one })),
    what
  );
}

for (const role of ['server', 'client']) {
  const peer = role === 'server' ? 'client' : 'server';
  const masked = role === 'client';

  t.test(`a ${role} publishes each frame and message that it sends, ids ascend`, (t) => {
    const run = () => converse(new Encoder({ role, trace: { id: 'c-1' } }));
    const common = { connection: 'c-1', from: role, direction: 'sent', role };
    const frames = published('framemask:frame', run);
    assertRecords(frames, expectedFrames, { ...common, rsv: 0, masked, error: null }, 'frames');
    const ids = frames.map(({ id }) => id);
    t.ok(
      ids.every((id) => UUID.test(id)),
      'ids are UUIDs'
    );
    t.same(ids, [...ids].sort(), 'ids ascend');
    assertRecords(published('framemask:message', run), expectedMessages, common, 'messages');
    t.end();
  });

  t.test(`a ${peer} publishes each frame and message that it receives, in one chunk and byte by byte`, (t) => {
    const common = { connection: 'c-2', direction: 'received', role: peer };
    const onMessage = () => {};
    const onFrame = () => {};
    const cases = [];
    for (const text of ['string', 'buffer']) {
      for (const handlers of [{}, { onMessage }, { onFrame }, { onMessage, onFrame }]) {
        for (const size of [1, 1000]) {
          const name = `text: '${text}', handlers {${Object.keys(handlers)}}, chunks of ${size} bytes`;
          cases.push({ name, options: { text, ...handlers }, size });
        }
      }
    }
    forEachCase(cases, ({ options, size }) => {
      const run = () => {
        const bytes = Buffer.concat(converse(new Encoder({ role })));
        const decoder = new Decoder({ role: peer, trace: { id: 'c-2' }, ...options });
        for (let i = 0; i < bytes.length; i += size) decoder.write(bytes.subarray(i, i + size));
      };
      const received = (name) => published(name, run).filter(({ direction }) => direction === 'received');
      assertRecords(received('framemask:frame'), expectedFrames, { ...common, rsv: 0, masked, error: null }, 'frames');
      assertRecords(received('framemask:message'), expectedMessages, common, 'messages');
    });
    t.end();
  });
}

t.test('each record has the time of its publication, finer than a millisecond', (t) => {
  const now = () => performance.timeOrigin + performance.now();
  const { text } = framesFor('server');
  for (const name of ['framemask:frame', 'framemask:message']) {
    const start = now();
    const records = published(name, () => {
      const encoder = new Encoder({ role: 'server' });
      for (let i = 0; i < 20; i++) encoder.text('a');
      new Decoder({ role: 'server' }).write(text('a'));
    });
    const times = records.map(({ time }) => time);
    const all = [start, ...times, now()];
    t.same(
      all,
      [...all].sort((a, b) => a - b),
      `${name}: in order`
    );
    t.ok(times.some((time) => !Number.isInteger(time), name));
    const ofIds = records.map(({ id }) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
    t.ok(
      ofIds.every((ofId, i) => Math.abs(times[i] - ofId) < 60_000),
      `${name}: the clock of the ids`
    );
  }
  t.end();
});

t.test('frames count for the sequence number while there are no subscribers', (t) => {
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
      t.match(
        frames,
        [
          { direction: 'sent', sequence: 51 },
          { direction: 'received', sequence: 51 }
        ],
        `chunks of ${size} bytes, options {${Object.keys(options)}}`
      );
    }
  }
  t.end();
});

t.test('frames that were published count once for the sequence number', (t) => {
  for (const size of [1, 1000]) {
    const encoder = new Encoder({ role: 'client' });
    const decoder = new Decoder({ role: 'server' });
    const send = () => {
      for (let i = 0; i < 5; i++) encoder.text('x'.repeat(i));
      const bytes = Buffer.concat(encoder.take());
      for (let i = 0; i < bytes.length; i += size) decoder.write(bytes.subarray(i, i + size));
    };
    const received = [1, 2].flatMap(() => published('framemask:frame', send).filter((one) => one.role === 'server'));
    t.same(
      received.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      `chunks of ${size} bytes`
    );
  }
  t.end();
});

t.test('a subscriber that comes while a chunk is decoded sees no half of it, not even its error', (t) => {
  const f = framesFor('server');
  const records = [];
  const listen = (record) => records.push(record);
  const errors = [];
  const decoder = new Decoder({
    role: 'server',
    onMessage: () => channel('framemask:frame').subscribe(listen),
    onError: ({ code }) => errors.push(code)
  });
  decoder.write(Buffer.concat([f.text('a'), f.frame(3)]));
  channel('framemask:frame').unsubscribe(listen);
  t.same(errors, ['FRAMEMASK_ERR_OPCODE']);
  t.same(records, []);
  t.end();
});

t.test('prepared messages are published for each connection; without an id it has a UUID', (t) => {
  const encoders = [new Encoder({ role: 'server' }), new Encoder({ role: 'server' })];
  const run = () => {
    const message = prepare('to all');
    for (const encoder of [...encoders, ...encoders]) encoder.addPrepared(message);
  };
  const frames = published('framemask:frame', run);
  t.match(frames, new Array(4).fill({ opcode: 1, length: 6, masked: false, direction: 'sent' }));
  const [a, b, c, d] = frames.map(({ connection }) => connection);
  t.match(a, UUID);
  t.same([c, d], [a, b], 'each connection keeps its id');
  t.not(a, b);
  t.match(published('framemask:message', run), new Array(4).fill({ length: 6, fragments: 1 }));
  t.end();
});

t.test('the id of a connection may be empty', (t) => {
  const [sent] = published('framemask:frame', () => new Encoder({ role: 'server', trace: { id: '' } }).text('a'));
  t.equal(sent.connection, '');
  const { text } = framesFor('server');
  const [received] = published('framemask:frame', () =>
    new Decoder({ role: 'server', trace: { id: '' } }).write(text('a'))
  );
  t.equal(received.connection, '');
  t.end();
});

t.test('an error is published as a frame, before onError is called; not as a message', (t) => {
  const { text, frame } = framesFor('server');
  const badFrames = { 'a reserved opcode': frame(3), 'bad text': text(Buffer.from([0xff])) };
  for (const [name, bad] of Object.entries(badFrames)) {
    const order = [];
    const errors = published('framemask:frame', () => {
      const listen = ({ error }) => error !== null && order.push('traced');
      channel('framemask:frame').subscribe(listen);
      new Decoder({ role: 'server', onError: () => order.push('onError') }).write(Buffer.from(bad));
      channel('framemask:frame').unsubscribe(listen);
    }).filter(({ error }) => error !== null);
    t.equal(errors[0]?.sequence, 1, `${name}: the sequence number`);
    const none = { opcode: null, fin: null, rsv: null, masked: null, length: null };
    t.match(errors, [{ ...none, error: { name: 'FrameError' } }], `${name}: the record`);
    t.same(order, ['traced', 'onError'], `${name}: the order`);
    const messages = published('framemask:message', () => {
      new Decoder({ role: 'server', onError() {} }).write(Buffer.from(bad));
    });
    t.same(messages, [], `${name}: messages`);
  }
  t.end();
});

t.test('a subscriber that throws does no harm to a codec', async (t) => {
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
  await new Promise(setImmediate);
  t.ok(thrown.length > 0 && thrown.every((message) => message === 'from a subscriber'));
});

t.test('codecs that share a connection share its id and its key', (t) => {
  const trace = { key: 'dGhlIHNhbXBsZSBub25jZQ==' };
  const encoder = new Encoder({ role: 'client', trace });
  const decoder = new Decoder({ role: 'server', trace });
  const records = published('framemask:frame', () => {
    encoder.text('a');
    decoder.write(Buffer.concat(encoder.take()));
  });
  t.match(trace.id, UUID);
  t.same(
    records.map(({ connection, key }) => [connection, key]),
    [
      [trace.id, trace.key],
      [trace.id, trace.key]
    ]
  );
  t.end();
});
