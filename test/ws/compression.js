'use strict';

// Compressed messages of framemask/ws, beside those of ws.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const zlib = require('node:zlib');
const t = require('tap');
const ws = require('ws');
const framemask = require('../../ws.js');
const { Inflater } = require('../../lib/deflate/inflater');
const { attachCompressor } = require('../../lib/ws/compression');
const { agreementOf } = require('../../lib/ws/internals');
const { framesFor } = require('../support/frames');
const { connectPair, connectRaw, record, runSource, settled, uncaught } = require('../support/websockets');
const { createRandom, seed } = require('../support/random');

/** An empty stored block: what ends a sync flush. */
const EMPTY_BLOCK = Buffer.from('000000ffff', 'hex');
const NONE = { serverNoContextTakeover: true, clientNoContextTakeover: true };
const NONE_AGREED = { server_no_context_takeover: true, client_no_context_takeover: true };
const paramsOf = (websocket) => ({ ...websocket._extensions['permessage-deflate'].params });
const json = (count) => JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, name: `user ${id}` })));

/**
 * A negotiated PerMessageDeflate, as a connection has it; with framemask's contexts if `instead`.
 */
function createDeflate(options, params, instead) {
  const client = negotiated(options, params);
  const role = options.isServer ? 'server' : 'client';
  const agreement = agreementOf(client);
  const inflater = instead ? new Inflater(agreement.receiving(role)) : null;
  if (instead) attachCompressor(client, agreement.sending(role), () => inflater.close());
  return {
    compress: (data, fin = true) =>
      new Promise((resolve, reject) => {
        client.compress(data, fin, (error, deflated) => (error ? reject(error) : resolve(deflated)));
      }),
    decompress: (data, fin = true, limit = Infinity) =>
      new Promise((resolve, reject) => {
        const end = (error, inflated) => (error ? reject(error) : resolve(inflated));
        if (inflater === null) client.decompress(data, fin, end);
        else if (inflater.inflate(data, fin, limit)) end(null, fin ? inflater.take() : null);
        else
          inflater.inflateLater(data, fin, limit, (error) =>
            end(error, fin && error === null ? inflater.take() : null)
          );
      }),
    cleanup: () => client.cleanup()
  };
}

/** ws's class; older versions do not export it. */
let PerMessageDeflate;

t.before(async () => {
  const server = new ws.WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: true });
  await once(server, 'listening');
  const client = new ws.WebSocket(`ws://127.0.0.1:${server.address().port}`);
  await once(client, 'open');
  PerMessageDeflate = client._extensions['permessage-deflate'].constructor;
  client.terminate();
  server.close();
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

t.test(`with takeover the bytes are those of ws, and each end inflates the other's (seed ${seed})`, async (t) => {
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

t.test('without takeover a message that is not small is inflated in the thread pool', async (t) => {
  for (const params of [{ client_no_context_takeover: true }, {}]) {
    const deflate = createDeflate({ isServer: true }, params, true);
    const message = Buffer.alloc(1_000_000, 'abc');
    const deflated = zlib.deflateRawSync(message, { finishFlush: zlib.constants.Z_SYNC_FLUSH }).subarray(0, -4);
    for (let i = 0; i < 3; i++) t.ok((await deflate.decompress(deflated)).equals(message));
    await assert.rejects(deflate.decompress(deflated, true, 999_999), { closeCode: 1009 });
    deflate.cleanup();
  }
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
  const f = framesFor('server');
  const options = { perMessageDeflate: true, allowSynchronousEvents: false };
  const { server, socket } = await connectRaw(t, framemask, options);
  const events = record(server);
  const good = (data) => zlib.deflateRawSync(data);
  socket.write(
    Buffer.concat([
      f.text(good('one'), { rsv: 0x40 }),
      f.binary(good('two'), { rsv: 0x40 }),
      f.text(good(Buffer.from([0xff])), { rsv: 0x40 })
    ])
  );
  const seen = (await events).slice(0, 3).map(([event, data]) => `${event} ${data}`);
  t.same(seen.slice(0, 2), ['message one', 'message two']);
  t.match(seen[2], /^error/);
});

t.test('small messages arrive in one read, and replies leave in one write', async (t) => {
  for (const options of [{}, { contextTakeover: false }]) {
    const perMessageDeflate = { threshold: 0, ...options };
    const { server, client } = await connectPair(t, framemask, {
      server: { perMessageDeflate },
      client: { perMessageDeflate }
    });
    t.same(paramsOf(server), options.contextTakeover === false ? NONE_AGREED : {});
    server.on('message', (data, isBinary) => server.send(data, { binary: isBinary }));
    let count = 0;
    const { _socket: socket } = server;
    const { write } = socket;
    socket.write = function (...args) {
      count++;
      return write.apply(this, args);
    };
    const received = record(client, 20);
    for (let i = 0; i < 20; i++) client.send(json(10 + i));
    const events = await received;
    assert.deepEqual(
      events.map(([, data]) => String(data)),
      Array.from({ length: 20 }, (_, i) => json(10 + i))
    );
    t.ok(count <= 2, `${count} writes`);
  }
});

t.test(
  'contextTakeover: false asks for shared contexts, of a server or a client, and other options stay',
  async (t) => {
    const perMessageDeflate = { contextTakeover: false, threshold: 5 };
    for (const protocols of [undefined, []]) {
      const server = new framemask.WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: true });
      await once(server, 'listening');
      const url = `ws://127.0.0.1:${server.address().port}`;
      const options = { perMessageDeflate };
      const client =
        protocols === undefined
          ? new framemask.WebSocket(url, options)
          : new framemask.WebSocket(url, protocols, options);
      await once(client, 'open');
      t.same(paramsOf(client), NONE_AGREED);
      client.terminate();
      server.close();
    }
    const server = new framemask.WebSocketServer({ noServer: true, perMessageDeflate });
    t.match(server.options.perMessageDeflate, { threshold: 5, ...NONE });
    t.same(Object.keys(perMessageDeflate), ['contextTakeover', 'threshold'], 'the options themselves do not change');
    t.equal(new framemask.WebSocketServer({ noServer: true, perMessageDeflate: null }).options.perMessageDeflate, null);
  }
);

t.test('without takeover, a message below the threshold goes out uncompressed, as with ws', async (t) => {
  for (const implementation of [ws, framemask]) {
    const deflate = { serverNoContextTakeover: true, clientNoContextTakeover: true };
    for (const [perMessageDeflate, compressed] of [
      [deflate, [false, true]],
      [{ ...deflate, threshold: 600 }, [true, true]],
      [true, [true, true]]
    ]) {
      const { server, client } = await connectPair(t, implementation, { server: { perMessageDeflate } });
      const sizes = [];
      client._socket.on('data', ({ length }) => sizes.push(length));
      for (const length of [652, 1024]) {
        server.send('a'.repeat(length));
        await once(client, 'message');
      }
      t.same(
        sizes.map((size) => size < 100),
        compressed,
        JSON.stringify(perMessageDeflate)
      );
    }
  }
});

t.test('where zlib has no handles that work, ws compresses', (t) => {
  const deflate = negotiated({}, {});
  let ended = 0;
  attachCompressor(deflate, agreementOf(deflate).sending('client'), () => ended++, false);
  t.notOk(Object.hasOwn(deflate, 'compress'));
  deflate.cleanup();
  t.equal(ended, 1);
  t.end();
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
        const held = (process.memoryUsage().arrayBuffers - before) / size;
        t.ok(held < 12, `${name}: ${held.toFixed(1)} times the ${typeof content}`);
        data.fill('x');
        const last = createDeflate({}, params, false);
        const inflated = await last.decompress(await deflated.at(-1));
        t.ok(inflated.equals(Buffer.from(content)), `${name}: what has been changed`);
        await Promise.all(deflated);
        for (const { cleanup } of [last, ...ends]) cleanup();
      }

      const ends = Array.from({ length: 12 }, () => createDeflate({ isServer: true }, params, instead));
      const last = ends.at(-1);
      const peer = createDeflate({}, params, instead);
      await peer.decompress(await last.compress(data));
      const all = ends.map(({ compress }) => compress(data));
      const moved = structuredClone(data, { transfer: [data.buffer] });
      t.equal((await peer.decompress(await all.at(-1))).length, 0, `${name}: nothing, when it has been transferred`);
      t.equal(String(await peer.decompress(await last.compress('next'))), 'next', name);
      await Promise.all(all);
      // ws still reads it in the pool until then.
      t.equal(moved.length, size);
      for (const { cleanup } of [peer, ...ends]) cleanup();
    }
  }
});

t.test('messages after a large one that are transferred are sent empty, as by ws', async (t) => {
  for (const implementation of [ws, framemask]) {
    const options = { perMessageDeflate: { threshold: 0 } };
    const { server, client } = await connectPair(t, implementation, { server: options, client: options });
    const received = record(client, 4);
    server.send(Buffer.alloc(1_000_000, 'abc'));
    for (const size of [100, 100_000]) {
      const data = Buffer.from(new ArrayBuffer(size));
      server.send(data);
      structuredClone(data, { transfer: [data.buffer] });
    }
    server.send('after');
    t.same(
      (await received).map(([, { length }]) => length),
      [1_000_000, 0, 0, 5]
    );
  }
});

t.test('a write that throws does not hurry a message in the thread pool, or an event in its turn', async (t) => {
  const f = framesFor('server');
  const deflated = (data) => zlib.deflateRawSync(data, { finishFlush: zlib.constants.Z_SYNC_FLUSH }).subarray(0, -4);
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
    const pair = [f.text(deflated(big), { rsv: 0x40 }), f.text(deflated('small'), { rsv: 0x40 })];
    const errors = await uncaught(async () => {
      socket.write(Buffer.concat([f.ping('ping'), ...pair, ...pair]));
      await isDone;
      await settled();
    });
    t.ok(errors.filter(({ message }) => message === 'from write').length > 1);
    assert.deepEqual(seen, expected);
    server._socket.write = write;
  }
});

t.test('a connection that ends while a message is compressed or inflated', async (t) => {
  const big = Buffer.alloc(5_000_000, 'abc');
  for (const deflateOptions of [{ threshold: 0 }, { threshold: 0, contextTakeover: false }]) {
    const options = { perMessageDeflate: deflateOptions };
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    const sent = new Promise((resolve) => client.send(big, resolve));
    client.terminate();
    t.match(await sent, { message: 'The socket was closed while data was being compressed' });
    server.terminate();

    const pair = await connectPair(t, framemask, { server: options, client: options });
    pair.server._socket.once('data', () => pair.server.terminate());
    pair.client.send(big);
    // `once` rejects if there is an 'error'.
    await Promise.all([once(pair.server, 'close'), once(pair.client, 'close')]);
    await settled();
  }
});

t.test('errors in compressed messages are those of ws, large ones too', async (t) => {
  const broken = zlib.deflateRawSync(Buffer.alloc(1_000_000, 'abc'), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  const bad = Buffer.concat([broken, Buffer.from([7])]);
  const text = zlib.deflateRawSync(Buffer.alloc(1_000_000, 0xff));
  for (const payload of [Buffer.from([7]), bad, text]) {
    const seen = [];
    for (const implementation of [ws, framemask]) {
      const { server, socket } = await connectRaw(t, implementation, { perMessageDeflate: true });
      const events = record(server);
      socket.write(framesFor('server').text(payload, { rsv: 0x40 }));
      const [first] = await events;
      seen.push(first);
    }
    t.same(seen[1], seen[0]);
  }
});

t.test('allowSynchronousEvents: false: a large binary message has a turn of its own', async (t) => {
  const options = { perMessageDeflate: { threshold: 0 }, allowSynchronousEvents: false };
  const { server, client } = await connectPair(t, framemask, { server: options, client: options });
  const received = record(server, 2);
  const data = Buffer.alloc(1_000_000, 'abc');
  client.send(data);
  client.send('after');
  const [first, second] = await received;
  t.ok(data.equals(first[1]));
  t.equal(String(second[1]), 'after');
});

t.test(
  'fragments that have been inflated are not held',
  { skip: (process.versions.bun ?? process.versions.deno) !== undefined },
  async (t) => {
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
  }
);
