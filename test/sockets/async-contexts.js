'use strict';

// What connections share (a heartbeat's clock, the writes of a turn, the thread pool, a session of
// HTTP/2) runs in no AsyncLocalStorage context: no connection hears anything in that of another.

const { AsyncLocalStorage } = require('node:async_hooks');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { Duplex } = require('node:stream');
const t = require('tap');
const { Connection } = require('../..');
const { WebSocket, WebSocketServer } = require('../../ws.js');
const { collectGarbage } = require('../support/collect-garbage');
const { HTTP_SERVERS } = require('../support/http-servers');
const { until } = require('../support/promises');

const storage = new AsyncLocalStorage();
const COUNT = 4;

/** A server whose connections are accepted each in a context of its own, as a tracer does it. */
const DOORS = {
  Connection(server, options, open) {
    server.on('upgrade', (request, socket, head) => {
      storage.run({}, () => {
        const own = storage.getStore();
        const handlers = {};
        const note = (name) => () => open.note(own, name);
        for (const name of ['onMessage', 'onDrain', 'onError', 'onClose', 'onPong']) handlers[name] = note(name);
        const { deflate } = options;
        open({ own, peer: Connection.accept(request, socket, head, { ...options, ...handlers }, { deflate }) });
      });
    });
  },
  'framemask/ws'(server, { deflate = false, ...options }, open) {
    const wss = new WebSocketServer({ noServer: true, perMessageDeflate: deflate, ...options });
    server.on('upgrade', (request, socket, head) => {
      storage.run({}, () => {
        const own = storage.getStore();
        wss.handleUpgrade(request, socket, head, (peer) => {
          for (const name of ['message', 'error', 'close', 'pong']) peer.on(name, () => open.note(own, name));
          socket.on('drain', () => open.note(own, 'drain'));
          open({ own, peer });
        });
      });
    });
  }
};

/** Opens connections; `heard` counts the events of each in its own context, in none, in another. */
async function openMany(t, door, options, { client = {}, transport = 'TCP' } = {}) {
  const ends = [];
  const heard = { own: 0, none: 0, others: new Set() };
  const open = (end) => ends.push(end);
  open.note = (own, name) => {
    const store = storage.getStore();
    if (store !== undefined && store !== own) heard.others.add(name);
    else heard[store === undefined ? 'none' : 'own']++;
  };
  const server = HTTP_SERVERS[transport]();
  DOORS[door](server, options, open);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  const clients = [];
  for (let i = 0; i < COUNT; i++) {
    const given = { perMessageDeflate: false, http2: transport === 'HTTP/2', ...client };
    const own = {};
    const each = storage.run(own, () => new WebSocket(`ws://127.0.0.1:${port}`, given));
    clients.push(each);
    each.on('error', () => {});
    each.on('message', () => open.note(own, 'message of a client'));
    await until(() => ends.length === i + 1 && each.readyState === WebSocket.OPEN);
  }
  t.teardown(() => {
    for (const each of clients) each.terminate();
    server.close();
  });
  return { ends, heard, clients, note: open.note };
}

/** Has each connection send in its own context, and counts the callbacks. */
function sendAll({ ends, note }, ...messages) {
  let left = ends.length * messages.length;
  for (const { own, peer } of ends) {
    storage.run(own, () => {
      for (const data of messages) {
        peer.send(data, () => {
          note(own, 'callback');
          left--;
        });
      }
    });
  }
  return until(() => left === 0);
}

/** In a function of its own: one that waits may keep what it has read. */
function endFirst(ends) {
  const { own, peer } = ends.shift();
  peer.terminate();
  return new WeakRef(own);
}

for (const door of Object.keys(DOORS)) {
  for (const transport of ['TCP', 'HTTP/2']) {
    t.test(`heartbeats of silent peers: ${door}, ${transport}`, async (t) => {
      const many = await openMany(t, door, { heartbeat: 40 }, { transport, client: { autoPong: false } });
      await until(() => many.ends.every(({ peer }) => peer.readyState === 3));
      t.same([...many.heard.others], []);
      t.ok(many.heard.none > 0);
    });

    t.test(`writes of one turn, and what follows from them: ${door}, ${transport}`, async (t) => {
      const many = await openMany(t, door, {}, { transport });
      await sendAll(many, 'x'.repeat(2000), Buffer.alloc(500), Buffer.alloc(5_000_000));
      for (const each of many.clients) each.send('from a client');
      await sendAll(many, 'a'.repeat(100));
      for (const each of many.clients) each.terminate();
      await until(() => many.ends.every(({ peer }) => peer.readyState === 3));
      t.same([...many.heard.others], []);
    });
  }

  t.test(`messages in the thread pool, and work that waits for another turn: ${door}`, async (t) => {
    const deflate = { threshold: 0 };
    const many = await openMany(t, door, { deflate }, { client: { perMessageDeflate: deflate } });
    const text = randomBytes(50_000).toString('hex');
    for (const each of many.clients) {
      each.send(text);
      for (let i = 0; i < 500; i++) each.send('short '.repeat(300));
    }
    for (let i = 0; i < 4; i++) await sendAll(many, text, ...Array(200).fill('short '.repeat(300)));
    for (const each of many.clients) each.close();
    await until(() => many.ends.every(({ peer }) => peer.readyState === 3));
    t.same([...many.heard.others], []);
  });

  t.test(`the clock does not keep the context of the first connection: ${door}`, async (t) => {
    const { ends } = await openMany(t, door, { heartbeat: 60_000 });
    const held = endFirst(ends);
    await until(() => {
      collectGarbage();
      return held.deref() === undefined;
    });
    t.equal(ends.length, COUNT - 1);
  });
}

t.test('onDrain that waits for another turn: a context that it enters is its own', async (t) => {
  const waiting = [];
  /** A Connection whose writes end when the test says so. */
  const open = (options) => {
    const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => waiting.push(done) });
    return new Connection(stream, 'server', { onError() {}, ...options });
  };
  const seen = [];
  for (let i = 0; i < 3; i++) {
    const onDrain = () => {
      seen.push(storage.getStore());
      storage.enterWith({});
    };
    storage.run(undefined, () => open({ onDrain }).send(Buffer.alloc(200_000)));
  }
  // The headers, and then what is left of each message.
  for (const done of waiting.splice(0)) done();
  await new Promise(setImmediate);
  const payloads = waiting.splice(0);
  // Each callback of a write counts: these are more than a turn may have.
  for (let i = 0; i < 2000; i++) open().send('x', () => {});
  await new Promise(setImmediate);
  for (const done of [...waiting, ...payloads]) done();
  await until(() => seen.length === 3);
  t.same(seen, [undefined, undefined, undefined]);
});
