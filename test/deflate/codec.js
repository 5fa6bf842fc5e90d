'use strict';

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const { channel } = require('node:diagnostics_channel');
const zlib = require('node:zlib');
const t = require('tap');
const { PerMessageDeflate } = require('ws');
const { Decoder, Encoder, acceptDeflate, offerDeflate, prepare } = require('../../index');
const { framesFor } = require('../support/frames');
const { createRandom, seed } = require('../support/random');

const RSV1 = 0x40;
const CLIENT = framesFor('client');

/** Both ends' agreement on these options. */
function agree(options = {}) {
  const offer = offerDeflate(options);
  const server = acceptDeflate(offer.header, options);
  return { server, client: offer.readAnswer(server.header) };
}

const json = (count) => JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, name: `user ${id}` })));

function deflateByZlib(bytes, options) {
  const deflated = zlib.deflateRawSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH, ...options });
  return deflated.subarray(0, -4);
}

/** A client's decoder that keeps what it delivers. */
function decoderOf(agreement, options = {}) {
  const got = [];
  const decoder = new Decoder({
    role: 'client',
    deflate: agreement,
    onMessage: (data, isBinary, rsv1) => got.push([isBinary ? 'binary' : 'text', data, rsv1]),
    onPing: (payload) => got.push(['ping', String(payload)]),
    onClose: (code) => got.push(['close', code]),
    onError: ({ code, closeCode }) => got.push(['error', code.slice('FRAMEMASK_ERR_'.length), closeCode]),
    onInflated: () => got.push(['inflated']),
    ...options
  });
  return { decoder, got };
}

/** What a decoder delivers of these frames at once. */
function decode(frames, options) {
  const { decoder, got } = decoderOf(agree().client, options);
  for (const frame of frames) decoder.write(Buffer.from(frame));
  return got;
}

const text = (data) => ['text', data, false];
const binary = (data) => ['binary', Buffer.from(data), false];
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until a condition holds. */
async function until(condition) {
  for (let i = 0; i < 1000 && !condition(); i++) await later(5);
  assert.ok(condition(), 'within 5 seconds');
}

t.test('a message is compressed from the threshold on, and is delivered like any other', (t) => {
  for (const contextTakeover of [false, true]) {
    const { server, client } = agree({ contextTakeover });
    const encoder = new Encoder({ role: 'server', deflate: server });
    const { decoder, got } = decoderOf(client);
    const long = json(50);
    const umlauts = 'äöü'.repeat(1000);
    encoder.text('a'.repeat(1023));
    encoder.text('a'.repeat(1024));
    encoder.text(long);
    encoder.text(Buffer.from(long));
    encoder.binary(Buffer.from(long));
    encoder.binary(new Uint8Array(2000).buffer);
    encoder.text(umlauts);
    const bytes = Buffer.concat(encoder.take());
    t.ok(bytes.length < long.length * 2 + 1300, `${bytes.length} bytes`);
    decoder.write(bytes);
    assert.deepEqual(got, [
      text('a'.repeat(1023)),
      text('a'.repeat(1024)),
      text(long),
      text(long),
      binary(long),
      binary(Buffer.alloc(2000)),
      text(umlauts)
    ]);
  }
  t.end();
});

t.test("compress decides for one message; rsv1 is the caller's", (t) => {
  const encoder = new Encoder({ role: 'server', deflate: agree().server });
  const firstByte = (...args) => {
    encoder.text(...args);
    const [first] = Buffer.concat(encoder.take());
    return first;
  };
  const long = 'a'.repeat(2000);
  t.equal(firstByte(long), 0xc1);
  t.equal(firstByte(long, {}), 0xc1);
  t.equal(firstByte(long, { compress: false }), 0x81);
  t.equal(firstByte('aaaaaaaaaaaaaaaaaaaa', { compress: true }), 0xc1);
  t.equal(firstByte('aa', { compress: true }), 0x81, 'it would grow');
  t.equal(firstByte('', { compress: true }), 0x81);
  t.equal(firstByte(long, { rsv1: true }), 0xc1);
  const all = new Encoder({ role: 'server', deflate: agree({ threshold: 0 }).server });
  all.text('');
  t.equal(all.take()[0][0], 0x81, 'an empty message is not compressed, whatever the threshold');
  t.end();
});

t.test(`the first fragment decides whether a message is compressed in fragments (seed ${seed})`, async (t) => {
  const random = createRandom(seed);
  const long = json(100);
  const firstByteOf = (encoder) => encoder.take()[0][0];
  const encoder = new Encoder({ role: 'server', deflate: agree().server });
  for (const [first, options, expected] of [
    [long, {}, 0x41],
    ['short', {}, 0x01],
    ['short', { compress: true }, 0x41],
    ['', { compress: true }, 0x41],
    [long, { compress: false }, 0x01],
    [long, { rsv1: true }, 0x41],
    // A picture, by its sample.
    [randomBytes(20_000), {}, 0x01],
    ['short', {}, 0x01]
  ]) {
    encoder.text(first, { ...options, fin: false });
    t.equal(firstByteOf(encoder), expected, `${String(first).slice(0, 10)} ${JSON.stringify(options)}`);
    encoder.continuation('b'.repeat(2000), { fin: false });
    const sent = Buffer.concat(encoder.take());
    t.equal(sent[0], 0);
    t.equal(sent.length < 100, expected === 0x41 && options.rsv1 !== true, 'compressed as the first');
    encoder.continuation('');
    encoder.take();
  }
  encoder.text(long, { fin: false });
  encoder.continuation(long);
  encoder.addFramed([CLIENT.text('framed', { fin: false })]);
  encoder.take();
  encoder.continuation('plain');
  t.equal(String(encoder.take()[0].subarray(2)), 'plain', 'after a first fragment that was framed already');
  for (const contextTakeover of [false, true]) {
    const { server, client } = agree({ contextTakeover, threadPoolFrom: 3000 });
    const { decoder, got } = decoderOf(client, { onInflated: undefined });
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
      expected.push(parts.join(''));
    }
    await until(() => {
      for (const chunk of sender.take()) decoder.write(chunk);
      return got.filter(([kind]) => kind === 'text').length === expected.length;
    });
    assert.deepEqual(
      got.filter(([kind]) => kind === 'text').map(([, data]) => data),
      expected
    );
  }
});

t.test('fragmentLengths are the inflated lengths of the fragments', async (t) => {
  for (const threadPoolFrom of [0, Infinity]) {
    const { server, client } = agree({ threadPoolFrom });
    const encoder = new Encoder({ role: 'server', deflate: server });
    const seen = await new Promise((resolve) => {
      const decoder = new Decoder({
        role: 'client',
        deflate: client,
        fragmentLengths: true,
        onMessage() {
          resolve(this.fragmentLengths);
        }
      });
      encoder.binary(Buffer.from(json(30)), { fin: false });
      encoder.continuation('', { fin: false });
      encoder.continuation('abc');
      const send = () => {
        for (const chunk of encoder.take()) decoder.write(chunk);
        if (encoder.pending !== 0) setImmediate(send);
      };
      send();
    });
    t.same(seen, [json(30).length, 0, 3]);
  }
});

t.test('what does not shrink is sent as it is', (t) => {
  const random = createRandom(seed);
  const noise = Buffer.from(Array.from({ length: 100_000 }, () => random(256)));
  for (const contextTakeover of [false, true]) {
    const encoder = new Encoder({ role: 'server', deflate: agree({ contextTakeover }).server });
    for (const size of [2000, 16 * 1024, 100_000]) {
      encoder.binary(noise.subarray(0, size));
      const bytes = Buffer.concat(encoder.take());
      // A context that has the message in its window must send it compressed.
      t.equal(bytes[0], contextTakeover && size === 2000 ? 0xc2 : 0x82, `${size} bytes, takeover ${contextTakeover}`);
    }
    encoder.binary(noise.subarray(0, 20_000), { compress: true });
    t.equal(encoder.take()[0][0], contextTakeover ? 0xc2 : 0x82);
  }
  t.end();
});

t.test('the data of the caller does not change, and is not kept, but by a server from 16 KiB on', async (t) => {
  const { server, client } = agree();
  for (const role of ['server', 'client']) {
    const encoder = new Encoder({ role, deflate: role === 'server' ? server : client });
    const { decoder, got } = decoderOf(role === 'server' ? client : server, {
      role: role === 'server' ? 'client' : 'server'
    });
    const expected = [];
    for (const size of [2000, 40_000, 100_000, 3000]) {
      const data = Buffer.from('abc '.repeat(size / 4));
      const before = Buffer.from(data);
      encoder.binary(data);
      assert.ok(data.equals(before));
      if (role === 'client' || size < 16 * 1024) data.fill(0);
      expected.push(binary(before));
    }
    encoder.close(1000);
    await until(() => {
      if (encoder.pending > 0) for (const chunk of encoder.take()) decoder.write(chunk);
      return decoder.closed;
    });
    assert.deepEqual(got, [...expected, ['close', 1000]]);
  }
  t.end();
});

t.test('6.2: inflates fragments together, and counts Ping frames between them as ever', (t) => {
  const data = deflateByZlib(json(100));
  const cuts = [0, 1, 40, 40, data.length];
  const frames = [];
  for (let i = 1; i < cuts.length; i++) {
    const payload = data.subarray(cuts[i - 1], cuts[i]);
    const fin = i === cuts.length - 1;
    frames.push(i === 1 ? CLIENT.text(payload, { fin, rsv: RSV1 }) : CLIENT.continuation(payload, { fin }));
    frames.push(CLIENT.ping(`${i}`));
  }
  const [, ...rest] = decode([Buffer.concat(frames)]);
  assert.deepEqual(rest.at(-2), text(json(100)));
  assert.deepEqual(decode(frames.flatMap((frame) => [...frame].map((byte) => [byte]))).at(-2), text(json(100)));
  t.end();
});

t.test('6.1: RSV1 on a continuation or a control frame is a protocol error', (t) => {
  const data = deflateByZlib('abc');
  assert.deepEqual(decode([CLIENT.text(data, { rsv: RSV1, fin: false }), CLIENT.continuation('', { rsv: RSV1 })]), [
    ['error', 'RESERVED_BITS', 1002]
  ]);
  assert.deepEqual(decode([CLIENT.ping('', { rsv: RSV1 })]), [['error', 'RESERVED_BITS', 1002]]);
  assert.deepEqual(decode([CLIENT.text(data, { rsv: RSV1 })], { deflate: null }), [['error', 'RESERVED_BITS', 1002]]);
  t.end();
});

t.test('what is not DEFLATE is refused with 1007, and so is text that is not UTF-8', (t) => {
  assert.deepEqual(decode([CLIENT.text(Buffer.from([7]), { rsv: RSV1 })]), [['error', 'DEFLATE', 1007]]);
  const bad = deflateByZlib(Buffer.from([0x61, 0xff, 0x62]));
  assert.deepEqual(decode([CLIENT.text(bad, { rsv: RSV1 })]), [['error', 'UTF8', 1007]]);
  assert.deepEqual(decode([CLIENT.text(bad, { rsv: RSV1 })], { text: 'buffer' }), [['error', 'UTF8', 1007]]);
  assert.deepEqual(decode([CLIENT.text(bad, { rsv: RSV1 })], { text: 'buffer', skipUTF8Validation: true }), [
    text(Buffer.from([0x61, 0xff, 0x62]))
  ]);
  assert.deepEqual(decode([CLIENT.binary(bad, { rsv: RSV1 })]), [binary([0x61, 0xff, 0x62])]);
  assert.deepEqual(decode([CLIENT.text(deflateByZlib('ä'), { rsv: RSV1 })], { text: 'buffer' }), [
    text(Buffer.from('ä'))
  ]);
  t.end();
});

t.test('an empty message may come as an empty block, or as nothing', (t) => {
  for (const payload of [Buffer.from([0]), Buffer.alloc(0), Buffer.from([2, 0]), Buffer.from([1])]) {
    assert.deepEqual(decode([CLIENT.text(payload, { rsv: RSV1 })]), [text('')]);
    assert.deepEqual(decode([CLIENT.binary(payload, { rsv: RSV1 })]), [binary('')]);
  }
  t.end();
});

t.test('maxPayload counts bytes while they are inflated, over all fragments', async (t) => {
  const tooBig = [['error', 'MESSAGE_TOO_BIG', 1009]];
  for (const size of [1001, 100_000, 10_000_000]) {
    const data = deflateByZlib(Buffer.alloc(size, 'a'));
    const half = data.length >> 1;
    for (const frames of [
      [CLIENT.text(data, { rsv: RSV1 })],
      [CLIENT.binary(data.subarray(0, half), { rsv: RSV1, fin: false }), CLIENT.continuation(data.subarray(half))]
    ]) {
      assert.deepEqual(decode(frames, { maxPayload: 1000 }), tooBig, `${size}`);
      for (const contextTakeover of [false, true]) {
        const { client } = agree({ contextTakeover, threadPoolFrom: 0 });
        const { decoder, got } = decoderOf(client, { maxPayload: size - 1 });
        for (const frame of frames) decoder.write(Buffer.from(frame));
        await until(() => decoder.closed);
        const error = got.find(([event]) => event !== 'inflated');
        assert.deepEqual(error, tooBig[0], `${size} in the thread pool, takeover ${contextTakeover}`);
      }
    }
  }
  t.equal(decode([CLIENT.text(deflateByZlib('a'.repeat(1000)), { rsv: RSV1 })], { maxPayload: 1000 })[0][0], 'text');
  t.end();
});

t.test('a message in the thread pool: what follows waits, write says so, and onInflated is called', async (t) => {
  for (const contextTakeover of [false, true]) {
    const { decoder, got } = decoderOf(agree({ contextTakeover }).client);
    const big = 'abc '.repeat(100_000);
    const frames = Buffer.concat([
      CLIENT.text('one'),
      CLIENT.text(deflateByZlib(big), { rsv: RSV1 }),
      CLIENT.ping('two'),
      CLIENT.text(deflateByZlib(Buffer.from(big)), { rsv: RSV1 }),
      CLIENT.text('three')
    ]);
    t.equal(decoder.write(frames), false);
    t.equal(decoder.paused, false, 'it is not paused');
    t.equal(decoder.inflating, true);
    assert.deepEqual(got, [text('one')]);
    t.equal(decoder.write(CLIENT.text('four')), false);
    await until(() => got.length === 8);
    assert.deepEqual(got, [
      text('one'),
      text(big),
      ['ping', 'two'],
      ['inflated'],
      text(big),
      text('three'),
      text('four'),
      ['inflated']
    ]);
    t.equal(decoder.write(CLIENT.text('five')), true);
    t.equal(decoder.inflating, false);
  }
});

t.test('pause, resume and stop while a message is in the thread pool', async (t) => {
  const big = CLIENT.binary(deflateByZlib(Buffer.alloc(1_000_000)), { rsv: RSV1 });
  const { decoder, got } = decoderOf(agree().client);
  decoder.write(Buffer.concat([big, CLIENT.text('next')]));
  decoder.pause();
  t.equal(decoder.paused, true);
  t.equal(decoder.inflating, true);
  decoder.pause();
  await until(() => got.length > 0);
  assert.deepEqual(got, [['inflated']], 'the pause holds');
  decoder.resume();
  t.equal(got.length, 3);

  decoder.write(Buffer.from(big));
  decoder.pause();
  decoder.resume();
  t.equal(decoder.paused, false);
  decoder.resume();
  t.equal(got.length, 3, 'resume delivers nothing early');
  await until(() => got.length === 5);

  decoder.write(Buffer.from(big));
  decoder.stop();
  await later(50);
  t.equal(got.length, 5, 'nothing after stop');
  t.end();
});

t.test('a handler may pause before a compressed message, and throw', (t) => {
  const frames = [CLIENT.text('first'), CLIENT.text(deflateByZlib('second'), { rsv: RSV1 })];
  const { decoder, got } = decoderOf(agree().client, { onFrame: () => decoder.pause() });
  decoder.write(Buffer.concat(frames));
  t.equal(got.length, 0);
  decoder.resume();
  decoder.resume();
  decoder.resume();
  assert.deepEqual(got, [text('first'), text('second')]);

  const seen = [];
  const throwing = new Decoder({
    role: 'client',
    deflate: agree().client,
    onMessage(data) {
      seen.push(data);
      throw new Error(data);
    }
  });
  assert.throws(() => throwing.write(Buffer.concat(frames)), { message: 'first' });
  assert.throws(() => throwing.resume(), { message: 'second' });
  throwing.resume();
  t.same(seen, ['first', 'second']);
  t.end();
});

t.test('a subscriber may pause before a compressed message is inflated', (t) => {
  const { server, client } = agree();
  const encoder = new Encoder({ role: 'server', deflate: server });
  encoder.text(json(100));
  const { got, decoder } = decoderOf(client);
  const messages = channel('framemask:message');
  const pause = () => decoder.pause();
  messages.subscribe(pause);
  decoder.write(Buffer.concat(encoder.take()));
  messages.unsubscribe(pause);
  t.same(got, [], 'paused');
  decoder.resume();
  t.same(got, [['text', json(100), false]]);
  t.end();
});

t.test('the Encoder keeps the order while a message is in the thread pool, but for Ping and Pong', async (t) => {
  for (const contextTakeover of [false, true]) {
    const { server, client } = agree({ contextTakeover });
    const { decoder, got } = decoderOf(client, { text: 'string' });
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
    assert.deepEqual(
      got.filter(([what]) => what !== 'inflated').map(([what, value]) => [what, String(value)]),
      [
        ['text', 'one'],
        ['ping', 'early'],
        ['text', big],
        ['text', 'twoabcdthree'],
        ['text', 'prepared'],
        ['text', 'framed'],
        ['binary', 'abcd'],
        ['text', json(100)],
        ['text', big],
        ['text', 'last'],
        ['text', 'by hand'],
        ['close', '1000']
      ]
    );
  }
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
    const held = (process.memoryUsage().arrayBuffers - before) / data.length;
    t.ok(held < 12, `${held.toFixed(1)} times the ${typeof content}`);
    const { decoder, got } = decoderOf(client, { text: 'string', threadPoolFrom: Infinity });
    await until(() => {
      for (const chunk of room.at(-1).take()) decoder.write(chunk);
      return got.filter(([kind]) => kind === 'text').length === 2;
    });
    t.ok(got.filter(([kind]) => kind === 'text').every(([, given]) => given === data.toString()));
  }
});

t.test('a Buffer that is transferred while it waits for the thread pool is sent as an empty one', async () => {
  for (const contextTakeover of [false, true]) {
    const { server, client } = agree({ contextTakeover });
    const { decoder, got } = decoderOf(client, { onInflated: undefined });
    const big = Buffer.alloc(40_000, 'abc');
    const { buffer: memory } = big;
    const all = Array.from({ length: 12 }, () => new Encoder({ role: 'server', deflate: server }));
    const encoder = all.pop();
    for (const other of all) other.binary(Buffer.from(big));
    encoder.binary(big);
    encoder.binary(big);
    encoder.binary(new DataView(memory, 0, 20_000));
    encoder.binary(big, { compress: false });
    encoder.text(big, { fin: false });
    encoder.continuation(big);
    structuredClone(memory, { transfer: [memory] });
    encoder.text('last');
    await until(() => {
      for (const chunk of encoder.take()) decoder.write(chunk);
      return got.length === 6;
    });
    assert.deepEqual(got, [...Array(4).fill(binary('')), text(''), text('last')]);
  }
});

t.test('with the option writable, messages from the thread pool are sent by themselves', async (t) => {
  const { server, client } = agree();
  const { decoder, got } = decoderOf(client);
  const writable = { writable: true, writableLength: 0, write: (chunk) => decoder.write(Buffer.from(chunk)) };
  const encoder = new Encoder({ role: 'server', deflate: server, writable });
  encoder.text(json(10_000));
  encoder.text('next');
  await until(() => got.length === 3);
  t.equal(got[1][1], 'next');
});

t.test('a prepared message is compressed once for all connections that compress alike', (t) => {
  const long = json(50);
  const message = prepare(long, { deflate: true });
  const sent = (options, prepared = message) => {
    const encoder = new Encoder({ role: 'server', deflate: options === null ? null : agree(options).server });
    encoder.addPrepared(prepared);
    const bytes = Buffer.concat(encoder.take());
    const { decoder, got } = decoderOf(options === null ? null : agree(options).client);
    decoder.write(Buffer.from(bytes));
    assert.deepEqual(got, [text(long)]);
    return bytes;
  };
  t.equal(sent(null)[0], 0x81);
  t.equal(sent({ contextTakeover: true })[0], 0x81, 'a context that is taken over would not know it');
  t.equal(sent({ threshold: long.length + 1 })[0], 0x81);
  t.equal(sent({})[0], 0xc1);
  t.ok(sent({}).equals(sent({})));
  t.equal(sent({ serverWindowBits: 9 })[0], 0xc1);
  t.equal(sent({}, prepare(long))[0], 0x81, 'not unless it is asked for');
  t.equal(message.frame[0], 0x81);

  const short = prepare('ab', { deflate: true });
  const encoder = new Encoder({ role: 'server', deflate: agree({ threshold: 0 }).server });
  encoder.addPrepared(short);
  t.equal(String(encoder.take()[0]), '\x81\x02ab'.replace('\x81', '\ufffd'), 'what does not shrink is sent as it is');
  encoder.addPrepared(prepare(deflateByZlib(long), { rsv1: true, deflate: true, binary: false }));
  t.equal(encoder.take()[0][0], 0xc1, 'rsv1: the caller has compressed it');
  t.end();
});

t.test('refuses an option deflate that no negotiation has made', (t) => {
  for (const deflate of [true, {}, 'permessage-deflate', offerDeflate()]) {
    for (const Class of [Decoder, Encoder]) {
      assert.throws(() => new Class({ role: 'server', deflate }), { name: 'TypeError', message: /"options.deflate"/ });
    }
  }
  t.end();
});

/** A connection's end of ws, with its contexts. */
function wsEnd(isServer, header) {
  const end = new PerMessageDeflate({ isServer, threshold: 0 });
  end.params = Object.fromEntries(
    header
      .split('; ')
      .slice(1)
      .map((parameter) => parameter.split('='))
      .map(([name, value]) => [name, value === undefined ? true : Number(value)])
  );
  return end;
}

t.test(`ws as the peer: both ways, all windows, both takeovers (seed ${seed})`, async (t) => {
  const random = createRandom(seed);
  for (let round = 0; round < 24; round++) {
    const contextTakeover = round % 2 === 0;
    const agreement = agree({
      contextTakeover,
      serverWindowBits: 9 + random(7),
      clientWindowBits: 9 + random(7),
      threshold: 0
    });
    const peer = wsEnd(true, agreement.server.header);
    const { decoder, got } = decoderOf(agreement.client);
    const encoder = new Encoder({ role: 'client', deflate: agreement.client });
    for (let i = 0; i < 8; i++) {
      const message = json(1 + random(random(4) === 0 ? 3000 : 100));
      const deflated = await new Promise((resolve, reject) => {
        peer.compress(Buffer.from(message), true, (error, data) => (error ? reject(error) : resolve(data)));
      });
      decoder.write(CLIENT.text(deflated, { rsv: RSV1 }));
      await until(() => got.length > 0);
      assert.equal(got.shift()[1], message);
      await later(1);
      got.length = 0;

      encoder.text(message);
      await until(() => encoder.pending > 0 && !encoder._isDeflating);
      const frame = Buffer.concat(encoder.take());
      const plain = payloadOf(frame);
      if ((frame[0] & RSV1) === 0) continue;
      const inflated = await new Promise((resolve, reject) => {
        peer.decompress(plain, true, (error, data) => (error ? reject(error) : resolve(data)));
      });
      assert.equal(String(inflated), message);
    }
    peer.cleanup();
    decoder.stop();
    encoder.close();
  }
  t.end();
});

/** The payload of a masked frame. */
function payloadOf(frame) {
  const length = frame[1] & 127;
  const at = length < 126 ? 2 : length === 126 ? 4 : 10;
  const payload = Buffer.from(frame.subarray(at + 4));
  for (let i = 0; i < payload.length; i++) payload[i] ^= frame[at + (i & 3)];
  return payload;
}

t.test('Encoder.stop: drops the messages in the thread pool and those that wait, and calls nothing', async (t) => {
  for (const contextTakeover of [false, true]) {
    const { client } = agree({ contextTakeover, threadPoolFrom: 1000 });
    let deflated = 0;
    const encoder = new Encoder({ role: 'client', deflate: client, onDeflated: () => deflated++ });
    encoder.text(json(10_000));
    encoder.text(json(20_000));
    encoder.text('waits');
    t.throws(() => encoder.beginFrame(1), { code: 'ERR_INVALID_STATE', message: /wait for onDeflated/ });
    t.ok(encoder.pending > 10_000);
    encoder.stop();
    t.equal(encoder.pending, 0);
    const other = new Encoder({ role: 'client', deflate: client, onDeflated: () => deflated++ });
    other.text(json(10_000));
    await until(() => deflated === 1);
    await new Promise(setImmediate);
    t.equal(deflated, 1, 'the other one alone');
    t.same(encoder.take(), []);
  }
});
