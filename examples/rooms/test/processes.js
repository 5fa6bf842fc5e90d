'use strict';

// Many clients talk through three processes and a Redis. One process is killed amid the traffic and
// replaced, the connections to Redis are cut, and one process is shut down and replaced. Then 1,000
// clients talk through two processes, of which one after the other is shut down and replaced. Every
// message must reach every member of its room once, in the same order.
//
//     SERVERS=1 CLIENTS=3000 node test/processes.js
//
// is one process without Redis, of which nothing is killed: its memory and CPU. TRACING=off leaves
// its counts of frames out.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { createClient } = require('redis');
const { WebSocket } = require('framemask/ws');
const { SERVER, startServers } = require('./support/processes');
const { Traffic, hear, until } = require('./support/traffic');

const ROOM_SIZE = 30;
const MESSAGES = 5;
const SERVERS = Number(process.env.SERVERS ?? 3);
/** The clients that two processes pass to each other. */
const RESTARTED = 34 * ROOM_SIZE;
const CLIENTS = Math.ceil(Number(process.env.CLIENTS ?? 300) / ROOM_SIZE) * ROOM_SIZE;
/** Messages of a client that may wait for an acknowledgement. */
const UNACKNOWLEDGED = 3;
const TEXT = 'A sentence as people write it in a chat, neither long nor short. ';

/** Traffic of the example's own clients; each begins with one of the servers, in turn. */
async function createTraffic(urls, clients, onClose = () => {}) {
  const { ChatClient } = await import('../page/client.mjs');
  const connect = (client) => {
    const first = client.index % urls.length;
    client.incomplete = 0;
    client.chat = new ChatClient({
      urls: [...urls.slice(first), ...urls.slice(0, first)],
      name: String(client.index),
      WebSocket,
      onMessage: ({ name, n }) => hear(client, Number(name), n),
      onStatus: (_status, reason) => reason === 'The server restarts' && onClose(),
      onSent: (n) => client.published.add(n),
      onJoined: (_room, complete) => {
        client.isJoined = true;
        if (!complete) client.incomplete++;
      }
    });
    client.chat.join(client.room);
    client.say = () => {
      if (client.said - client.published.size >= UNACKNOWLEDGED) return false;
      client.said = client.chat.say(client.room, TEXT);
      return true;
    };
    client.close = () => client.chat.close();
  };
  return new Traffic({ connect, clients, roomSize: ROOM_SIZE, messages: MESSAGES });
}

/** Breaks the processes and their Redis while the clients talk. */
async function breakAll(traffic, servers, redis) {
  await traffic.talk(0.3);
  const ofKilled = traffic.clients.filter(({ index }) => index % servers.length === 1);
  assert.ok(ofKilled.some(({ published }) => published.size > 0));
  await Promise.all([servers[1].restart('SIGKILL'), traffic.talk(0.6)]);
  const cut = await redis.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  assert.equal(cut, 2 * servers.length);
  await traffic.talk(0.8);
  const [how] = await Promise.all([servers[2].restart('SIGTERM'), traffic.talk(1)]);
  assert.equal(how, 0);
  for (const { chat } of ofKilled) assert.ok(chat.connections > 1, 'clients of the killed process came back');
}

/** Every message has reached every member of its room once. */
async function check(traffic) {
  const { total, clients } = traffic;
  await until(() => clients.every(({ published }) => published.size === MESSAGES));
  await traffic.settle();
  const expected = { published: total, deliveries: total * ROOM_SIZE, lost: 0, repeated: 0, outOfOrder: 0 };
  assert.deepEqual(traffic.count(), { ...expected, orders: clients.length / ROOM_SIZE });
  const incomplete = clients.filter((client) => client.incomplete > 0);
  assert.equal(incomplete.length, 0, 'clients that were told that messages are missing');
}

for (const kind of ['ws', 'codec']) {
  test(`${kind}: ${CLIENTS} clients on ${SERVERS} processes`, async (t) => {
    const { servers, redis } = await startServers(t, kind === 'codec' ? [SERVER, '--codec'] : [SERVER], SERVERS);
    const metrics = () => servers[0].metrics();
    const before = await metrics();
    const traffic = await createTraffic(
      servers.map(({ port }) => `ws://127.0.0.1:${port}/chat`),
      CLIENTS
    );
    t.after(() => traffic.close());
    await traffic.join();
    const joined = await metrics();
    let admin = null;
    if (redis === '') {
      await traffic.talk(1);
    } else {
      admin = createClient({ url: redis }).on('error', () => {});
      await admin.connect();
      t.after(() => admin.destroy());
      await breakAll(traffic, servers, admin);
    }
    await check(traffic);
    const { total } = traffic;
    const end = await metrics();
    assert.equal(end.rooms_broadcast_total, total, 'process 1 has framed each message once');
    if (admin !== null) assert.equal((await admin.xInfoStream('rooms'))['entries-added'], total);
    if (SERVERS > 1) return;
    const memory = joined.process_resident_memory_bytes - before.process_resident_memory_bytes;
    const cpu = end.process_cpu_seconds_total - joined.process_cpu_seconds_total;
    t.diagnostic(
      `${(memory / 1024 / CLIENTS).toFixed(1)} KiB for a connection, ` +
        `${((cpu * 1e6) / (total * ROOM_SIZE)).toFixed(1)} µs of CPU for a delivery`
    );
  });
}

/** @returns {number} the most of these times, in milliseconds, that lie within a second */
function mostInASecond(times) {
  return Math.max(...times.map((time) => times.filter((later) => later >= time && later < time + 1000).length));
}

test(`ws: ${RESTARTED} clients, and both processes are restarted one after the other`, async (t) => {
  const { servers } = await startServers(t, [SERVER], 2);
  const closed = [];
  const urls = servers.map(({ port }) => `ws://127.0.0.1:${port}/chat`);
  const traffic = await createTraffic(urls, RESTARTED, () => closed.push(performance.now()));
  t.after(() => traffic.close());
  await traffic.join();
  await traffic.talk(0.1);
  for (const [i, server] of servers.entries()) {
    const [how] = await Promise.all([server.restart('SIGTERM'), traffic.talk(0.5 + 0.3 * i)]);
    assert.equal(how, 0);
  }
  await traffic.talk(1);
  await check(traffic);
  const most = mostInASecond(closed);
  t.diagnostic(`${closed.length} Close frames, at most ${most} in a second`);
  assert.ok(closed.length >= RESTARTED * 1.5);
  // 153 of the second process, as sent; a busy machine reads some of them late, and so together.
  assert.ok(most <= RESTARTED / 2, `${most} in a second`);
});
