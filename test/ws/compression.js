'use strict';

// Compressed messages of framemask/ws, beside those of ws.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { promisify } = require('node:util');
const zlib = require('node:zlib');
const t = require('tap');
const ws = require('ws');
const framemask = require('../../ws.js');
const { PartStream } = require('../../lib/codec/part-stream');
const { Inflater } = require('../../lib/deflate/inflater');
const { MAX_JOBS } = require('../../lib/deflate/contexts');
const { OUTPUT_SIZE } = require('../../lib/deflate/zlib-handle');
const { agreementOf, attachCompressor } = require('../../lib/ws/compression');
const { failSender } = require('../../lib/ws/internals');
const { framesFor } = require('../support/frames');
const { deflateByZlib, emptyBlocks, json, nextPart, useUpTurn } = require('../support/deflate');
const { createRandom, seed } = require('../support/random');
const { LONG } = require('../support/sample');
const { uncaughtMessages } = require('../support/uncaught');
const websockets = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const { connectPair, connectRaw, listen, receive, receiveTexts, record, runSource, settled } = websockets;
const f = framesFor('server');

/** A compressed text. */
const text = (deflated) => f.text(deflated, { rsv: 0x40 });

/** An empty stored block: what ends a sync flush. */
const EMPTY_BLOCK = Buffer.from('000000ffff', 'hex');
const NONE = { serverNoContextTakeover: true, clientNoContextTakeover: true };
const NONE_AGREED = { server_no_context_takeover: true, client_no_context_takeover: true };
const paramsOf = (websocket) => ({ ...websocket._extensions['permessage-deflate'].params });

/** A connection's negotiated PerMessageDeflate; with framemask's contexts if `instead`. */
function createDeflate(options, params, instead) {
  const client = negotiated(options, params);
  const role = options.isServer ? 'server' : 'client';
  const agreement = agreementOf(client);
  const inflater = instead ? new Inflater(agreement.receiving(role)) : null;
  let stream = null;
  if (instead) attachCompressor(client, agreement.sending(role), assert.ifError, () => inflater.close());
  return {
    compress: (data, fin = true) => promisify(client.compress).call(client, data, fin),
    async decompress(data, fin = true) {
      if (inflater === null) return promisify(client.decompress).call(client, data, fin);
      stream ??= new PartStream(0x82, null, inflater, Infinity, Infinity, undefined);
      stream.add(data, true, fin);
      const message = await nextPart(stream);
      if (fin) stream = null;
      return message;
    },
    cleanup: () => client.cleanup()
  };
}

/** ws's class; older versions do not export it. */
let PerMessageDeflate;

t.before(async () => {
  const { client } = await connectPair(t, ws, { server: { perMessageDeflate: true } });
  PerMessageDeflate = client._extensions['permessage-deflate'].constructor;
});

/** @returns {object} what ws makes of these parameters */
function negotiated(options, params) {
  // Up to ws 8.18 the options come first, and whether it is a server's after them.
  const deflate = new PerMessageDeflate(options, options.isServer, 0);
  deflate.params = { ...params };
  return deflate;
}

/**
 * Whether two ends have compressed alike. Where a sync flush ends just with the memory for its
 * output, zlib is called again, and ends another block, which is empty: for ws every 16 KiB.
 */
function isAlike(one, other, fin) {
  const whole = [one, other].map((bytes) => (fin ? Buffer.concat([bytes, EMPTY_BLOCK.subarray(1)]) : bytes));
  const [short, long] = whole.sort((a, b) => a.length - b.length);
  return short.equals(long) || Buffer.concat([short, EMPTY_BLOCK]).equals(long);
}

t.test(`with takeover the bytes are those of ws, and each end inflates the other's (seed ${seed})`, LONG, async (t) => {
  const random = createRandom(seed);
  const pieces = (text) => (random(2) === 0 ? text : Buffer.from(text));
  for (let round = 0; round < 40; round++) {
    const params = { server_max_window_bits: 9 + random(7), client_max_window_bits: 9 + random(7) };
    if (random(2) === 0) params.server_no_context_takeover = true;
    if (random(2) === 0) params.client_no_context_takeover = true;
    const options = {};
    if (random(3) > 0) options.zlibDeflateOptions = { level: random(10), memLevel: 1 + random(9) };
    // Not for shared contexts.
    if (random(3) === 0) options.zlibDeflateOptions = { strategy: zlib.constants.Z_HUFFMAN_ONLY };
    if (random(3) === 0) options.zlibInflateOptions = { chunkSize: 2048 };
    if (random(5) === 0) options.zlibInflateOptions = { flush: zlib.constants.Z_NO_FLUSH };
    const [theirs, mine] = [false, true].map((instead) =>
      createDeflate({ ...options, isServer: true }, params, instead)
    );
    const [theirPeer, myPeer] = [false, true].map((instead) => createDeflate(options, params, instead));
    for (let i = 0; i < 10; i++) {
      const message = json(random(5) === 0 ? random(20_000) : random(200));
      const parts = random(3) === 0 ? [message.slice(0, 50), '', message.slice(50)] : [message];
      let all = '';
      for (const [j, part] of parts.entries()) {
        const fin = j === parts.length - 1;
        const expected = await theirs.compress(Buffer.from(part), fin);
        const deflated = await mine.compress(pieces(part), fin);
        const { level } = options.zlibDeflateOptions ?? {};
        // Level 0 copies as much as there is room for. What a reset leaves in the window may have
        // zlib choose another match of the same length.
        if (level !== 0 && !params.server_no_context_takeover)
          assert.ok(isAlike(deflated, expected, fin), `${JSON.stringify([options, params])} ${part.length}`);
        const inflated = await myPeer.decompress(deflated, fin);
        if (fin) assert.equal(String(inflated), message);
        assert.equal(String(await theirPeer.decompress(deflated, fin)), part);
        all += part;
      }
      assert.equal(all, message);
      await new Promise(setImmediate);
    }
    for (const end of [theirs, mine, theirPeer, myPeer]) end.cleanup();
  }
  t.end();
});

t.test('a large fragment is compressed in the thread pool', async (t) => {
  for (const params of [NONE_AGREED, {}]) {
    const sender = createDeflate({ isServer: true }, params, true);
    const receiver = createDeflate({}, params, true);
    const parts = [Buffer.alloc(50_000, 'abc'), Buffer.alloc(60_000, 'def')];
    t.equal(await receiver.decompress(await sender.compress(parts[0], false), false), null);
    t.ok((await receiver.decompress(await sender.compress(parts[1]))).equals(Buffer.concat(parts)));
    receiver.cleanup();
    sender.cleanup();
  }
});

t.test('allowSynchronousEvents: false: a compressed message has a turn of its own, and may be refused', async (t) => {
  const options = { perMessageDeflate: true, allowSynchronousEvents: false };
  const { server, socket } = await connectRaw(t, framemask, options);
  const events = record(server);
  const [one, two, bad] = ['one', 'two', Buffer.from([0xff])].map((data) => zlib.deflateRawSync(data));
  socket.write(Buffer.concat([text(one), f.binary(two, { rsv: 0x40 }), text(bad)]));
  const seen = (await events).slice(0, 3).map(([event, data]) => `${event} ${data}`);
  t.same(seen.slice(0, 2), ['message one', 'message two']);
  t.match(seen[2], /^error/);
});

t.test('small messages arrive in one read, and replies leave in one write', async (t) => {
  for (const options of [{}, { contextTakeover: false }]) {
    const both = { perMessageDeflate: { threshold: 0, ...options } };
    const { server, client } = await connectPair(t, framemask, { server: both, client: both });
    t.same(paramsOf(server), options.contextTakeover === false ? NONE_AGREED : {});
    server.on('message', (data, isBinary) => server.send(data, { binary: isBinary }));
    let count = 0;
    const { _socket: socket } = server;
    const { write } = socket;
    socket.write = function (...args) {
      count++;
      return write.apply(this, args);
    };
    const received = receiveTexts(client, 20);
    const sent = Array.from({ length: 20 }, (_, i) => json(10 + i));
    for (const data of sent) client.send(data);
    assert.deepEqual(await received, sent);
    t.ok(count <= 2, `${count} writes`);
  }
});

t.test('contextTakeover: false asks for shared contexts, of a server or a client; other options stay', async (t) => {
  const perMessageDeflate = { contextTakeover: false, threshold: 5 };
  const { url } = await listen(t, framemask, { perMessageDeflate: true });
  for (const args of [[{ perMessageDeflate }], [[], { perMessageDeflate }]]) {
    const client = new framemask.WebSocket(url, ...args);
    await once(client, 'open');
    t.same(paramsOf(client), NONE_AGREED);
  }
  const server = new framemask.WebSocketServer({ noServer: true, perMessageDeflate });
  t.match(server.options.perMessageDeflate, { threshold: 5, ...NONE });
  t.same(Object.keys(perMessageDeflate), ['contextTakeover', 'threshold'], 'the options themselves do not change');
  t.equal(new framemask.WebSocketServer({ noServer: true, perMessageDeflate: null }).options.perMessageDeflate, null);
});

t.test('without takeover, a message below the threshold goes out uncompressed, as with ws', async (t) => {
  for (const implementation of [ws, framemask]) {
    for (const [perMessageDeflate, compressed] of [
      [NONE, [false, true]],
      [{ ...NONE, threshold: 600 }, [true, true]],
      [true, [true, true]]
    ]) {
      const { server, client } = await connectPair(t, implementation, { server: { perMessageDeflate } });
      const sizes = [];
      client._socket.on('data', ({ length }) => sizes.push(length));
      for (const length of [652, 1024]) {
        server.send('a'.repeat(length));
        await once(client, 'message');
      }
      const found = sizes.map((size) => size < 100);
      t.same(found, compressed, JSON.stringify(perMessageDeflate));
    }
  }
});

t.test('null sets no options of zlib, as with ws', async (t) => {
  const options = { zlibDeflateOptions: null, zlibInflateOptions: null };
  const [theirs, mine] = [false, true].map((instead) => createDeflate(options, {}, instead));
  const deflated = await mine.compress(Buffer.from('text'));
  t.same(deflated, await theirs.compress(Buffer.from('text')));
  t.equal(String(await mine.decompress(deflated)), 'text');
  for (const end of [theirs, mine]) end.cleanup();
});

t.test('a Buffer whose property length is too large is compressed as it is, as by ws', async (t) => {
  const data = Object.defineProperty(Buffer.from('text'), 'length', { value: 5000 });
  const [theirs, mine] = [false, true].map((instead) => createDeflate({}, {}, instead));
  t.same(await mine.compress(data), await theirs.compress(data));
  for (const end of [theirs, mine]) end.cleanup();
});

t.test('7.1.1.2: a client keeps to the client_no_context_takeover that it offered', async (t) => {
  const client = createDeflate({ clientNoContextTakeover: true }, {}, true);
  t.same(await client.compress(Buffer.from('text')), await client.compress(Buffer.from('text')));
  client.cleanup();
});

t.test('where zlib has no handles that work, ws compresses', async (t) => {
  const deflate = negotiated({}, {});
  let ended = 0;
  attachCompressor(deflate, agreementOf(deflate).sending('client'), assert.ifError, () => ended++, false);
  t.notOk(Object.hasOwn(deflate, 'compress'));
  deflate.cleanup();
  t.equal(ended, 1);
});

t.test('what waits for the thread pool is held once, and compressed as it is then, as by ws', async (t) => {
  const size = 256 * 1024;
  for (const instead of [false, true]) {
    for (const params of [{}, NONE_AGREED]) {
      const name = `${instead ? 'framemask/ws' : 'ws'}, ${JSON.stringify(params)}`;
      const data = Buffer.alloc(size, 'abc');
      for (const content of [data, data.toString()]) {
        const ends = Array.from({ length: 50 }, () => createDeflate({ isServer: true }, params, instead));
        const before = process.memoryUsage().arrayBuffers;
        const deflated = ends.map(({ compress }) => compress(content));
        const rooms = instead ? MAX_JOBS * OUTPUT_SIZE : 0;
        const held = (process.memoryUsage().arrayBuffers - before - rooms) / size;
        t.ok(held < 12, `${name}: ${held.toFixed(1)} times the ${typeof content}`);
        data.fill('x');
        const last = createDeflate({}, params, false);
        const inflated = await last.decompress(await deflated.at(-1));
        t.ok(inflated.equals(Buffer.from(content)), `${name}: what has been changed`);
        await Promise.all(deflated);
        for (const { cleanup } of [last, ...ends]) cleanup();
      }
    }
  }
});

t.test('what is in the thread pool may be transferred, which ends the process with ws', async (t) => {
  for (const params of [{}, NONE_AGREED]) {
    const [end, peer] = [{ isServer: true }, {}].map((options) => createDeflate(options, params, true));
    const data = Buffer.alloc(256 * 1024, 'abc');
    const before = Buffer.from(data);
    const deflated = end.compress(data);
    structuredClone(data, { transfer: [data.buffer] });
    t.ok((await peer.decompress(await deflated)).equals(before));
    for (const { cleanup } of [end, peer]) cleanup();
  }
});

const LARGE = Buffer.alloc(1_000_000, 'abc');

// ws sends an empty message.
for (const [waits, deflate, sent, ...how] of [
  ['for a place in the thread pool', true, 0, { size: 100_000, inPool: 10 }],
  ['after a large message', true, 1, { size: 100, first: LARGE }],
  ['after a large message, large as well', true, 1, { size: 100_000, first: LARGE }],
  ['after a large message, without compression', true, 1, { size: 100, first: LARGE, options: { compress: false } }],
  ['after a large message, as a ping', true, 1, { size: 100, first: LARGE, method: 'ping' }],
  ...(hasWs('8.18.0') ? [['after a Blob', false, 1, { size: 100, first: new Blob(['blob']) }]] : [])
]) {
  t.test(`what is transferred while it waits is an error, and ends the connection: ${waits}`, async (t) => {
    const [{ size, inPool = 0, first, options = {}, method = 'send' }] = how;
    for (const sender of ['server', 'client']) {
      for (const shrinks of [false, true]) {
        const both = { perMessageDeflate: deflate && { threshold: 0 } };
        const pairs = await Promise.all(
          Array.from({ length: inPool + 1 }, () => connectPair(t, framemask, { server: both, client: both }))
        );
        const { server, client } = pairs.pop();
        for (const other of pairs) other[sender].send(LARGE);
        const [from, to] = sender === 'server' ? [server, client] : [client, server];
        const events = record(to);
        const order = [];
        const note = (name) => (error) => order.push(`${name} ${error?.code}`);
        from.on('error', ({ code }) => order.push(`error ${code}`));
        if (first !== undefined) from.send(first);
        const memory = new ArrayBuffer(size, { maxByteLength: size });
        if (method === 'ping') from.ping(Buffer.from(memory), undefined, note('gone'));
        else from.send(new Uint8Array(memory), options, note('gone'));
        from.send('after', note('after'));
        if (shrinks) memory.resize(size / 2);
        else structuredClone(memory, { transfer: [memory] });
        await closeOf(from);
        const told = hasWs('8.18.0') ? ['error ERR_INVALID_STATE'] : [];
        t.same(order, ['gone ERR_INVALID_STATE', 'after ERR_INVALID_STATE', ...told]);
        const seen = (await events).map(([name]) => name);
        t.same(seen, [...Array(sent).fill('message'), 'close']);
      }
    }
  });
}

t.test('a write that throws does not hurry a message in the thread pool, or an event in its turn', async (t) => {
  const big = Buffer.alloc(1_000_000, 'abc');
  const expected = ['ping', big.toString(), 'small', big.toString(), 'small'];
  for (const [allowSynchronousEvents, throws] of [
    [true, false],
    [true, true],
    [false, false],
    [false, true]
  ]) {
    const options = { perMessageDeflate: true, allowSynchronousEvents };
    const { server, socket } = await connectRaw(t, framemask, options);
    const seen = [];
    const isDone = new Promise((resolve) => {
      const see = (data) => {
        seen.push(data.toString());
        server.send('reply', { compress: false });
        if (seen.length === expected.length) resolve();
      };
      server.on('ping', see);
      server.on('message', (data) => {
        see(data);
        if (throws) throw new Error('from a listener');
      });
    });
    const { write } = server._socket;
    server._socket.write = () => {
      throw new Error('from write');
    };
    const small = text(deflateByZlib('small'));
    const larges = [text(deflateByZlib(big)), f.binary(deflateByZlib(big), { rsv: 0x40 })];
    const errors = await uncaughtMessages(async () => {
      socket.write(Buffer.concat([f.ping('ping'), ...larges.flatMap((large) => [large, small])]));
      await isDone;
      await settled();
    });
    t.ok(errors.filter((message) => message === 'from write').length > 1);
    assert.deepEqual(seen, expected);
    server._socket.write = write;
  }
});

t.test('small messages of all connections have a limit for each turn of the event loop', async (t) => {
  const bytes = text(Buffer.concat([emptyBlocks(90), Buffer.of(0)]));
  const count = Math.ceil((128 * 1024) / bytes.length);
  let [inTurn, most] = [0, 0];
  const opened = await Promise.all(
    Array.from({ length: 10 }, () => connectRaw(t, framemask, { perMessageDeflate: true }))
  );
  const received = opened.map(async ({ server }) => {
    server.on('message', () => {
      if (inTurn === 0) setImmediate(() => (inTurn = 0));
      most = Math.max(most, ++inTurn);
    });
    return receive(server, count);
  });
  for (const { socket } of opened) socket.write(Buffer.concat(Array(count).fill(bytes)));
  await Promise.all(received);
  t.ok(most > 500 && most < 2500, `${most} messages in a turn`);
});

t.test('a small message that waits for another turn holds those after it, and the Close frame', async (t) => {
  for (const sharedReads of [true, false]) {
    for (const allowSynchronousEvents of [true, false]) {
      const options = { perMessageDeflate: true, allowSynchronousEvents, sharedReads };
      const { server, socket } = await connectRaw(t, framemask, options);
      server.on('ping', useUpTurn);
      const events = record(server);
      const [one, three] = [text(deflateByZlib('one')), f.binary(deflateByZlib('three'), { rsv: 0x40 })];
      socket.write(Buffer.concat([f.ping('zero'), one, f.text('two'), f.ping('zero'), three, f.close(1000, 'four')]));
      const seen = (await events).map(([name, ...args]) => `${name} ${args.map(String)}`);
      t.same(seen, [
        'ping zero',
        'message one,false',
        'message two,false',
        'ping zero',
        'message three,true',
        'close 1000,four'
      ]);
    }
  }
});

t.test('a connection that ends while a message is compressed or inflated', async (t) => {
  const big = Buffer.alloc(5_000_000, 'abc');
  for (const deflateOptions of [{ threshold: 0 }, { threshold: 0, contextTakeover: false }]) {
    const options = { perMessageDeflate: deflateOptions };
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    const order = [];
    for (const name of ['first', 'second']) client.send(big, ({ message }) => order.push(name, message));
    const closed = once(client, 'close').then(() => order.push('close'));
    client.terminate();
    await closed;
    const message = 'The socket was closed while data was being compressed';
    t.same(order, ['first', message, 'second', message, 'close'], 'as with ws');
    server.terminate();

    const pair = await connectPair(t, framemask, { server: options, client: options });
    pair.server._socket.once('data', () => pair.server.terminate());
    pair.client.send(big);
    // `once` rejects if there is an 'error'.
    await Promise.all([once(pair.server, 'close'), once(pair.client, 'close')]);
    await settled();
  }
});

t.test('a message that zlib refuses to compress is an error of its callback, and ends the connection', async (t) => {
  const perMessageDeflate = { zlibDeflateOptions: { memLevel: 99 }, threshold: 0 };
  for (const noTakeover of [{}, NONE]) {
    // More than the pool takes at a time.
    for (const size of [100, ...Array(11).fill(100_000)]) {
      const options = { perMessageDeflate: { ...perMessageDeflate, ...noTakeover } };
      const { server, client } = await connectPair(t, framemask, {
        server: options,
        client: { perMessageDeflate: true }
      });
      const events = record(client);
      const order = [];
      server.on('error', ({ code }) => order.push(`error ${code}`));
      server.send('before', { compress: false });
      const note = (name) => (error) => order.push(`${name} ${error?.code}`);
      server.send(Buffer.alloc(size), note('first'));
      server.send('next');
      server.send('last', { compress: false }, note('last'));
      await closeOf(server);
      const told = hasWs('8.18.0') ? ['error ERR_OUT_OF_RANGE'] : [];
      t.same(order, ['first ERR_OUT_OF_RANGE', 'last ERR_OUT_OF_RANGE', ...told]);
      const seen = (await events).map(([name, data]) => `${name} ${data}`);
      t.same(seen, ['message before', 'close 1006']);
    }
  }
  const { server, client } = await connectPair(t, framemask, { server: { perMessageDeflate: true } });
  server.send(Buffer.alloc(100_000));
  t.equal((await receive(client, 1))[0].length, 100_000, 'the pool goes on');
});

t.test('a ws before 8.18, whose Sender reports no errors, ends the socket', async (t) => {
  const error = new Error('failed');
  let destroyed = null;
  const destroy = (cause) => {
    destroyed = cause;
  };
  failSender({ _socket: { destroy } }, error);
  t.equal(destroyed, error);
});

t.test('errors in compressed messages are those of ws, large ones too', async (t) => {
  const bad = Buffer.concat([deflateByZlib(Buffer.alloc(1_000_000, 'abc')), Buffer.from('0000ffff07', 'hex')]);
  const notText = zlib.deflateRawSync(Buffer.alloc(1_000_000, 0xff));
  for (const payload of [Buffer.from([7]), bad, notText]) {
    const seen = [];
    for (const implementation of [ws, framemask]) {
      const { server, socket } = await connectRaw(t, implementation, { perMessageDeflate: true });
      const events = record(server);
      socket.write(text(payload));
      seen.push((await events)[0]);
    }
    t.same(seen[1], seen[0]);
  }
});

const isOther = (process.versions.bun ?? process.versions.deno) !== undefined;
t.test('fragments that have been inflated are not held', { skip: isOther }, async (t) => {
  const code = `
    const { deflateRawSync, constants } = require('node:zlib');
    const { randomBytes } = require('node:crypto');
    const { IMPLEMENTATIONS, connectRaw } = require('./test/support/websockets.js');
    const { framesFor } = require('./test/support/frames.js');
    const MIB = 2 ** 20;
    const { binary, continuation, ping } = framesFor('server');
    async function main() {
      const { 'framemask/ws': framemask } = IMPLEMENTATIONS;
      const { server, socket } = await connectRaw({ teardown() {} }, framemask, { perMessageDeflate: true });
      const begin = process.memoryUsage().arrayBuffers;
      const payload = deflateRawSync(randomBytes(MIB), { finishFlush: constants.Z_SYNC_FLUSH });
      for (let i = 0; i < 16; i++) {
        const next = i === 0 ? binary(payload, { rsv: 0x40, fin: false }) : continuation(payload, { fin: false });
        socket.write(Buffer.concat([next, ping('x')]));
        await new Promise((resolve) => server.once('ping', resolve));
      }
      for (let i = 0; i < 2; i++) {
        global.gc();
        await new Promise(setImmediate);
      }
      console.log((process.memoryUsage().arrayBuffers - begin) / MIB);
      process.exit();
    }
    main();`;
  const held = Number((await runSource(code, ['--expose-gc'])).stdout);
  t.ok(held > 15 && held < 24, `${held} MiB are held of 16 that have been inflated`);
});

// FRAMEMASK_DEFLATE=ws leaves the compression to ws. Both then do the same in the scenes of ws's
// own tests in which framemask's compression differs.

/** Unlike events.once(), it does not end with an error that comes before. */
const closeOf = (socket) => new Promise((resolve) => socket.once('close', resolve));

const WITH_DEFLATE_BY_WS = {
  'bufferedAmount counts what waits to be compressed': async (_server, client) => {
    const amounts = [];
    client.send('foo');
    amounts.push(client.bufferedAmount);
    const sent = new Promise((resolve) => client.send('bar', resolve));
    amounts.push(client.bufferedAmount);
    const error = await sent;
    return [...amounts, client.bufferedAmount, error?.message];
  },
  'the callbacks of what is being compressed when the peer ends have an error': async (server, client) => {
    const called = [];
    const note = (name) => (error) => called.push(`${name}: ${error?.message} ${client.readyState}`);
    // The socket is destroyed before the thread pool has compressed the message.
    client.send('a'.repeat(2 ** 20), note('first'));
    client.send('second');
    client.send('third', note('third'));
    server._socket.resetAndDestroy();
    client._socket.destroy();
    await closeOf(client);
    return called;
  },
  'terminate() comes before what is being compressed': async (_server, client) => {
    const sent = new Promise((resolve) => client.send('hi', resolve));
    client.terminate();
    return (await sent)?.message;
  },
  'messages are inflated one after the other, and a Close frame after them': async (server, client) => {
    const seen = [];
    client.on('message', (data) => seen.push([String(data), client._receiver._state]));
    client._receiver.on('conclude', () => seen.push(['the end', client._receiver._state]));
    server._socket.cork();
    for (let i = 0; i < 4; i++) server.send(`${i}`);
    server.close();
    server._socket.uncork();
    await closeOf(client);
    return seen;
  },
  "the event 'error' comes once, for a Blob that can't be read and a wrong frame": async (server, client) => {
    const errors = [];
    client.on('error', ({ message }) => errors.push(message));
    if (hasWs('8.18.0')) {
      const blob = new Blob(['x']);
      blob.arrayBuffer = () => Promise.reject(new Error('not readable'));
      client.send('foo');
      client.send(blob);
    }
    server._socket.write(Buffer.from([0x85, 0x00]));
    await closeOf(client);
    // Which of the two comes first depends on the thread pool.
    return errors.length;
  }
};

t.test('FRAMEMASK_DEFLATE=ws: report() says whose contexts compress', async (t) => {
  process.env.FRAMEMASK_DEFLATE = 'ws';
  t.teardown(() => delete process.env.FRAMEMASK_DEFLATE);
  t.equal(framemask.report().deflate, 'ws');
  const both = { perMessageDeflate: { threshold: 0 } };
  for (const [name, scene] of Object.entries(WITH_DEFLATE_BY_WS)) {
    await t.test(name, async (t) => {
      const results = [];
      for (const implementation of [ws, framemask]) {
        const { server, client } = await connectPair(t, implementation, { server: both, client: both });
        client.on('error', () => {});
        results.push(await scene(server, client));
      }
      t.same(results[1], results[0]);
    });
  }
  const { shared } = framemask.report().connections;
  const { server, client } = await connectPair(t, framemask, { server: { ...both, streamFrom: 3 }, client: both });
  client.send('long text');
  const [stream] = await once(server, 'stream');
  let received = '';
  for await (const part of stream.setEncoding('utf8')) received += part;
  t.equal(received, 'long text', 'streams come by the Decoder');
  await connectPair(t, framemask, { server: both, client: both });
  t.equal(framemask.report().connections.shared, shared + (isOther ? 0 : 1), "ws's Receiver keeps its chunks");
  delete process.env.FRAMEMASK_DEFLATE;
  t.equal(framemask.report().deflate, process.versions.deno === undefined ? 'framemask' : 'ws');
});

t.test('another value of FRAMEMASK_DEFLATE is ignored by one warning', { skip: isOther }, async (t) => {
  process.env.FRAMEMASK_DEFLATE = 'wss';
  t.teardown(() => delete process.env.FRAMEMASK_DEFLATE);
  const warnings = [];
  const listen = ({ message }) => warnings.push(message);
  process.on('warning', listen);
  for (let i = 0; i < 2; i++) t.equal(framemask.report().deflate, 'framemask');
  await settled();
  process.off('warning', listen);
  t.same(warnings, ['FRAMEMASK_DEFLATE is "wss", and must be "ws": ignored']);
});

t.test('other connections are heard amid compressed messages without end, each sent in a callback', async (t) => {
  const perMessageDeflate = { threshold: 0 };
  const { server, client } = await connectPair(t, framemask, {
    server: { perMessageDeflate },
    client: { perMessageDeflate }
  });
  const other = await connectPair(t, framemask);
  const data = 'some words that shrink. '.repeat(80);
  let left = 20_000;
  const next = (error) => {
    if (!error && left-- > 0) server.send(data, next);
  };
  next();
  other.client.send('tick');
  await once(other.server, 'message');
  t.ok(left > 0, 'before the last message');
  left = 0;
  client.close();
  await once(server, 'close');
});
