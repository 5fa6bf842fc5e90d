'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { randomBytes } = require('node:crypto');
const diagnostics = require('node:diagnostics_channel');
const { promisify } = require('node:util');
const t = require('tap');
const { PerMessageDeflate } = require('ws');
const { Decoder, Encoder, prepare } = require('../../index');
const { NegotiatedDeflate } = require('../../lib/deflate/agreement');
const { MAX_JOBS } = require('../../lib/deflate/contexts');
const { OUTPUT_SIZE, supportsSyncZlib } = require('../../lib/deflate/zlib-handle');
const { agree, deflateByZlib, json, newStreams, useUpTurn } = require('../support/deflate');
const { framesFor } = require('../support/frames');
const { until } = require('../support/promises');
const { createRandom, seed } = require('../support/random');
const { binary, record, string, textBuffer } = require('../support/recorder');
const { withSubscriber } = require('../support/subscribers');
const { uncaught } = require('../support/uncaught');

const RSV1 = 0x40;
const CLIENT = framesFor('client');
/** Whether contexts are taken over. */
const TAKEOVERS = [false, true];

/** A decoder, by default a client's, that records its events. */
const decoderOf = (agreement, options) => record(Decoder, { role: 'client', deflate: agreement, ...options });

/** Everything that a decoder delivers of these frames at once. */
function decode(frames, options) {
  const { decoder, events } = decoderOf(agree().client, options);
  for (const frame of frames) decoder.write(Buffer.from(frame));
  return events;
}

/** A compressed text frame. */
const compressed = (payload, options) => CLIENT.text(payload, { rsv: RSV1, ...options });
const firstByteOf = (encoder) => encoder.take()[0][0];

/** A test with context takeover and without. */
function testTakeovers(title, check) {
  for (const contextTakeover of TAKEOVERS) {
    t.test(`${title}: takeover ${contextTakeover}`, (t) => check(contextTakeover, t));
  }
}

/** Passes on what an encoder sends until a condition holds. */
function transfer(encoder, decoder, condition) {
  return until(() => {
    for (const chunk of encoder.take()) decoder.write(chunk);
    return condition();
  });
}

testTakeovers('a message is compressed from the threshold on', async (contextTakeover, t) => {
  const { server, client } = agree({ contextTakeover });
  const encoder = new Encoder({ role: 'server', deflate: server });
  const { decoder, events, intact } = decoderOf(client);
  const long = json(50);
  const texts = ['a'.repeat(1023), 'a'.repeat(1024), long, 'äöü'.repeat(1000)];
  for (const one of texts) encoder.text(one);
  encoder.text(Buffer.from(long));
  encoder.binary(Buffer.from(long));
  encoder.binary(new Uint8Array(2000).buffer);
  const bytes = Buffer.concat(encoder.take());
  t.ok(bytes.length < long.length * 2 + 1300, `${bytes.length} bytes`);
  decoder.write(bytes);
  assert.deepEqual(events, [...texts.map(string), string(long), binary(long), binary(Buffer.alloc(2000))]);
  t.ok(intact(), 'what is delivered does not change');
});

t.test("compress decides for one message; rsv1 is the caller's", async (t) => {
  const long = 'a'.repeat(2000);
  for (const [title, data, options, expected, settings] of [
    ['long', long, undefined, 0xc1],
    ['long, without the option', long, {}, 0xc1],
    ['compress: false', long, { compress: false }, 0x81],
    ['compress: true', 'a'.repeat(20), { compress: true }, 0xc1],
    ['it would grow', 'aa', { compress: true }, 0x81],
    ['empty', '', { compress: true }, 0x81],
    ['empty, whatever the threshold', '', undefined, 0x81, { threshold: 0 }],
    ['rsv1', long, { rsv1: true }, 0xc1]
  ]) {
    const encoder = new Encoder({ role: 'server', deflate: agree(settings).server });
    encoder.text(data, options);
    t.equal(firstByteOf(encoder), expected, title);
  }
});

t.test('the first fragment decides whether a message is compressed in fragments', async (t) => {
  const long = json(100);
  const encoder = new Encoder({ role: 'server', deflate: agree().server });
  for (const [title, first, options, expected] of [
    ['long', long, {}, 0x41],
    ['short', 'short', {}, 0x01],
    ['compress: true', 'short', { compress: true }, 0x41],
    ['empty, compress: true', '', { compress: true }, 0x41],
    ['compress: false', long, { compress: false }, 0x01],
    ['rsv1', long, { rsv1: true }, 0x41],
    ['a picture, by its sample', randomBytes(20_000), {}, 0x02],
    ['short, after others', 'short', {}, 0x01]
  ]) {
    if (typeof first === 'string') encoder.text(first, { ...options, fin: false });
    else encoder.binary(first, { ...options, fin: false });
    t.equal(firstByteOf(encoder), expected, title);
    encoder.continuation('b'.repeat(2000), { fin: false });
    const sent = Buffer.concat(encoder.take());
    t.equal(sent[0], 0);
    t.equal(sent.length < 100, expected === 0x41 && options.rsv1 !== true, `${title}: the second one likewise`);
    encoder.continuation('');
    encoder.take();
  }
  encoder.text(long, { fin: false });
  encoder.continuation(long);
  encoder.addFramed([CLIENT.text('framed', { fin: false })]);
  encoder.take();
  encoder.continuation('plain');
  t.equal(String(encoder.take()[0].subarray(2)), 'plain', 'after a first fragment that was framed already');
});

t.test('only continuation() goes on with a message that is compressed', async (t) => {
  const refused = { code: 'ERR_INVALID_STATE', message: /must be continued by continuation/ };
  const { server, client } = agree({ threadPoolFrom: 2000 });
  const { decoder, events } = decoderOf(client, { onPing: undefined });
  const encoder = new Encoder({ role: 'server', deflate: server });
  const expected = [];
  const [short, long] = ['a'.repeat(1500), json(100)];
  for (const [first, second] of [
    [short, 'b'],
    [long, 'b'], // in the thread pool
    [short, long]
  ]) {
    encoder.text(first, { fin: false });
    t.throws(() => encoder.addFramed([CLIENT.continuation('no', { fin: false })]), refused);
    encoder.addFramed([CLIENT.ping('between')]);
    encoder.continuation(second, { fin: false });
    t.throws(() => encoder.addFramed([CLIENT.continuation('no')]), refused);
    encoder.continuation('.');
    // These wait for the thread pool, if it is at work.
    encoder.text(short, { fin: false });
    t.throws(() => encoder.addFramed([CLIENT.continuation('no')]), refused);
    encoder.continuation('.');
    encoder.text('plain', { fin: false, compress: false });
    encoder.continuation(', plain', { fin: false });
    encoder.addFramed([CLIENT.continuation(', framed')]);
    expected.push(`${first}${second}.`, `${short}.`, 'plain, plain, framed');
    await transfer(encoder, decoder, () => events.length === expected.length);
  }
  assert.deepEqual(events, expected.map(string));
  encoder.text(long);
  t.doesNotThrow(() => encoder.addFramed([CLIENT.continuation('of no message')]), 'as it is, without compression, too');
});

testTakeovers(`random fragments, with Ping frames between them (seed ${seed})`, async (contextTakeover) => {
  const random = createRandom(seed);
  const { server, client } = agree({ contextTakeover, threadPoolFrom: 3000 });
  const { decoder, events } = decoderOf(client, { onPing: undefined });
  const sender = new Encoder({ role: 'server', deflate: server });
  const expected = [];
  for (let i = 0; i < 50; i++) {
    const parts = Array.from({ length: 1 + random(4) }, () => json(random(3) === 0 ? random(300) : random(5)));
    for (const [j, part] of parts.entries()) {
      const options = { fin: j === parts.length - 1, compress: random(2) === 0 ? true : undefined };
      if (j === 0) sender.text(part, options);
      else sender.continuation(random(2) === 0 ? part : Buffer.from(part), options);
      if (random(3) === 0) sender.ping('between');
    }
    expected.push(string(parts.join('')));
  }
  await transfer(sender, decoder, () => events.length === expected.length);
  assert.deepEqual(events, expected);
});

testTakeovers('strings may be cut within a surrogate pair, in the thread pool, too', async (contextTakeover) => {
  const { server, client } = agree({ contextTakeover, threadPoolFrom: 3000 });
  for (const length of [10, 2000, 4000]) {
    for (const next of ['\ude00 follows', Buffer.from('bytes follow'), '']) {
      const { decoder, events } = decoderOf(client, { onPing: undefined });
      const encoder = new Encoder({ role: 'server', deflate: server });
      const first = `${'a'.repeat(length)}\ud83d`;
      encoder.text(first, { fin: false });
      encoder.ping('between');
      encoder.continuation(next, { fin: false });
      encoder.continuation('\ud83d', { fin: false });
      encoder.continuation('\ude80');
      const begins = typeof next === 'string' ? first + next : `${first}${next}`;
      const expected = Buffer.from(`${begins}\u{1f680}`).toString();
      await transfer(encoder, decoder, () => events.length === 1);
      assert.deepEqual(events, [string(expected)], `${length}, ${next}`);
    }
  }
});

for (const [where, threadPoolFrom, options] of [
  ['the thread pool', 0, {}],
  ['the event loop', Infinity, {}],
  // Deno excludes onPart with deflate.
  ['less than partsFrom', Infinity, supportsSyncZlib() ? { onPart() {}, partsFrom: 2 ** 20 } : {}]
]) {
  t.test(`fragmentLengths are inflated lengths: ${where}`, async (t) => {
    const { server, client } = agree({ threadPoolFrom });
    const encoder = new Encoder({ role: 'server', deflate: server });
    let seen = null;
    const onMessage = () => {
      seen = decoder.fragmentLengths;
    };
    const { decoder } = decoderOf(client, { fragmentLengths: true, onMessage, ...options });
    encoder.binary(Buffer.from(json(100)), { fin: false });
    t.ok(threadPoolFrom === 0 || encoder.pending < 1000, 'compressed');
    encoder.continuation('', { fin: false });
    encoder.continuation('abc');
    await transfer(encoder, decoder, () => seen !== null);
    t.same(seen, [json(100).length, 0, 3]);
  });
}

t.test('a message that does not shrink is sent as it is', async (t) => {
  const noise = randomBytes(100_000);
  for (const contextTakeover of TAKEOVERS) {
    const encoder = new Encoder({ role: 'server', deflate: agree({ contextTakeover }).server });
    // A context that has the message in its window must send it compressed.
    const inWindow = contextTakeover ? 0xc2 : 0x82;
    for (const [size, options, expected] of [
      [2000, {}, inWindow],
      [16 * 1024, {}, 0x82],
      [100_000, {}, 0x82],
      [20_000, { compress: true }, inWindow]
    ]) {
      encoder.binary(noise.subarray(0, size), options);
      t.equal(firstByteOf(encoder), expected, `${size} bytes, takeover ${contextTakeover}`);
    }
  }
});

for (const role of ['server', 'client']) {
  testTakeovers(`nor is it longer when it comes from the thread pool, ${role}`, async (contextTakeover, t) => {
    // Level 0 compresses nothing.
    const agreement = agree({ contextTakeover, level: 0 });
    const encoder = new Encoder({ role, deflate: agreement[role] });
    const peer = role === 'server' ? 'client' : 'server';
    const seen = [];
    const see = ({ opcode, fin, rsv, length, direction }) =>
      direction === 'received' && seen.push([(fin ? 0x80 : 0) | (rsv << 4) | opcode, length]);
    diagnostics.subscribe('framemask:frame', see);
    t.teardown(() => diagnostics.unsubscribe('framemask:frame', see));
    const { decoder, events } = decoderOf(agreement[peer], { role: peer, maxPayload: 100_100 });
    const data = Buffer.from(new Uint8Array(randomBytes(100_000)));
    const expected = [binary(data), string('text'.repeat(10_000)), binary(Buffer.concat([data, data.subarray(0, 50)]))];
    encoder.binary(data, { compress: true });
    // The thread pool has a copy.
    structuredClone(data, { transfer: [data.buffer] });
    encoder.text('text'.repeat(10_000), { compress: true });
    encoder.binary(Buffer.from(expected[0][1], 'latin1'), { fin: false, compress: true });
    encoder.continuation(Buffer.from(expected[0][1].slice(0, 50), 'latin1'));
    await transfer(encoder, decoder, () => events.length === 3);
    assert.deepEqual(events, expected);
    const firstBytes = seen.map(([firstByte]) => firstByte);
    t.same(firstBytes, contextTakeover ? [0xc2, 0xc1, 0x42, 0x80] : [0x82, 0x81, 0x42, 0x80]);
    if (!contextTakeover) t.equal(seen[0][1], 100_000);
  });
}

for (const role of ['server', 'client']) {
  t.test(`the data of a ${role}'s caller does not change, and is copied unless a server's is long`, async () => {
    const peer = role === 'server' ? 'client' : 'server';
    const agreement = agree();
    const encoder = new Encoder({ role, deflate: agreement[role] });
    const { decoder, events, intact } = decoderOf(agreement[peer], { role: peer });
    const expected = [];
    // The first two do not shrink.
    const all = [randomBytes(2000), randomBytes(20_000)];
    for (const size of [2000, 40_000, 100_000, 3000]) all.push(Buffer.from('abc '.repeat(size / 4)));
    for (const data of all) {
      const before = Buffer.from(data);
      encoder.binary(data);
      assert.ok(data.equals(before));
      if (role === 'client' || data.length < 16 * 1024) data.fill(0);
      expected.push(binary(before));
    }
    encoder.close(1000);
    await transfer(encoder, decoder, () => decoder.closed);
    assert.deepEqual(events, [...expected, ['close', 1000, '']]);
    assert.ok(intact(), 'what is delivered does not change');
  });
}

t.test('a message of a client that waits for room in the thread pool is a copy', async () => {
  const { server, client } = agree();
  const data = Buffer.from('abc '.repeat(10_000));
  const expected = binary(Buffer.from(data));
  const encoders = Array.from({ length: 2 * MAX_JOBS }, () => new Encoder({ role: 'client', deflate: client }));
  for (const encoder of encoders) encoder.binary(data);
  data.fill(0);
  for (const encoder of encoders) {
    const { decoder, events } = decoderOf(server, { role: 'server' });
    await transfer(encoder, decoder, () => events.length === 1);
    assert.deepEqual(events, [expected]);
  }
});

t.test('a message that waits is compressed from the threshold on, too', async (t) => {
  const { server } = agree({ threadPoolFrom: 2000 });
  const encoder = new Encoder({ role: 'server', deflate: server });
  for (const text of [json(100), 'a'.repeat(1023), 'a'.repeat(1024)]) encoder.text(text);
  const found = [];
  const decoder = new Decoder({ role: 'client', rsv1: true, onFrame: (firstByte) => found.push(firstByte) });
  await transfer(encoder, decoder, () => found.length === 3);
  t.same(found, [0xc1, 0x81, 0xc1]);
});

t.test('a message may begin after the last one that waits, though the thread pool has a fragment', async () => {
  const { server, client } = agree({ threadPoolFrom: 2000 });
  const { decoder, events } = decoderOf(client);
  const long = json(100);
  let next = 'next';
  const onDeflated = () => {
    if (next !== '') encoder.text(next);
    next = '';
  };
  const encoder = new Encoder({ role: 'server', deflate: server, onDeflated });
  encoder.text(long);
  encoder.text(long, { fin: false });
  encoder.continuation('.');
  await transfer(encoder, decoder, () => events.length === 3);
  assert.deepEqual(events, [string(long), string(`${long}.`), string('next')]);
});

t.test('6.2: inflates fragments together, with Ping frames between them', async () => {
  const data = deflateByZlib(json(100));
  const cuts = [0, 1, 40, 40, data.length];
  const frames = [];
  for (let i = 1; i < cuts.length; i++) {
    const payload = data.subarray(cuts[i - 1], cuts[i]);
    const fin = i === cuts.length - 1;
    frames.push(i === 1 ? compressed(payload, { fin }) : CLIENT.continuation(payload, { fin }), CLIENT.ping(`${i}`));
  }
  const expected = [['ping', '1'], ['ping', '2'], ['ping', '3'], string(json(100)), ['ping', '4']];
  const whole = Buffer.concat(frames);
  assert.deepEqual(decode([whole]), expected);
  assert.deepEqual(decode([...whole].map((byte) => [byte])), expected, 'byte by byte');
});

const BAD_TEXT = Buffer.from([0x61, 0xff, 0x62]);
const bad = deflateByZlib(BAD_TEXT);
const abc = deflateByZlib('abc');
const emptyAs = (...bytes) => compressed(Buffer.from(bytes));
const BITS = ['error', 'RESERVED_BITS', 1002];
const UTF8 = ['error', 'UTF8', 1007];

for (const [title, frames, expected, options] of [
  ['6.1: RSV1 on a continuation', [compressed(abc, { fin: false }), CLIENT.continuation('', { rsv: RSV1 })], BITS],
  ['6.1: RSV1 on a control frame', [CLIENT.ping('', { rsv: RSV1 })], BITS],
  ['RSV1 without an agreement', [compressed(abc)], BITS, { deflate: null }],
  ['not DEFLATE', [emptyAs(7)], ['error', 'DEFLATE', 1007]],
  ['text that is not UTF-8', [compressed(bad)], UTF8],
  ['text that is not UTF-8, as a Buffer', [compressed(bad)], UTF8, { text: 'buffer' }],
  ['skipUTF8Validation', [compressed(bad)], textBuffer(BAD_TEXT), { text: 'buffer', skipUTF8Validation: true }],
  ['the same bytes as binary data', [CLIENT.binary(bad, { rsv: RSV1 })], binary(BAD_TEXT)],
  ['text as a Buffer', [compressed(deflateByZlib('ä'))], textBuffer(Buffer.from('ä')), { text: 'buffer' }],
  ['an empty stored block', [emptyAs(0)], string('')],
  ['an empty fixed block', [emptyAs(2, 0)], string('')],
  ['a final block that ends in the tail', [emptyAs(1)], string('')],
  ['nothing', [emptyAs()], string('')],
  ['nothing, as binary data', [CLIENT.binary('', { rsv: RSV1 })], binary('')]
]) {
  t.test(`one compressed message: ${title}`, async () => {
    assert.deepEqual(decode(frames, options), [expected]);
  });
}

testTakeovers('nothing as a compressed message leaves the context to the message after it', async (contextTakeover) => {
  const encoder = new Encoder({ role: 'server', deflate: agree({ contextTakeover }).server });
  encoder.text(json(100));
  const [first] = encoder.take().map((bytes) => Buffer.from(bytes));
  encoder.text(json(100));
  const frames = [first, compressed(''), ...encoder.take()];
  for (const threadPoolFrom of [0, Infinity]) {
    const { decoder, events } = decoderOf(agree({ contextTakeover, threadPoolFrom }).client);
    for (const bytes of frames) decoder.write(Buffer.from(bytes));
    await until(() => events.length === 3);
    assert.deepEqual(events, [string(json(100)), string(''), string(json(100))], `thread pool from ${threadPoolFrom}`);
  }
});

t.test('7.2.2: without takeover, a message that refers to the one before is refused', async () => {
  for (const fin of [true, false]) {
    const encoder = new Encoder({ role: 'server', deflate: agree({ contextTakeover: true }).server });
    for (let i = 0; i < 2; i++) {
      encoder.text(json(100), { fin });
      if (!fin) encoder.continuation('');
    }
    const bytes = Buffer.concat(encoder.take());
    for (const threadPoolFrom of [0, Infinity]) {
      const { decoder, events } = decoderOf(agree({ threadPoolFrom }).client);
      decoder.write(Buffer.from(bytes));
      await until(() => decoder.closed);
      assert.deepEqual(events, [string(json(100)), ['error', 'DEFLATE', 1007]], `thread pool from ${threadPoolFrom}`);
    }
  }
});

t.test('maxPayload counts bytes while they are inflated, over all fragments', async () => {
  const tooBig = [['error', 'MESSAGE_TOO_BIG', 1009]];
  for (const size of [1001, 10_000_000]) {
    const data = deflateByZlib(Buffer.alloc(size, 'a'));
    const half = data.length >> 1;
    for (const frames of [
      [compressed(data)],
      [CLIENT.binary(data.subarray(0, half), { rsv: RSV1, fin: false }), CLIENT.continuation(data.subarray(half))]
    ]) {
      assert.deepEqual(decode(frames, { maxPayload: 1000 }), tooBig, `${size}`);
      for (const contextTakeover of TAKEOVERS) {
        const { client } = agree({ contextTakeover, threadPoolFrom: 0 });
        const { decoder, events } = decoderOf(client, { maxPayload: size - 1 });
        for (const frame of frames) decoder.write(Buffer.from(frame));
        await until(() => decoder.closed);
        assert.deepEqual(events, tooBig, `${size} in the thread pool, takeover ${contextTakeover}`);
      }
    }
  }
  assert.deepEqual(decode([compressed(deflateByZlib('a'.repeat(1000)))], { maxPayload: 1000 })[0][0], 'string');
});

testTakeovers('what follows a message in the thread pool waits', async (contextTakeover, t) => {
  const { decoder, events } = decoderOf(agree({ contextTakeover }).client, {
    onInflated: () => events.push('inflated')
  });
  const big = 'abc '.repeat(100_000);
  const bigFrame = compressed(deflateByZlib(big));
  const frames = [CLIENT.text('one'), bigFrame, CLIENT.ping('two'), bigFrame, CLIENT.text('three')];
  t.equal(decoder.write(Buffer.concat(frames)), false);
  t.equal(decoder.paused, false, 'it is not paused');
  t.equal(decoder.inflating, true);
  assert.deepEqual(events, [string('one')]);
  t.equal(decoder.write(CLIENT.text('four')), false);
  await until(() => events.length === 8);
  const first = [string('one'), string(big), ['ping', 'two'], 'inflated'];
  assert.deepEqual(events, [...first, string(big), string('three'), string('four'), 'inflated']);
  t.equal(decoder.write(CLIENT.text('five')), true);
  t.equal(decoder.inflating, false);
});

t.test('pause, resume and stop while a message is in the thread pool', async (t) => {
  const big = CLIENT.binary(deflateByZlib(Buffer.alloc(1_000_000)), { rsv: RSV1 });
  const { client } = agree({ threadPoolFrom: 1000 });
  const { decoder, events } = decoderOf(client, { onInflated: () => events.push('inflated') });
  decoder.write(Buffer.concat([big, CLIENT.text('next')]));
  decoder.pause();
  t.equal(decoder.paused, true);
  t.equal(decoder.inflating, true);
  decoder.pause();
  await until(() => events.length > 0);
  assert.deepEqual(events, ['inflated'], 'the pause holds');
  decoder.resume();
  t.equal(events.length, 3);

  decoder.write(Buffer.from(big));
  decoder.pause();
  decoder.resume();
  t.equal(decoder.paused, false);
  decoder.resume();
  t.equal(events.length, 3, 'resume delivers nothing early');
  await until(() => events.length === 5);

  decoder.write(Buffer.from(big));
  decoder.stop();
  // The thread pool takes its work in order.
  const other = decoderOf(client);
  other.decoder.write(Buffer.from(big));
  await until(() => other.events.length === 1);
  t.equal(events.length, 5, 'nothing after stop');
});

testTakeovers('what follows a small message that waits for another turn waits, too', async (contextTakeover, t) => {
  const { decoder, events, intact } = decoderOf(agree({ contextTakeover }).client, {
    borrowed: true,
    onInflated: () => events.push('inflated')
  });
  const frames = [CLIENT.text('one'), compressed(deflateByZlib('two')), CLIENT.ping('three')];
  const four = deflateByZlib('four');
  const cut = [compressed(four.subarray(0, 1), { fin: false }), CLIENT.continuation(four.subarray(1))];
  const chunk = Buffer.concat([...frames, ...cut]);
  useUpTurn();
  t.equal(decoder.write(chunk), false);
  chunk.fill(0xff);
  t.equal(decoder.paused, false, 'it is not paused');
  t.equal(decoder.inflating, true);
  assert.deepEqual(events, [string('one')]);
  t.equal(decoder.write(CLIENT.text('five')), false);
  await until(() => !decoder.inflating);
  const rest = [string('two'), ['ping', 'three'], string('four'), string('five'), 'inflated'];
  assert.deepEqual(events, [string('one'), ...rest]);
  t.equal(decoder.write(CLIENT.text('six')), true);
  t.ok(intact());
});

t.test('pause, resume, stop, a transfer and an error while a small message waits for another turn', async (t) => {
  const small = compressed(deflateByZlib('small'));
  const waiting = (options) => {
    const opened = decoderOf(agree().client, options);
    const chunk = new Uint8Array(Buffer.concat([small, CLIENT.text('next')]));
    useUpTurn();
    t.equal(opened.decoder.write(chunk), false);
    return { ...opened, chunk };
  };
  const { decoder, events } = waiting({ onInflated: () => events.push('inflated') });
  decoder.pause();
  await until(() => events.length > 0);
  assert.deepEqual(events, ['inflated'], 'the pause holds');
  decoder.resume();
  assert.deepEqual(events.splice(0), ['inflated', string('small'), string('next')]);
  useUpTurn();
  decoder.write(Buffer.from(small));
  decoder.pause();
  decoder.resume();
  assert.deepEqual(events, [], 'resume delivers nothing early');
  await until(() => events.length === 2);

  const stopped = waiting({ onInflated: () => stopped.events.push('inflated') });
  const transferred = waiting();
  const thrown = new Error('thrown');
  const throwing = waiting({
    after([, text]) {
      if (text === 'small') throw thrown;
    }
  });
  const last = waiting();
  stopped.decoder.stop();
  structuredClone(transferred.chunk, { transfer: [transferred.chunk.buffer] });
  const errors = await uncaught(() => until(() => last.events.length === 2));
  assert.deepEqual(errors, [thrown]);
  assert.deepEqual(stopped.events, []);
  assert.deepEqual(transferred.events, [['error', 'DETACHED', 1011]]);
  throwing.decoder.resume();
  for (const { events } of [throwing, last]) assert.deepEqual(events, [string('small'), string('next')]);
});

t.test('a message that waits for another turn has one record, and the store of its write', async () => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  const { decoder } = decoderOf(agree().client, { onMessage: (text) => seen.push(`${text} ${storage.getStore()}`) });
  const see = ({ length }) => seen.push(`record of ${length}`);
  useUpTurn();
  diagnostics.subscribe('framemask:message', see);
  const payload = deflateByZlib('text');
  storage.run('store', () => decoder.write(Buffer.from(compressed(payload))));
  await until(() => seen.length > 1);
  diagnostics.unsubscribe('framemask:message', see);
  assert.deepEqual(seen, [`record of ${payload.length}`, 'text store']);
});

t.test('a decoder may be paused before a compressed message is inflated', async () => {
  const chunk = () => Buffer.concat([CLIENT.text('first'), compressed(deflateByZlib('second'))]);
  const bySubscriber = decoderOf(agree().client);
  const check = ({ decoder, events }) => {
    decoder.write(chunk());
    assert.deepEqual(events, []);
    for (let i = 0; i < 3; i++) decoder.resume();
    assert.deepEqual(events, [string('first'), string('second')]);
  };
  const pause = () => bySubscriber.decoder.pause();
  withSubscriber('framemask:message', pause, () => check(bySubscriber));

  const after = ([, text]) => {
    throw new Error(text);
  };
  const { decoder, events } = decoderOf(agree().client, { after });
  assert.throws(() => decoder.write(chunk()), { message: 'first' });
  assert.throws(() => decoder.resume(), { message: 'second' });
  decoder.resume();
  assert.deepEqual(events, [string('first'), string('second')], 'or its handler may throw');
});

testTakeovers('the Encoder keeps the order, but for Ping and Pong', async (contextTakeover, t) => {
  const { server, client } = agree({ contextTakeover });
  const { decoder, events } = decoderOf(client);
  let deflated = 0;
  const encoder = new Encoder({
    role: 'server',
    deflate: server,
    onDeflated() {
      deflated++;
      assert.equal(this, encoder);
    }
  });
  const big = json(10_000);
  const data = Buffer.from('abcd');
  encoder.text('one');
  encoder.text(big);
  t.ok(encoder.pending > big.length);
  encoder.text('two', { fin: false });
  assert.throws(() => encoder.text('no'), { code: 'ERR_INVALID_STATE' });
  assert.throws(() => encoder.addPrepared(prepare('no')), { code: 'ERR_INVALID_STATE' });
  encoder.continuation(data, { fin: false });
  encoder.continuation('three');
  assert.throws(() => encoder.continuation('no'), { code: 'ERR_INVALID_STATE' });
  assert.throws(() => encoder.binary(1), TypeError);
  assert.throws(() => encoder.text({}), TypeError);
  encoder.ping('early');
  encoder.addPrepared(prepare('prepared'));
  encoder.addFramed([CLIENT.text('framed')]);
  encoder.binary(data);
  data.fill(0);
  encoder.text(json(100));
  encoder.text(Buffer.from(big));
  encoder.text('last', { compress: false });
  encoder.text(deflateByZlib('by hand'), { rsv1: true });
  encoder.close(1000);
  t.equal(encoder.closed, true);
  encoder.text('no');
  await until(() => deflated === 2);
  const { pending } = encoder;
  const sent = Buffer.concat(encoder.take());
  t.equal(pending, sent.length);
  decoder.write(sent);
  await until(() => decoder.closed);
  const texts = ['twoabcdthree', 'prepared', 'framed'].map(string);
  const rest = [json(100), big, 'last', 'by hand'].map(string);
  const first = [string('one'), ['ping', 'early'], string(big)];
  assert.deepEqual(events, [...first, ...texts, binary('abcd'), ...rest, ['close', 1000, '']]);
});

t.test('a broadcast of a server is held once while it waits for the thread pool', async (t) => {
  const { server, client } = agree();
  const data = Buffer.alloc(256 * 1024, 'abc');
  for (const content of [data, data.toString()]) {
    const room = Array.from({ length: 50 }, () => new Encoder({ role: 'server', deflate: server }));
    const before = process.memoryUsage().arrayBuffers;
    for (const encoder of room) {
      encoder.text(content);
      encoder.text(content);
    }
    const rooms = MAX_JOBS * OUTPUT_SIZE;
    const held = (process.memoryUsage().arrayBuffers - before - rooms) / data.length;
    t.ok(held < 12, `${held.toFixed(1)} times the ${typeof content}`);
    const { decoder, events } = decoderOf(client);
    await transfer(room.at(-1), decoder, () => events.length === 2);
    t.ok(events.every(([, given]) => given === data.toString()));
  }
});

const WAITS = {
  'for the thread pool': (encoder, bytes) => encoder.binary(bytes),
  'in the queue': (encoder, bytes) => encoder.text(json(10_000)) ?? encoder.binary(bytes),
  'a DataView': (encoder, { buffer }) => encoder.text(json(10_000)) ?? encoder.binary(new DataView(buffer, 1)),
  'without compression': (encoder, bytes) => encoder.text(json(10_000)) ?? encoder.binary(bytes, { compress: false }),
  'a fragment'(encoder, bytes) {
    encoder.text(json(10_000), { fin: false });
    encoder.continuation(bytes);
  },
  prepared(encoder, bytes) {
    const message = prepare(bytes);
    const other = new Encoder({ role: 'server' });
    other.addPrepared(message);
    encoder.text(json(10_000));
    encoder.addPrepared(message);
    return other.take()[0].buffer;
  }
};

testTakeovers('what is transferred, or shrinks, while it waits is an error of flush', async (contextTakeover, t) => {
  const { server } = agree({ contextTakeover });
  const transfer = (memory) => structuredClone(memory, { transfer: [memory] });
  const shrink = (memory) => memory.resize(30_000);
  for (const [name, add] of Object.entries(WAITS)) {
    for (const remove of name === 'prepared' ? [transfer] : [transfer, shrink]) {
      const others = Array.from({ length: MAX_JOBS }, () => new Encoder({ role: 'server', deflate: server }));
      for (const other of others) other.binary(Buffer.alloc(40_000));
      let told = 0;
      const encoder = new Encoder({ role: 'server', deflate: server, onDeflated: () => told++ });
      const memory = new ArrayBuffer(40_000, { maxByteLength: 40_000 });
      encoder.text('before');
      const waiting = add(encoder, new Uint8Array(memory, 1, 39_000)) ?? memory;
      encoder.text('after');
      remove(waiting);
      await until(() => told === 1);
      t.equal(encoder.closed, true, name);
      const error = { code: 'ERR_INVALID_STATE', message: /transferred, or resized/ };
      t.throws(() => encoder.flush({ write: () => assert.fail('sent') }), error, name);
      encoder.text('later');
      t.same(encoder.take(), [], name);
      t.equal(encoder.pending, 0, name);
      await until(() => others.every((other) => !other._isDeflating));
    }
  }
});

testTakeovers('what refers to a message that flush has lost is not sent', async (contextTakeover, t) => {
  const { server, client } = agree({ contextTakeover });
  const encoder = new Encoder({ role: 'server', deflate: server });
  const lose = () => {
    const bytes = new Uint8Array(20_000);
    encoder.binary(bytes, { compress: false });
    structuredClone(bytes, { transfer: [bytes.buffer] });
    t.throws(() => encoder.take(), { code: 'ERR_INVALID_STATE' });
  };
  encoder.text(json(100));
  lose();
  encoder.text(json(100));
  t.equal(encoder.closed, contextTakeover);
  const { decoder, events } = decoderOf(client);
  for (const bytes of encoder.take()) decoder.write(bytes);
  assert.deepEqual(events, contextTakeover ? [] : [string(json(100))]);
});

t.test('nor if it was in the thread pool then', async (t) => {
  const { server } = agree({ contextTakeover: true });
  const encoder = new Encoder({ role: 'server', deflate: server });
  const bytes = new Uint8Array(20_000);
  encoder.binary(bytes, { compress: false });
  encoder.text(json(10_000));
  structuredClone(bytes, { transfer: [bytes.buffer] });
  t.throws(() => encoder.take(), { code: 'ERR_INVALID_STATE' });
  await until(() => encoder.closed);
  t.same(encoder.take(), []);
});

testTakeovers('a message that the thread pool can not compress is an error of flush', async (contextTakeover, t) => {
  const settings = { contextTakeover, level: 6, memLevel: 99, threshold: 0, threadPoolFrom: 1000 };
  const deflate = new NegotiatedDeflate({ server_no_context_takeover: !contextTakeover }, 15, settings);
  let told = 0;
  const encoder = new Encoder({ role: 'server', deflate, onDeflated: () => told++ });
  encoder.text(json(100));
  encoder.text('waits');
  await until(() => told === 1);
  t.equal(encoder.closed, true);
  const writable = { write: () => assert.fail('sent') };
  t.throws(() => encoder.flush(writable), { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
  encoder.text('after');
  t.equal(encoder.pending, 0);
  t.equal(encoder.flush(writable), true);
});

testTakeovers('a view that grows with its memory while it waits is sent as long as it was', async (contextTakeover) => {
  const { server, client } = agree({ contextTakeover });
  const { decoder, events } = decoderOf(client);
  const memories = [40_000, 20_000].map((size) => new ArrayBuffer(size, { maxByteLength: 80_000 }));
  const all = Array.from({ length: 11 }, () => new Encoder({ role: 'server', deflate: server }));
  const encoder = all.pop();
  for (const other of all) other.binary(Buffer.alloc(40_000));
  for (const memory of memories) encoder.binary(new Uint8Array(memory));
  for (const memory of memories) memory.resize(80_000);
  await transfer(encoder, decoder, () => events.length === 2);
  assert.deepEqual(
    events.map(([, data]) => data.length),
    [40_000, 20_000]
  );
});

t.test('with the option writable, messages from the thread pool are sent by themselves', async () => {
  const { server, client } = agree();
  const { decoder, events } = decoderOf(client);
  const writable = { writable: true, writableLength: 0, write: (chunk) => decoder.write(Buffer.from(chunk)) };
  const encoder = new Encoder({ role: 'server', deflate: server, writable });
  encoder.text(json(10_000));
  encoder.text('next');
  await until(() => events.length === 2);
  assert.deepEqual(events, [string(json(10_000)), string('next')]);
});

t.test('a prepared message is compressed once for all connections that compress alike', async (t) => {
  const long = json(50);
  const message = prepare(long, { deflate: true });
  const sent = (options, prepared = message) => {
    const { server = null, client = null } = options === null ? {} : agree(options);
    const encoder = new Encoder({ role: 'server', deflate: server });
    encoder.addPrepared(prepared);
    return { bytes: encoder.take()[0], ...decoderOf(client) };
  };
  for (const [title, options, expected, prepared] of [
    ['without compression', null, 0x81],
    ['a context that is taken over would not know it', { contextTakeover: true }, 0x81],
    ['below the threshold', { threshold: long.length + 1 }, 0x81],
    ['compressed', {}, 0xc1],
    ['another window', { serverWindowBits: 9 }, 0xc1],
    ['not unless it is asked for', {}, 0x81, prepare(long)]
  ]) {
    const { bytes, decoder, events } = sent(options, prepared);
    t.equal(bytes[0], expected, title);
    decoder.write(Buffer.from(bytes));
    assert.deepEqual(events, [string(long)], title);
  }
  t.equal(sent({}).bytes, sent({}).bytes, 'once');
  t.equal(message.frame[0], 0x81);
  const short = sent({ threshold: 0 }, prepare('ab', { deflate: true }));
  t.same(short.bytes, Buffer.from('\x81\x02ab', 'latin1'), 'one that does not shrink is sent as it is');
  const byCaller = prepare(deflateByZlib(long), { rsv1: true, deflate: true, binary: false });
  t.equal(sent({}, byCaller).bytes[0], 0xc1, 'rsv1: the caller has compressed it');

  const gone = prepare(long, { deflate: true });
  const encoder = new Encoder({ role: 'server' });
  encoder.addPrepared(gone);
  const [{ buffer }] = encoder.take();
  structuredClone(buffer, { transfer: [buffer] });
  t.throws(() => sent({}, gone), { code: 'ERR_INVALID_STATE', message: /transferred/ });
});

/** ws as a client with these parameters; `compress` and `decompress` return promises. */
function wsClient(header) {
  const end = new PerMessageDeflate({ threshold: 0 });
  const parameters = new URLSearchParams(header.split('; ').slice(1).join('&'));
  end.params = Object.fromEntries([...parameters].map(([name, value]) => [name, value === '' || Number(value)]));
  const run = (method, bytes) => promisify(end[method].bind(end))(Buffer.from(bytes), true);
  return { run, cleanup: () => end.cleanup() };
}

t.test(`ws as the peer: both ways, all windows, both takeovers (seed ${seed})`, async () => {
  const random = createRandom(seed);
  for (let round = 0; round < 24; round++) {
    const windows = { serverWindowBits: 9 + random(7), clientWindowBits: 9 + random(7) };
    const { server } = agree({ contextTakeover: round % 2 === 0, threshold: 0, ...windows });
    const peer = wsClient(server.header);
    const { decoder, events } = decoderOf(server, { role: 'server' });
    const encoder = new Encoder({ role: 'server', deflate: server });
    for (let i = 0; i < 8; i++) {
      const message = json(1 + random(random(4) === 0 ? 3000 : 100));
      decoder.write(framesFor('server').text(await peer.run('compress', message), { rsv: RSV1 }));
      await until(() => events.length > 0);
      assert.deepEqual(events.splice(0), [string(message)]);

      encoder.text(message);
      await until(() => encoder.pending > 0 && !encoder._isDeflating);
      const sent = Buffer.concat(encoder.take());
      const payload = sent.subarray({ 126: 4, 127: 10 }[sent[1]] ?? 2);
      const isCompressed = (sent[0] & RSV1) !== 0;
      assert.equal(String(isCompressed ? await peer.run('decompress', payload) : payload), message);
    }
    peer.cleanup();
    decoder.stop();
    encoder.close();
  }
});

t.test('the context of an Encoder is released after its Close frame or by stop, and not before', async (t) => {
  const streams = newStreams(t, 'createDeflateRaw');
  for (const threadPoolFrom of [0, Infinity]) {
    const { server } = agree({ contextTakeover: true, threadPoolFrom });
    const isReleased = async (end, ...args) => {
      const encoder = new Encoder({ role: 'server', deflate: server });
      encoder.text(json(100));
      encoder[end](...args);
      await until(() => !encoder._isDeflating);
      return streams.at(-1).destroyed;
    };
    const name = `thread pool from ${threadPoolFrom}`;
    t.equal(await isReleased('ping'), false, name);
    t.equal(await isReleased('close'), true, name);
    t.equal(await isReleased('stop'), true, `stop, ${name}`);
    t.equal(await isReleased('addFramed', [CLIENT.ping('')]), false, `framed, ${name}`);
    t.equal(await isReleased('addFramed', [CLIENT.close(1000)]), true, `framed, ${name}`);
  }
});

t.test('the context of a Decoder is released when it ends', { skip: !supportsSyncZlib() }, async (t) => {
  const streams = newStreams(t);
  const { client } = agree({ contextTakeover: true });
  for (const [how, end] of Object.entries({
    stopped: (decoder) => decoder.stop(),
    'a Close frame': (decoder) => decoder.write(CLIENT.close(1000)),
    'an error': (decoder) => decoder.write(CLIENT.frame(3))
  })) {
    const { decoder } = decoderOf(client);
    decoder.write(compressed(abc));
    t.equal(streams.at(-1).destroyed, false, how);
    end(decoder);
    t.equal(streams.at(-1).destroyed, true, how);
  }
});

testTakeovers('Encoder.stop drops all messages, and calls nothing', async (contextTakeover, t) => {
  const { client } = agree({ contextTakeover, threadPoolFrom: 1000 });
  let deflated = 0;
  const encoder = new Encoder({ role: 'client', deflate: client, onDeflated: () => deflated++ });
  encoder.text(json(10_000));
  encoder.text(json(20_000));
  encoder.text('waits');
  t.ok(encoder.pending > 10_000);
  encoder.stop();
  t.equal(encoder.pending, 0);
  const other = new Encoder({ role: 'client', deflate: client, onDeflated: () => deflated++ });
  other.text(json(10_000));
  await until(() => deflated === 1);
  await new Promise(setImmediate);
  t.equal(deflated, 1, 'the other one alone');
  t.same(encoder.take(), []);
  t.equal(encoder.pending, 0, 'also when the thread pool has ended its work');
});
