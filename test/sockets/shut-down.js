'use strict';

// A server ends its connections within a time: `shutDown`, of Connections and of framemask/ws.

const { once } = require('node:events');
const http = require('node:http');
const t = require('tap');
const { Connection, shutDown } = require('../..');
const { uncaughtMessages } = require('../support/uncaught');
const { IMPLEMENTATIONS, listen } = require('../support/websockets');

const { WebSocket, WebSocketServer, report } = IMPLEMENTATIONS['framemask/ws'];
const KIB = 1024;

/** Clients of a server, each with a Promise of the code and the reason of its end. */
async function connectMany(url, count, options) {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const client = new WebSocket(url, options);
      const ended = once(client, 'close').then(([code, reason]) => `${code} ${reason}`);
      await once(client, 'open');
      return { client, ended };
    })
  );
}

const endsOf = (clients) => Promise.all(clients.map(({ ended }) => ended));

/** The status of the answer to a handshake. */
async function statusOf(url) {
  const [request, response] = await once(
    new WebSocket(url).on('error', () => {}),
    'unexpected-response'
  );
  request.destroy();
  return response.statusCode;
}

t.test('framemask/ws: all get a Close frame, and upgrades 503', async (t) => {
  const server = await listen(t, { WebSocketServer });
  const clients = await connectMany(server.url, 20);
  const first = server.shutDown({ within: 6000, reason: 'later' });
  t.equal(server.shutDown({ within: 1 }), first, 'the same Promise');
  t.equal(await statusOf(server.url), 503);
  t.same(new Set(await endsOf(clients)), new Set(['1012 later']));
  const before = report().connections.ended.shutDown;
  t.same(await first, { closed: 20, terminated: 0, droppedBytes: 0 });
  t.equal(report().connections.ended.shutDown, before);
  t.equal(server.options.server.listening, true, "the HTTP server is the program's");
});

t.test('framemask/ws: a handshake that is answered during it gets 503, too', async (t) => {
  let answer;
  const verifyClient = (_info, callback) => {
    answer = callback;
  };
  const server = await listen(t, { WebSocketServer }, { verifyClient });
  const status = statusOf(server.url);
  while (answer === undefined) await new Promise(setImmediate);
  const ended = server.shutDown({ within: 60_000 });
  answer(true);
  t.equal(await status, 503);
  t.same(await ended, { closed: 0, terminated: 0, droppedBytes: 0 });
});

t.test('framemask/ws: with a port it stops listening at once', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${server.address().port}`;
  const [{ ended, client }] = await connectMany(url, 1);
  const closed = once(server, 'close');
  const result = server.shutDown({ within: 30_000, code: 4000 });
  const [error] = await once(new WebSocket(url), 'error');
  t.equal(error.code, 'ECONNREFUSED');
  t.equal(await ended, '4000 ');
  t.same(await result, { closed: 1, terminated: 0, droppedBytes: 0 });
  await closed;
  t.equal(client.readyState, 3);
});

t.test('framemask/ws: who does not end is terminated, and the bytes that it had not read are told', async (t) => {
  const server = await listen(t, { WebSocketServer });
  const clients = await connectMany(server.url, 3);
  const [slow, paused, closing] = server.clients;
  clients[0].client.pause();
  clients[2].client.pause();
  while (slow.bufferedAmount < 100 * KIB) slow.send(Buffer.alloc(1024 * KIB));
  paused.pause();
  closing.close(4001);
  const before = report().connections.ended.shutDown;
  const { droppedBytes, ...counts } = await server.shutDown({ within: 300 });
  t.same(counts, { closed: 0, terminated: 3 });
  t.ok(droppedBytes >= 100 * KIB, `${droppedBytes} bytes`);
  t.equal(report().connections.ended.shutDown, before + 3);
  for (const { client } of clients) client.resume();
  t.same((await endsOf(clients)).sort(), ['1006 ', '1012 ', '4001 '].sort());
});

t.test('framemask/ws: options that can not be taken throw, and nothing ends', async (t) => {
  const untried = new WebSocketServer({ noServer: true });
  for (const [options, code] of [
    [undefined, 'ERR_INVALID_ARG_TYPE'],
    [{}, 'ERR_INVALID_ARG_TYPE'],
    [{ within: -1 }, 'ERR_OUT_OF_RANGE'],
    [{ within: 1, code: 1006 }, 'ERR_OUT_OF_RANGE'],
    [{ within: 1, reason: 5 }, 'ERR_INVALID_ARG_TYPE'],
    [{ within: 1, reason: 'x'.repeat(124) }, 'ERR_OUT_OF_RANGE']
  ]) {
    t.throws(() => untried.shutDown(options), { code }, JSON.stringify(options));
    await t.rejects(shutDown([], options), { code });
  }
  const server = new WebSocketServer({ noServer: true, clientTracking: false });
  t.throws(() => server.shutDown({ within: 1 }), { code: 'ERR_INVALID_STATE' });
  t.same(await untried.shutDown({ within: 0 }), { closed: 0, terminated: 0, droppedBytes: 0 });
});

t.test('Connections', async (t) => {
  const connections = new Set();
  const server = http.createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  server.on('upgrade', (request, socket, head) => connections.add(Connection.accept(request, socket, head)));
  await once(server, 'listening');
  const clients = await connectMany(`ws://127.0.0.1:${server.address().port}`, 10);
  const [first] = connections;
  first.pause();
  t.same(await shutDown(connections, { within: 3000, code: 1001 }), { closed: 9, terminated: 1, droppedBytes: 0 });
  t.same(await endsOf(clients), Array(10).fill('1001 '));
});

/** A connection whose peer answers each Close frame at once, or never. */
class Fake {
  constructor(answers) {
    this.readyState = 1;
    this.bufferedAmount = 1;
    this.codes = [];
    this._answers = answers;
  }

  close(code) {
    this.codes.push(code);
    this.readyState = this._answers ? 3 : 2;
    if (!this._answers) throw new Error('as a stream of the program may');
  }

  terminate() {
    this.codes.push('terminated');
    this.readyState = 2;
  }
}

t.test('100,000 connections: Close frames leave over two thirds of the time, in steps', async (t) => {
  const fakes = Array.from({ length: 100_000 }, (_, i) => new Fake(i % 1000 !== 0));
  const within = 1500;
  const began = performance.now();
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  let result;
  const errors = await uncaughtMessages(async () => {
    result = await shutDown(fakes, { within });
    clearImmediate(next);
    await new Promise(setImmediate);
  });
  t.same(result, { closed: 99_900, terminated: 100, droppedBytes: 100 });
  t.ok(turns > 20, `the thread is free ${turns} times`);
  t.ok(performance.now() - began >= within, 'those that do not end have all the time');
  t.ok(fakes.every(({ codes }, i) => codes.join() === (i % 1000 === 0 ? '1012,terminated' : '1012')));
  t.same(errors, Array(100).fill('as a stream of the program may'));
});

t.test('connections that take long to close: the thread is free after each', async (t) => {
  const free = [];
  const slow = (what) => () => {
    const began = performance.now();
    while (performance.now() - began < 5);
    free.push(what);
    setImmediate(() => free.push('free'));
  };
  const connections = Array.from({ length: 3 }, () => ({
    readyState: 1,
    bufferedAmount: 0,
    close: slow('closed'),
    terminate: slow('terminated')
  }));
  const counts = await shutDown(connections, { within: 1500 });
  t.same(counts, { closed: 0, terminated: 3, droppedBytes: 0 });
  const acts = Array(3).fill(['closed', 'free']);
  t.same(free, [...acts, ...Array(3).fill(['terminated', 'free'])].flat());
});
