'use strict';

// Three processes of socket.io with its Redis streams adapter and framemask/ws as engine. One is
// killed amid the traffic and replaced: the clients of the others lose nothing of what has been
// published. socket.io does not give the clients of a process that was killed what they have
// missed.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { io } = require('socket.io-client');
const { startServers } = require('./support/processes');
const { Traffic, hear, until } = require('./support/traffic');

const CLIENTS = 300;
const ROOM_SIZE = 30;
const MESSAGES = 5;
const TEXT = 'A sentence as people write it in a chat, neither long nor short. ';
const OPTIONS = { transports: ['websocket'], forceNew: true, reconnectionDelay: 200, reconnectionDelayMax: 2000 };

/**
 * Connects a client. A message of its own that it hears is published; while it is away it says
 * nothing.
 */
function connect(client, port) {
  const socket = io(`http://127.0.0.1:${port}`, OPTIONS);
  socket.on('connect', async () => {
    await socket.emitWithAck('join', client.room);
    client.isJoined = true;
  });
  socket.on('disconnect', () => {
    client.isJoined = false;
  });
  socket.on('said', (sender, n) => {
    hear(client, sender, n);
    if (sender === client.index) client.published.add(n);
  });
  client.port = port;
  client.say = () => {
    if (client.isJoined) socket.emit('say', client.room, client.index, ++client.said, TEXT);
    return true;
  };
  client.close = () => socket.disconnect();
}

/**
 * Until its first message the adapter reads the stream from `$` on, the end at the time of the
 * call, and misses messages between two calls. So each room begins with one message a client, until
 * it is heard.
 */
async function warmUp({ clients }) {
  const isHeard = () => clients.every(({ heard }) => heard.every((numbers) => numbers.length > 0));
  let next = 0;
  await until(() => {
    if (performance.now() > next) {
      for (const client of clients) client.say();
      next = performance.now() + 5000;
    }
    return isHeard();
  });
  assert.ok(isHeard(), 'clients hear each other');
  for (const client of clients) {
    client.before = client.said;
    client.published.clear();
    for (const numbers of client.heard) numbers.length = 0;
  }
}

test('socket.io: the clients of other processes lose nothing when one is killed', async (t) => {
  const { servers } = await startServers(t, [path.join(__dirname, 'support/socket.io-server.js')]);
  const traffic = new Traffic({
    connect: (client) => connect(client, servers[client.index % servers.length].port),
    clients: CLIENTS,
    roomSize: ROOM_SIZE,
    messages: MESSAGES
  });
  t.after(() => traffic.close());
  await traffic.join();
  await warmUp(traffic);
  await traffic.talk(0.3);
  const killed = servers[1];
  const others = traffic.clients.filter(({ port }) => port !== killed.port);
  const ofKilled = traffic.clients.filter(({ port }) => port === killed.port);
  await killed.stop('SIGKILL');
  await traffic.talk(0.6);
  await killed.start();
  assert.ok(await until(() => traffic.clients.every(({ isJoined }) => isJoined)), 'all clients are back');
  await traffic.talk(1);
  const isHeard = ({ published, said, before }) => published.size === said - before;
  assert.ok(await until(() => others.every(isHeard)), 'they hear all that they say');
  assert.ok(await traffic.settle(others), 'and all that is published');
  const { repeated, outOfOrder } = traffic.count();
  assert.deepEqual({ repeated, outOfOrder }, { repeated: 0, outOfOrder: 0 });
  assert.ok(
    ofKilled.some(({ published }) => published.size > 0),
    'clients of the killed process had said something'
  );
  assert.ok(
    ofKilled.some((client) => traffic.missing(client) > 0),
    'something was said while it was away'
  );
  for (const server of servers) assert.ok((await server.metrics()).framemask_received > 0, 'framemask/ws has read');
});
