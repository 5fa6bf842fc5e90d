'use strict';

// An allocation that fails beside zlib: the error is one of this endpoint, with a code, the message
// is lost with its connection, and other connections get their own bytes.

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const t = require('tap');
const { Connection, Decoder, Encoder, prepare } = require('../../index');
const { MAX_JOBS, releaseIdle } = require('../../lib/deflate/contexts');
const { supportsSyncZlib } = require('../../lib/deflate/zlib-handle');
const { agree, deflateByZlib, json } = require('../support/deflate');
const { failNext } = require('../support/failing-memory');
const { framesFor } = require('../support/frames');
const { until } = require('../support/promises');
const { record, string } = require('../support/recorder');
const { memoryPair } = require('../support/stream-pairs');

const CLIENT = framesFor('client');
const RSV1 = 0x40;
const NO_MEMORY = { name: 'FrameError', code: 'FRAMEMASK_ERR_NO_MEMORY', closeCode: 1011 };
/** Random letters: they stay longer than the chunks of a zlib stream. */
const SECRET = `SECRET${randomBytes(150_000).toString('hex')}`;
const onHandles = { skip: supportsSyncZlib() ? false : 'zlib has no handles that work' };

const encoderOf = (options) => new Encoder({ role: 'server', deflate: agree(options).server });
const decoderOf = (options) => record(Decoder, { role: 'client', deflate: agree(options).client });

/** Asserts that another connection's message is the next that its peer gets. */
function assertOthers() {
  const encoder = encoderOf({ contextTakeover: true });
  const { decoder, events } = decoderOf({ contextTakeover: true });
  encoder.text(json(200));
  for (const bytes of encoder.take()) decoder.write(bytes);
  assert.deepEqual(events, [string(json(200))]);
}

for (const [way, send] of [
  ['prepared', () => encoderOf().addPrepared(prepare(SECRET, { deflate: true }))],
  ['without takeover', () => encoderOf({ threadPoolFrom: Infinity }).text(SECRET)],
  ['with takeover', () => encoderOf({ contextTakeover: true, threadPoolFrom: Infinity }).text(SECRET)]
]) {
  for (const [what, fail] of [
    ['the output', failNext.buffer],
    ['a run', failNext.run],
    ['a context', failNext.deflater]
  ]) {
    t.test(`no memory for ${what} on the event loop, ${way}`, onHandles, (t) => {
      // No context is left, so that one is created.
      while (releaseIdle());
      const restore = fail();
      t.throws(send, NO_MEMORY);
      restore();
      assertOthers();
      t.end();
    });
  }
}

for (const fin of [true, false]) {
  t.test(`a fragment that is lost is the last frame of its Encoder: fin ${fin}`, onHandles, (t) => {
    const encoder = encoderOf();
    encoder.text(json(100), { fin: false });
    failNext.run();
    t.throws(() => encoder.continuation(json(100), { fin }), NO_MEMORY);
    t.equal(encoder.closed, true);
    encoder.text('next');
    t.same(encoder.take(), []);
    t.end();
  });
}

for (const threadPoolFrom of [0, Infinity]) {
  t.test(`a Connection without memory for a message is lost: thread pool from ${threadPoolFrom}`, async (t) => {
    const [stream] = memoryPair();
    const { server: deflate } = agree({ threadPoolFrom });
    const told = [];
    await new Promise((resolve) => {
      const handlers = { onError: ({ code }) => told.push(code), onClose: (code) => resolve(told.push(code)) };
      const connection = new Connection(stream, 'server', handlers, { deflate });
      while (releaseIdle());
      failNext.deflater();
      connection.send(json(100), ({ code }) => told.push(`callback ${code}`));
    });
    t.same(told.sort(), [1006, NO_MEMORY.code, `callback ${NO_MEMORY.code}`]);
  });
}

for (const contextTakeover of [false, true]) {
  for (const [what, fail] of [
    ['the output', failNext.buffer],
    ['a context', failNext.deflater]
  ]) {
    t.test(`no memory for ${what} in the thread pool is an error of flush: takeover ${contextTakeover}`, async (t) => {
      const encoder = encoderOf({ contextTakeover, threadPoolFrom: 1000 });
      while (releaseIdle());
      const restore = fail();
      encoder.text(SECRET, { compress: true });
      await until(() => encoder.closed);
      restore();
      t.throws(() => encoder.take(), NO_MEMORY);
      t.equal(encoder.pending, 0);
      assertOthers();
    });
  }

  t.test(`no memory for the copy of a message that is inflated: takeover ${contextTakeover}`, async (t) => {
    const { decoder, events } = decoderOf({ contextTakeover, threadPoolFrom: 1000 });
    const message = CLIENT.text(deflateByZlib(Buffer.alloc(1_000_000, 'abc')), { rsv: RSV1 });
    const restore = failNext.buffer();
    decoder.write(message);
    restore();
    await until(() => events.length !== 0);
    t.equal(decoder.inflating, false);
    t.equal(decoder.closed, true);
    t.same(events, [['error', 'NO_MEMORY', 1011]]);
  });
}

t.test('an Encoder that is stopped leaves its place in the queue of the thread pool', async (t) => {
  const encoders = Array.from({ length: MAX_JOBS + 2 }, () => encoderOf());
  for (const encoder of encoders) encoder.text(json(10_000));
  const [stopped, last] = encoders.slice(-2);
  stopped.stop();
  t.equal(stopped.pending, 0);
  const { decoder, events } = decoderOf();
  await until(() => {
    for (const bytes of last.take()) decoder.write(bytes);
    return events.length === 1;
  });
  assert.deepEqual(events, [string(json(10_000))]);
  t.same(stopped.take(), []);
});
