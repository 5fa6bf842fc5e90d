'use strict';

// Test runners load the package in a vm context for each test file, and drop it afterwards.
// In a process of its own: other tests' listeners and memory do not count here.

const { AsyncLocalStorage } = require('node:async_hooks');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { collectGarbage } = require('./support/collect-garbage');
const { LONG } = require('./support/sample');
const { loadInContext } = require('./support/vm-context');

const WS = path.join(__dirname, '../ws.js');
const DESCRIPTORS = '/proc/self/fd';

/** Loads framemask/ws in a context, and has a connection echo a message. */
async function useInContext(storage) {
  const { exports, realm } = loadInContext(WS);
  await storage.run(realm, () => echo(exports));
  return new WeakRef(realm);
}

async function echo(exports) {
  const server = new exports.WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: true });
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  await once(server, 'listening');
  const client = new exports.WebSocket(`ws://127.0.0.1:${server.address().port}`);
  await once(client, 'open');
  client.send('x'.repeat(2000));
  await once(client, 'message');
  client.close();
  await once(client, 'close');
  server.close();
  await once(server, 'close');
}

/** The realms that are left, and what the process holds, when garbage has been collected. */
async function rest(realms) {
  // A WeakRef keeps its object until the end of the turn. A finalizer has a turn of its own.
  for (let i = 0; i < 5; i++) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return {
    realms: realms.filter((realm) => realm.deref() !== undefined).length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    descriptors: fs.existsSync(DESCRIPTORS) ? fs.readdirSync(DESCRIPTORS).length : 0,
    bytes: heapUsed + external
  };
}

t.test('50 contexts leave no more behind than two', LONG, async (t) => {
  const realms = [];
  // A test runner has a store for each test; a timer that is set meanwhile keeps it.
  const storage = new AsyncLocalStorage();
  const use = async () => realms.push(await useInContext(storage));
  for (let i = 0; i < 2; i++) await use();
  const two = await rest(realms);
  for (let i = 2; i < 50; i++) await use();
  const fifty = await rest(realms);
  t.ok(fifty.realms <= 2, `${fifty.realms} realms`);
  t.equal(fifty.listeners, two.listeners, 'listeners of the process');
  t.equal(fifty.descriptors, two.descriptors, 'descriptors');
  // A context with the modules of framemask and ws takes 2 MiB.
  const grown = (fifty.bytes - two.bytes) / 2 ** 20;
  t.ok(grown < 4, `${grown.toFixed(1)} MiB more`);
});
