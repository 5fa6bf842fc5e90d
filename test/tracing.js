'use strict';

// The records on the channels framemask:frame and framemask:message.

const assert = require('node:assert/strict');
const { channel } = require('node:diagnostics_channel');
const t = require('tap');
const { Decoder } = require('../lib/codec/decoder');
const { Encoder } = require('../lib/codec/encoder');
const { prepare } = require('../lib/codec/prepared');
const { supportsSyncZlib } = require('../lib/deflate/zlib-handle');
const { forEachCase } = require('./support/cases');
const { agree } = require('./support/deflate');
const { framesFor } = require('./support/frames');
const { published } = require('./support/subscribers');
const { uncaughtMessages } = require('./support/uncaught');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

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
  const keys = Object.keys({ ...common, ...expected[0] });
  const actual = records.map((record) => Object.fromEntries(keys.map((key) => [key, record[key]])));
  const wanted = expected.map((one) => ({ ...common, ...one }));
  assert.deepEqual(actual, wanted, what);
}

function writeInChunks(decoder, bytes, size) {
  for (let i = 0; i < bytes.length; i += size) decoder.write(bytes.subarray(i, i + size));
}

const CHANNELS = ['framemask:frame', 'framemask:message'];
const onMessage = () => {};
const onFrame = () => {};

/** Options of Decoders, which take another way each. */
const OPTIONS = [{}, { onMessage }, { onFrame }];

for (const role of ['server', 'client']) {
  const peer = role === 'server' ? 'client' : 'server';
  const frameCommon = { rsv: 0, masked: role === 'client', error: null };

  t.test(`a ${role} publishes each frame and message that it sends, ids ascend`, async (t) => {
    const run = () => converse(new Encoder({ role, trace: { id: 'c-1' } }));
    const common = { connection: 'c-1', from: role, direction: 'sent', role };
    const frames = published('framemask:frame', run);
    assertRecords(frames, expectedFrames, { ...common, ...frameCommon }, 'frames');
    const ids = frames.map(({ id }) => id);
    for (const id of ids) t.match(id, UUID);
    t.same(ids, [...ids].sort(), 'ids ascend');
    assertRecords(published('framemask:message', run), expectedMessages, common, 'messages');
  });

  t.test(`a ${peer} publishes each frame and message that it receives, in one chunk and byte by byte`, async () => {
    const common = { connection: 'c-2', from: role, direction: 'received', role: peer };
    const kinds = ['string', 'buffer'].flatMap((text) => OPTIONS.map((handlers) => ({ text, ...handlers })));
    const cases = kinds.flatMap((options) => [1, 1000].map((size) => ({ options, size })));
    forEachCase(cases, ({ options, size }) => {
      const bytes = Buffer.concat(converse(new Encoder({ role })));
      const received = (name) => {
        const copy = Buffer.from(bytes);
        const decoder = new Decoder({ role: peer, trace: { id: 'c-2' }, ...options });
        return published(name, () => writeInChunks(decoder, copy, size));
      };
      assertRecords(received('framemask:frame'), expectedFrames, { ...common, ...frameCommon }, 'frames');
      assertRecords(received('framemask:message'), expectedMessages, common, 'messages');
    });
  });
}

t.test('a compressed message has the same record at both ends', { skip: !supportsSyncZlib() }, async () => {
  const { server, client } = agree({ threadPoolFrom: Infinity });
  const encoder = new Encoder({ role: 'client', deflate: client });
  const sent = published('framemask:message', () => {
    encoder.text('a'.repeat(2000));
    encoder.text('b'.repeat(2000), { fin: false, compress: true });
    encoder.continuation('c'.repeat(2000));
  });
  const bytes = Buffer.concat(encoder.take());
  const expected = sent.map(({ binary, rsv, length, fragments }) => ({ binary, rsv, length, fragments }));
  assert.deepEqual(
    expected.map(({ rsv, fragments }) => `${rsv} ${fragments}`),
    ['4 1', '4 2']
  );
  const cases = [{}, { onMessage }, { onPart() {} }].flatMap((handlers) =>
    [1, 1000].map((size) => ({ handlers, size }))
  );
  forEachCase(cases, ({ handlers, size }) => {
    const decoder = new Decoder({ role: 'server', deflate: server, ...handlers });
    const received = published('framemask:message', () => writeInChunks(decoder, Buffer.from(bytes), size));
    assertRecords(received, expected, {}, 'messages');
  });
});

t.test('the reserved bits are recorded as a number from 0 to 7', async (t) => {
  const run = () => new Encoder({ role: 'server' }).text('compressed', { rsv1: true });
  for (const name of CHANNELS) t.match(published(name, run), [{ rsv: 4 }], name);
});

for (const name of CHANNELS) {
  t.test(`${name}: each record has the time of its publication, finer than a millisecond`, async (t) => {
    const now = () => performance.timeOrigin + performance.now();
    const start = now();
    const records = published(name, () => {
      const encoder = new Encoder({ role: 'server' });
      for (let i = 0; i < 20; i++) encoder.text('a');
      new Decoder({ role: 'server' }).write(framesFor('server').text('a'));
    });
    const all = [start, ...records.map(({ time }) => time), now()];
    const sorted = [...all].sort((a, b) => a - b);
    t.same(all, sorted, 'in order');
    t.ok(records.some(({ time }) => !Number.isInteger(time)));
    for (const { id, time } of records) {
      const ofId = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
      t.ok(Math.abs(time - ofId) < 60_000, 'the clock of the ids');
    }
  });
}

t.test('frames count for the sequence number once, with subscribers and without', async (t) => {
  for (const size of [1, 10, 1000]) {
    for (const options of [...OPTIONS, { text: 'buffer', onMessage }]) {
      const encoder = new Encoder({ role: 'client' });
      const decoder = new Decoder({ role: 'server', ...options });
      const send = (count) => {
        for (let i = 0; i < count; i++) encoder.text('x'.repeat(i));
        writeInChunks(decoder, Buffer.concat(encoder.take()), size);
      };
      const sequences = { sent: [], received: [] };
      for (let i = 0; i < 2; i++) {
        send(48);
        const records = published('framemask:frame', () => send(2));
        for (const { direction, sequence } of records) sequences[direction].push(sequence);
      }
      const expected = [49, 50, 99, 100];
      const what = `chunks of ${size} bytes, options {${Object.keys(options)}}`;
      t.same(sequences, { sent: expected, received: expected }, what);
    }
  }
});

t.test('a subscriber that comes while a chunk is decoded sees no half of it, not even its error', async (t) => {
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
});

t.test('a function of the channel sees the payload of each frame before its record', async (t) => {
  const frames = channel('framemask:frame');
  const kSeePayload = Symbol.for('framemask.seePayload');
  const seen = [];
  frames[kSeePayload] = (data, start = 0, end = undefined) =>
    seen.push(Array.isArray(data) ? Buffer.concat(data).toString('hex') : String(data.slice(start, end)));
  t.teardown(() => delete frames[kSeePayload]);
  const bytes = [];
  const send = (role, work) => {
    const encoder = new Encoder({ role });
    work(encoder);
    bytes.push(Buffer.concat(encoder.take()));
  };
  published('framemask:frame', () => {
    send('client', (encoder) => {
      encoder.text('text');
      encoder.binary(Buffer.alloc(20_000, 'o'), { owned: true });
      encoder.ping('ping');
    });
    send('server', (encoder) => {
      encoder.addPrepared(prepare('prepared'));
      encoder.addFramed([Buffer.from('8a0378797a', 'hex')]);
    });
  });
  const sent = ['text', 'o'.repeat(20_000), 'ping', 'prepared', '8a0378797a'];
  t.same(seen.splice(0), sent);
  published('framemask:frame', () => {
    for (const [i, role] of ['server', 'client'].entries()) new Decoder({ role }).write(bytes[i]);
  });
  t.same(seen, [...sent.slice(0, 4), 'xyz']);
});

t.test('prepared messages are published for each connection; without an id it has a UUID', async (t) => {
  const encoders = [new Encoder({ role: 'server' }), new Encoder({ role: 'server' })];
  const message = prepare('to all');
  const run = () => [...encoders, ...encoders].map((encoder) => encoder.addPrepared(message));
  const frames = published('framemask:frame', run);
  t.match(frames, new Array(4).fill({ opcode: 1, length: 6, masked: false, direction: 'sent' }));
  const [a, b, c, d] = frames.map(({ connection }) => connection);
  t.match(a, UUID);
  t.same([c, d], [a, b], 'each connection keeps its id');
  t.not(a, b);
  t.match(published('framemask:message', run), new Array(4).fill({ length: 6, fragments: 1 }));
});

t.test('the id and the key of a connection: both codecs share them, and the id may be empty', async (t) => {
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  for (const [id, expected] of [
    [undefined, UUID],
    ['', '']
  ]) {
    const trace = { id, key };
    const encoder = new Encoder({ role: 'client', trace });
    const decoder = new Decoder({ role: 'server', trace });
    const records = published('framemask:frame', () => {
      encoder.text('a');
      decoder.write(Buffer.concat(encoder.take()));
    });
    const connection = { connection: trace.id, key };
    t.match(records, [connection, connection]);
    t.match(trace.id, expected);
  }
});

for (const [name, bad] of [
  ['a reserved opcode', framesFor('server').frame(3)],
  ['bad text', framesFor('server').text(Buffer.from([0xff]))]
]) {
  t.test(`${name} is published as a frame, before onError is called; not as a message`, async (t) => {
    const order = [];
    const decode = () => new Decoder({ role: 'server', onError: () => order.push('onError') }).write(Buffer.from(bad));
    const listen = ({ error }) => error !== null && order.push('traced');
    channel('framemask:frame').subscribe(listen);
    const [error, ...others] = published('framemask:frame', decode).filter((record) => record.error !== null);
    channel('framemask:frame').unsubscribe(listen);
    const none = { opcode: null, fin: null, rsv: null, masked: null, length: null };
    t.match(error, { ...none, sequence: 1, error: { name: 'FrameError' } });
    t.same(others, []);
    t.same(order, ['traced', 'onError']);
    t.same(published('framemask:message', decode), []);
  });
}

t.test('a subscriber that throws does no harm to a codec', async (t) => {
  const listen = () => {
    throw new Error('from a subscriber');
  };
  const received = [];
  const thrown = await uncaughtMessages(async () => {
    for (const name of CHANNELS) channel(name).subscribe(listen);
    const decoder = new Decoder({ role: 'server', onMessage: (data) => received.push(String(data)) });
    for (const chunk of converse(new Encoder({ role: 'client' }))) decoder.write(chunk);
    for (const name of CHANNELS) channel(name).unsubscribe(listen);
    await new Promise(setImmediate);
  });
  t.same(received, ['fragmented', '\0\0\0', 'é']);
  t.ok(thrown.length > 0 && thrown.every((message) => message === 'from a subscriber'));
});
