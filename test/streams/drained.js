'use strict';

const t = require('tap');
const { forEachDoor } = require('../support/doors');
const { IMPLEMENTATIONS, connectPair, connectRaw, listen } = require('../support/websockets');
const framemask = require('../../ws.js');

const { WebSocket, drained } = framemask;
const MIB = Buffer.alloc(1024 * 1024);

/** Sends until bytes wait in the socket: the peer does not read. */
function fill(websocket) {
  while (websocket.bufferedAmount < 8 * MIB.length) websocket.send(MIB);
}

const SETTINGS = [{ perMessageDeflate: false }, { perMessageDeflate: { threshold: 0 } }];

for (const options of SETTINGS) {
  forEachDoor(t, `drained resolves when the bytes have left, ${JSON.stringify(options)}`, async (t, framemask) => {
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    client.pause();
    await drained(server);
    fill(server);
    let isReady = false;
    const waits = drained(server, { below: 100_000 }).then(() => {
      isReady = true;
    });
    await new Promise(setImmediate);
    t.notOk(isReady);
    client.resume();
    await waits;
    t.ok(server.bufferedAmount < 100_000, String(server.bufferedAmount));
    await Promise.all([drained(server), drained(server, { below: 1 })]);
  });
}

forEachDoor(t, 'a hundred wait for the same without a warning', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const listeners = [server.listenerCount('close'), server._socket.listenerCount('drain')];
  const warnings = [];
  const warn = (warning) => warnings.push(warning);
  process.on('warning', warn);
  client.pause();
  fill(server);
  const waits = Array.from({ length: 100 }, () => drained(server));
  await new Promise(setImmediate);
  client.resume();
  await Promise.all(waits);
  process.off('warning', warn);
  t.same(warnings, []);
  t.same([server.listenerCount('close'), server._socket.listenerCount('drain')], listeners);
});

forEachDoor(t, 'drained waits for a connection to open', async (t, framemask) => {
  const client = new WebSocket((await listen(t, framemask)).url);
  await drained(client);
  t.equal(client.readyState, client.OPEN);
  client.terminate();
});

forEachDoor(t, 'drained rejects if the connection closes, or is closed', async (t, framemask) => {
  for (const how of ['terminate', 'reset']) {
    const { server, socket } = await connectRaw(t, framemask);
    socket.pause();
    fill(server);
    const waits = drained(server);
    if (how === 'terminate') server.terminate();
    else socket.resetAndDestroy();
    await t.rejects(waits, { code: 'FRAMEMASK_ERR_NOT_OPEN' }, how);
    await t.rejects(drained(server), { code: 'FRAMEMASK_ERR_NOT_OPEN' }, how);
  }
  const plain = await connectPair(t, IMPLEMENTATIONS.ws);
  await t.rejects(drained(plain.server), { code: 'FRAMEMASK_ERR_NOT_OPEN' }, 'a WebSocket of plain ws');
});

forEachDoor(t, 'drained heeds its signal, and refuses marks that are no numbers', async (t, framemask) => {
  for (const options of SETTINGS) {
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    client.pause();
    const listeners = server.listenerCount('close');
    fill(server);
    const reason = new Error('enough');
    await t.rejects(drained(server, { signal: AbortSignal.abort(reason) }), reason);
    const controller = new AbortController();
    const waits = drained(server, { signal: controller.signal });
    controller.abort(reason);
    await t.rejects(waits, reason);
    t.equal(server.listenerCount('close'), listeners);
    const refused = {
      name: 'RangeError',
      code: 'ERR_OUT_OF_RANGE',
      message: /"below" argument must be a number above 0/
    };
    for (const below of [0, -1, Number.NaN, 'a']) await t.rejects(drained(server, { below }), refused);
  }
});
