'use strict';

// Listeners that throw, pause, close and end the connection while a chunk is decoded.

const { once } = require('node:events');
const t = require('tap');
const { PING, TEXT, frame } = require('../support/frames');
const { IMPLEMENTATIONS, connectPair, connectRaw, record, settled, uncaught } = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const KEY = Buffer.from([1, 2, 3, 4]);
const masked = (opcode, data, options) => frame(opcode, data, { key: KEY, ...options });
const TEXTS = ['a', 'b', 'c', 'd'];

for (const perMessageDeflate of [false, true]) {
  for (const allowSynchronousEvents of [true, false]) {
    const title = `${perMessageDeflate ? 'compressed' : 'plain'}, ${allowSynchronousEvents ? 'synchronous' : 'deferred'}`;
    t.test(`framemask/ws goes on after a listener that throws: ${title}`, async (t) => {
      const { server, client } = await connectPair(t, IMPLEMENTATIONS['framemask/ws'], {
        server: { perMessageDeflate: perMessageDeflate && { threshold: 0 }, allowSynchronousEvents },
        client: { perMessageDeflate: perMessageDeflate && { threshold: 0 } }
      });
      const seen = [];
      const errors = await uncaught(async () => {
        server.on('message', (data) => {
          seen.push(data.toString());
          throw new Error(`at ${data}`);
        });
        for (const text of TEXTS) client.send(text);
        client.send(Buffer.from('binary'));
        client.close();
        await once(client, 'close');
      });
      t.same(seen, [...TEXTS, 'binary']);
      t.same(
        errors.map(({ message }) => message),
        [...TEXTS, 'binary'].map((text) => `at ${text}`)
      );
    });
  }
}

/** What a listener does at the second of four messages that come in one chunk. */
const ACTIONS = {
  pause: (ws) => {
    ws.pause();
    setTimeout(() => ws.resume(), 20);
  },
  close: (ws) => ws.close(3001, 'enough'),
  terminate: (ws) => ws.terminate(),
  'send after close': (ws) => {
    ws.close();
    ws.send('too late', () => {});
  },
  'remove all listeners': (ws) => ws.removeAllListeners('message')
};

const seen = {};
for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
  seen[name] = {};
  for (const [action, act] of Object.entries(ACTIONS)) {
    t.test(`${name}: a listener that does this amid a chunk: ${action}`, async (t) => {
      const { server, socket } = await connectRaw(t, implementation);
      const events = record(server);
      const states = [];
      server.on('message', (data) => {
        states.push(server.readyState, server.isPaused);
        if (data.toString() === 'b') act(server);
      });
      const answers = [];
      socket.on('data', (chunk) => answers.push(chunk));
      socket.write(Buffer.concat(TEXTS.map((text) => masked(TEXT, text))));
      await settled();
      socket.end(masked(PING, 'late'));
      const found = await events;
      await settled();
      seen[name][action] = [found, states, Buffer.concat(answers).toString('hex')];
      t.ok(found.length > 1);
    });
  }
}

t.test('framemask/ws does the same as ws', (t) => {
  t.same(seen['framemask/ws'], seen.ws);
  t.end();
});

const noLimit = !hasWs('8.23.0') && 'ws has maxPendingAutoPongs since 8.23';
t.test('a peer that never reads the automatic pongs is dropped', { skip: noLimit }, async (t) => {
  for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
    for (const [count, dropped] of [
      [60, false],
      [70, true]
    ]) {
      const { server, socket } = await connectRaw(t, implementation, { maxPendingAutoPongs: 60 });
      socket.write(Buffer.concat(Array.from({ length: count }, () => masked(PING, 'p'))));
      await settled();
      t.equal(server.readyState !== 1, dropped, `${name}: ${count} pings in a chunk`);
    }
  }
});

t.test('without autoPong nothing is answered', async (t) => {
  const { server, socket } = await connectRaw(t, IMPLEMENTATIONS['framemask/ws'], { autoPong: false });
  const ping = once(server, 'ping');
  const answers = [];
  socket.on('data', (chunk) => answers.push(chunk));
  socket.write(masked(PING, 'p'));
  t.equal(String((await ping)[0]), 'p');
  await settled();
  t.same(answers, []);
});

t.test('an empty message that a listener transfers harms no other', async (t) => {
  const { server, client } = await connectPair(t, IMPLEMENTATIONS['framemask/ws']);
  for (let i = 0; i < 3; i++) {
    const received = once(server, 'message');
    client.send(Buffer.alloc(0));
    const [data] = await received;
    t.equal(data.length, 0);
    t.doesNotThrow(() => structuredClone(data, { transfer: [data.buffer] }), `message ${i}`);
    client.ping();
    await once(server, 'ping');
  }
});
