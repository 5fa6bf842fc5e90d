'use strict';

// The options of a server that end a connection: `maxBackpressure` and `heartbeat`.

const { once } = require('node:events');
const http = require('node:http');
const { setImmediate: turn } = require('node:timers/promises');
const t = require('tap');
const { collectGarbage } = require('../support/collect-garbage');
const { until } = require('../support/promises');
const { TEXT, frame } = require('../support/frames');
const { isNode } = require('../support/socket-pairs');
const { IMPLEMENTATIONS, TRANSPORTS, connectDuplex, connectPair, settled } = require('../support/websockets');

const framemask = IMPLEMENTATIONS['framemask/ws'];
const KIB = 1024;
const BACKPRESSURE = { code: 'FRAMEMASK_ERR_BACKPRESSURE' };

/** Notes the end of a WebSocket. @returns {{ events: Array[], closed: Promise<number> }} */
function watchEnd(websocket) {
  const events = [];
  websocket.on('error', (error) => events.push(['error', error.code]));
  const closed = new Promise((resolve) =>
    websocket.on('close', (code) => {
      events.push(['close', code]);
      resolve(code);
    })
  );
  return { events, closed };
}

/** Has more than 64 KiB wait for a peer that does not read. */
async function fill(server) {
  for (let waits = -1; waits !== server.bufferedAmount || waits <= 64 * KIB; ) {
    waits = server.bufferedAmount;
    // One message of any size passes.
    if (waits <= 64 * KIB) server.send(Buffer.alloc(1024 * KIB));
    await settled();
  }
}

/** The ways to send: each calls back with an error, or nothing. */
const SENDS = {
  send: (server, callback) => server.send('x', callback),
  'send of ArrayBuffers': (server, callback) => server.send(new ArrayBuffer(1), callback),
  'a fragment': (server, callback) => server.send('x', { fin: false }, callback),
  ping: (server, callback) => server.ping('', false, callback),
  pong: (server, callback) => server.pong('', false, callback),
  sendFrame: (server, callback) => server._sender.sendFrame([frame(TEXT, 'x')], callback)
};

/** Deno's TLS takes all that is written, read or not. HTTP/2 is tested on Node.js alone. */
const FULL = isNode ? Object.keys(TRANSPORTS) : ['TCP', 'pipe'];

for (const transport of FULL) {
  for (const perMessageDeflate of [false, { threshold: 0 }]) {
    const title = `${transport}${perMessageDeflate ? ', compressed' : ''}`;
    t.test(`maxBackpressure: ${title}`, async (t) => {
      for (const [way, send] of Object.entries(SENDS)) {
        const options = { perMessageDeflate, maxBackpressure: 64 * KIB, maxPayload: 0 };
        const { server, client } = await connectPair(t, framemask, { server: options, transport });
        client.pause();
        const { events, closed } = watchEnd(server);
        const before = framemask.report().connections.ended.maxBackpressure;
        // What compresses well never waits.
        await fill({
          send: (data) => server.send(data, { compress: false }),
          get bufferedAmount() {
            return server.bufferedAmount;
          }
        });
        t.same(events, []);
        const errors = [];
        send(server, (error) => errors.push(error?.code));
        send(server, (error) => errors.push(error?.code));
        t.same([events, errors], [[], []], 'nothing is told within the call');
        t.equal(await closed, 1006);
        t.same(
          events,
          [
            ['error', BACKPRESSURE.code],
            ['close', 1006]
          ],
          way
        );
        await until(() => errors.length === 2);
        t.equal(errors[0], BACKPRESSURE.code, way);
        t.equal(framemask.report().connections.ended.maxBackpressure, before + 1);
        client.on('error', () => {});
        client.terminate();
      }
    });
  }
}

t.test('maxBackpressure: a Close frame leaves after all that waits', async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { maxBackpressure: 64 * KIB } });
  client.pause();
  await fill(server);
  const { events, closed } = watchEnd(server);
  server.close(1000);
  client.resume();
  t.equal(await closed, 1000);
  t.same(events, [['close', 1000]]);
});

t.test('maxBackpressure: what waits for compression counts, but not for the frames before it', async (t) => {
  const options = { perMessageDeflate: { threshold: 0 }, maxBackpressure: 1024 * KIB };
  const { server, client } = await connectPair(t, framemask, { server: options });
  let received = 0;
  client.on('message', () => received++);
  // The thread pool has the first, and the second, which is long, waits behind it.
  server.send(Buffer.alloc(100 * KIB));
  server.send(Buffer.alloc(4096 * KIB));
  await until(() => received === 2);
  const { events, closed } = watchEnd(server);
  server.send(Buffer.alloc(100 * KIB));
  server.send(Buffer.alloc(4096 * KIB));
  server.send('x');
  t.equal(await closed, 1006);
  t.same(events, [
    ['error', BACKPRESSURE.code],
    ['close', 1006]
  ]);
});

t.test('maxBackpressure: 1,000 peers that never read a broadcast cost a bounded number of bytes', async (t) => {
  const maxBackpressure = 32 * KIB;
  const used = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  const servers = [];
  const codes = [];
  while (servers.length < 1000) {
    // The handshake's answer is taken, and nothing after it.
    const server = await connectDuplex(framemask, (chunk, callback) => chunk[0] === 72 && callback(), {
      maxBackpressure
    });
    server.on('error', ({ code }) => codes.push(code));
    servers.push(server);
  }
  let most = 0;
  const open = () => servers.filter(({ readyState }) => readyState === 1);
  for (let some = open(); some.length > 0; some = open()) {
    for (const server of some) server.send('x'.repeat(1000));
    await turn();
    most = Math.max(most, ...servers.map(({ bufferedAmount }) => bufferedAmount));
  }
  t.ok(most > maxBackpressure && most <= maxBackpressure + 2 * KIB, `${most} bytes waited`);
  const held = (used() - before) / servers.length;
  // Beside the frames, their Buffers.
  if (isNode) t.ok(held <= maxBackpressure + 16 * KIB, `${held} bytes a connection`);
  t.same(codes, Array(1000).fill(BACKPRESSURE.code));
});

t.test('heartbeat: who answers Pings stays, also without messages', async (t) => {
  for (const transport of isNode ? Object.keys(TRANSPORTS) : ['TCP', 'TLS']) {
    const { server } = await connectPair(t, framemask, { server: { heartbeat: 40 }, transport });
    const { events } = watchEnd(server);
    for (let i = 0; i < 4; i++) await once(server, 'pong');
    t.same(events, [], transport);
    server.terminate();
  }
});

t.test('heartbeat: who answers nothing is dropped', async (t) => {
  for (const transport of isNode ? Object.keys(TRANSPORTS) : ['TCP', 'TLS']) {
    const before = framemask.report().connections.ended.heartbeat;
    const client = { autoPong: false };
    const { server, client: peer } = await connectPair(t, framemask, { server: { heartbeat: 40 }, client, transport });
    const { events, closed } = watchEnd(server);
    const pings = once(peer, 'ping');
    t.equal(await closed, 1006);
    t.same(
      events,
      [
        ['error', 'FRAMEMASK_ERR_HEARTBEAT'],
        ['close', 1006]
      ],
      transport
    );
    await pings;
    t.equal(framemask.report().connections.ended.heartbeat, before + 1);
  }
});

t.test('heartbeat: a Ping behind more than maxBackpressure ends the connection', async (t) => {
  for (const transport of FULL) {
    const limits = { heartbeat: 40, maxBackpressure: 64 * KIB };
    const { server, client } = await connectPair(t, framemask, { server: limits, transport });
    client.pause();
    const { events, closed } = watchEnd(server);
    // No kernel takes as much.
    server.send(Buffer.alloc(32 * KIB * KIB));
    t.equal(await closed, 1006);
    t.same(events[0], ['error', BACKPRESSURE.code], transport);
    client.on('error', () => {});
    client.terminate();
  }
});

t.test('heartbeat: the clock stands still while the program reads nothing', async (t) => {
  const server = { heartbeat: 20, streamFrom: 1000 };
  const pause = {
    'WebSocket.pause': (one) => {
      one.pause();
      return () => one.resume();
    },
    'a stream that nobody reads': async (one, client) => {
      const given = once(one, 'stream');
      client.send('x'.repeat(1024 * KIB));
      const [stream] = await given;
      return () => stream.resume();
    }
  };
  for (const [title, hold] of Object.entries(pause)) {
    const pair = await connectPair(t, framemask, { server, client: { autoPong: false } });
    const { events, closed } = watchEnd(pair.server);
    const goOn = await hold(pair.server, pair.client);
    // Another connection with the same clock lives through its whole time.
    const other = await connectPair(t, framemask, { server, client: { autoPong: false } });
    await watchEnd(other.server).closed;
    t.same(events, [], title);
    goOn();
    await closed;
    t.same(
      events,
      [
        ['error', 'FRAMEMASK_ERR_HEARTBEAT'],
        ['close', 1006]
      ],
      title
    );
  }
});

/** @returns {Promise<WeakRef>} the server's end of a connection that has been closed */
async function closeOne(t) {
  const { server, client } = await connectPair(t, framemask, { server: { heartbeat: 1000 } });
  const { events, closed } = watchEnd(server);
  client.close();
  await closed;
  t.same(events, [['close', 1005]]);
  return new WeakRef(server);
}

t.test('heartbeat: the clock of others holds no connection that has ended', { skip: !isNode }, async (t) => {
  await connectPair(t, framemask, { server: { heartbeat: 1000 } });
  const ended = await closeOne(t);
  await until(() => {
    collectGarbage();
    return ended.deref() === undefined;
  });
});

t.test('options that can not be taken throw', (t) => {
  const server = http.createServer();
  const create = (options) => new framemask.WebSocketServer({ server, ...options });
  for (const [options, code] of [
    [{ heartbeat: -1 }, 'ERR_OUT_OF_RANGE'],
    [{ heartbeat: '5' }, 'ERR_INVALID_ARG_TYPE'],
    [{ heartbeat: 2 ** 31 }, 'ERR_OUT_OF_RANGE'],
    [{ maxBackpressure: NaN }, 'ERR_OUT_OF_RANGE'],
    [{ maxBackPressure: 1 }, 'ERR_INVALID_ARG_VALUE']
  ]) {
    t.throws(() => create(options), { code }, JSON.stringify(options));
  }
  t.end();
});
