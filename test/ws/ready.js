'use strict';

const { once } = require('node:events');
const t = require('tap');
const { until } = require('../support/promises');
const { IMPLEMENTATIONS, connectPair, connectRaw, deliver, listen } = require('../support/websockets');
const framemask = require('../../ws.js');

const { WebSocket, ready, received } = framemask;
const MIB = Buffer.alloc(1024 * 1024);

/** Sends until bytes wait in the socket: the peer does not read. */
function fill(websocket) {
  while (websocket.bufferedAmount < 8 * MIB.length) websocket.send(MIB);
}

const SETTINGS = [{ perMessageDeflate: false }, { perMessageDeflate: { threshold: 0 } }];

for (const options of SETTINGS) {
  t.test(`ready resolves when the bytes have left, ${JSON.stringify(options)}`, async (t) => {
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    client.pause();
    await ready(server);
    fill(server);
    let isReady = false;
    const waits = ready(server, { below: 100_000 }).then(() => {
      isReady = true;
    });
    await new Promise(setImmediate);
    t.notOk(isReady);
    client.resume();
    await waits;
    t.ok(server.bufferedAmount < 100_000, String(server.bufferedAmount));
    await Promise.all([ready(server), ready(server, { below: 1 })]);
  });
}

t.test('a hundred wait for the same without a warning', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const listeners = [server.listenerCount('close'), server._socket.listenerCount('drain')];
  const warnings = [];
  const warn = (warning) => warnings.push(warning);
  process.on('warning', warn);
  client.pause();
  fill(server);
  const waits = Array.from({ length: 100 }, () => ready(server));
  await new Promise(setImmediate);
  client.resume();
  await Promise.all(waits);
  process.off('warning', warn);
  t.same(warnings, []);
  t.same([server.listenerCount('close'), server._socket.listenerCount('drain')], listeners);
});

t.test('ready waits for a connection to open', async (t) => {
  const client = new WebSocket((await listen(t, framemask)).url);
  await ready(client);
  t.equal(client.readyState, client.OPEN);
  client.terminate();
});

t.test('ready rejects if the connection closes, or is closed', async (t) => {
  for (const how of ['terminate', 'reset']) {
    const { server, socket } = await connectRaw(t, framemask);
    socket.pause();
    fill(server);
    const waits = ready(server);
    if (how === 'terminate') server.terminate();
    else socket.resetAndDestroy();
    await t.rejects(waits, { code: 'FRAMEMASK_ERR_NOT_OPEN' }, how);
    await t.rejects(ready(server), { code: 'FRAMEMASK_ERR_NOT_OPEN' }, how);
  }
  const plain = await connectPair(t, IMPLEMENTATIONS.ws);
  await t.rejects(ready(plain.server), { code: 'FRAMEMASK_ERR_NOT_OPEN' }, 'a WebSocket of plain ws');
});

t.test('ready heeds its signal, and refuses marks that are no numbers', async (t) => {
  for (const options of SETTINGS) {
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    client.pause();
    const listeners = server.listenerCount('close');
    fill(server);
    const reason = new Error('enough');
    await t.rejects(ready(server, { signal: AbortSignal.abort(reason) }), reason);
    const controller = new AbortController();
    const waits = ready(server, { signal: controller.signal });
    controller.abort(reason);
    await t.rejects(waits, reason);
    t.equal(server.listenerCount('close'), listeners);
    for (const below of [0, -1, Number.NaN, 'a']) await t.rejects(ready(server, { below }), /below must be/);
  }
});

t.test('received: a peer in the middle of a frame that never ends is alive', async (t) => {
  const { server, socket } = await connectRaw(t, framemask, { maxPayload: 0 });
  const before = received(server);
  t.equal(before.bytes, 0);
  const header = Buffer.from([0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  socket.write(header);
  await until(() => received(server).bytes >= header.length);
  t.ok(received(server).time >= before.time);
  t.equal(before.bytes, 0, 'a copy');
  server.ping();
  for (let i = 0; i < 10; i++) {
    const { bytes, time } = received(server);
    socket.write(Buffer.alloc(100));
    await until(() => received(server).bytes > bytes);
    t.ok(received(server).time >= time);
  }
  t.equal(received(server).bytes, header.length + 1000);
});

t.test('received: before the connection is open, and for an end of plain ws', async (t) => {
  const client = new WebSocket('ws://127.0.0.1:1');
  t.equal(received(client).bytes, 0);
  await once(client, 'error');
  const { server, client: peer } = await connectPair(t, IMPLEMENTATIONS.ws);
  received(server);
  await deliver(peer, server, 'abc');
  t.equal(received(server).bytes, 9);
});
