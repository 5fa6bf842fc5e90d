'use strict';

// Three processes of socket.io with its Redis streams adapter and framemask/ws as engine. One is
// killed amid the traffic and replaced: the clients of the others lose nothing of what has been
// published. socket.io does not give the clients of a process that was killed what they have missed.

const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { installPackages, placeFramemask } = require('../../test/support/install');
const { ServerProcess, startRedis } = require('./processes');

const CACHE = path.join(__dirname, '../../.cache/rooms');
const PACKAGES = {
  '@socket.io/redis-streams-adapter': '0.3.1',
  redis: '6.3.1',
  'socket.io': '4.8.4',
  'socket.io-client': '4.8.4',
  ws: '8.23.0'
};
const SERVERS = 3;
const AT_ONCE = 50;
const TICK = 20;
const TEXT = 'A sentence as people write it in a chat, neither long nor short. ';

/** @returns {Promise<boolean>} whether the condition came true in time */
async function until(condition, milliseconds) {
  const end = performance.now() + milliseconds;
  while (!condition()) {
    if (performance.now() > end) return false;
    await sleep(10);
  }
  return true;
}

/** A client of socket.io, in one room. Clients are numbered; a room has neighbours. */
class Client {
  constructor(connect, index, port, { roomSize }) {
    this.index = index;
    this.room = `room ${Math.floor(index / roomSize)}`;
    this.port = port;
    this.isJoined = false;
    this.joins = 0;
    this.said = 0;
    /** How many of them were said before the test. */
    this.before = 0;
    /** The numbers that it must be heard with: those that it has heard itself. */
    this.published = new Set();
    /** What each member of the room was heard to say. */
    this.heard = Array.from({ length: roomSize }, () => []);
    this.socket = connect(`http://127.0.0.1:${port}`, {
      transports: ['websocket'],
      forceNew: true,
      reconnectionDelay: 200,
      reconnectionDelayMax: 2000
    });
    this.socket.on('connect', async () => {
      await this.socket.emitWithAck('join', this.room);
      this.isJoined = true;
      this.joins++;
    });
    this.socket.on('disconnect', () => {
      this.isJoined = false;
    });
    this.socket.on('said', (sender, n) => {
      this.heard[sender % roomSize].push(n);
      if (sender === index) this.published.add(n);
    });
  }

  /** Says the next message, unless it is disconnected. */
  say() {
    if (this.isJoined) this.socket.emit('say', this.room, this.index, ++this.said, TEXT);
  }
}

/** @returns {Promise<Client[]>} clients that are in their rooms, and hear all servers */
async function connectClients(servers, options) {
  const { io: connect } = createRequire(path.join(CACHE, 'package.json'))('socket.io-client');
  const clients = [];
  for (let i = 0; i < options.clients; i++) {
    clients.push(new Client(connect, i, servers[i % SERVERS].port, options));
    if (i % AT_ONCE === AT_ONCE - 1) await until(() => clients[i - AT_ONCE + 1].isJoined, 30_000);
  }
  if (!(await until(() => clients.every(({ isJoined }) => isJoined), 60_000)))
    throw new Error('clients could not join');
  // Until its first message the adapter reads the stream from `$` on, the end at the time of the
  // call, and misses what comes between two calls. So each room begins with one message a client,
  // until it is heard.
  const isHeard = () => clients.every(({ heard }) => heard.every((numbers) => numbers.length > 0));
  for (let tries = 0; tries < 3 && !isHeard(); tries++) {
    for (const client of clients) client.say();
    await until(isHeard, 5000);
  }
  if (!isHeard()) throw new Error('clients do not hear each other');
  for (const client of clients) {
    client.before = client.said;
    client.published.clear();
    for (const numbers of client.heard) numbers.length = 0;
  }
  return clients;
}

/** @returns {number} how many of its room's published messages a client has not heard */
function countMissing({ index, heard }, clients) {
  const first = index - (index % heard.length);
  return heard.reduce((sum, numbers, i) => {
    const distinct = new Set(numbers);
    return sum + [...clients[first + i].published].filter((n) => !distinct.has(n)).length;
  }, 0);
}

/** @returns {string[]} faults of what clients have heard, after the counts have been printed */
function judge(clients, killed, { progress }) {
  const counts = { published: 0, byKilled: 0, deliveries: 0, lost: 0, repeated: 0, outOfOrder: 0, missedWhileAway: 0 };
  for (const { published, port } of clients) {
    counts.published += published.size;
    if (port === killed) counts.byKilled += published.size;
  }
  for (const client of clients) {
    for (const numbers of client.heard) {
      counts.deliveries += numbers.length;
      counts.repeated += numbers.length - new Set(numbers).size;
      counts.outOfOrder += numbers.filter((n, k) => k > 0 && n <= numbers[k - 1]).length;
    }
    counts[client.port === killed ? 'missedWhileAway' : 'lost'] += countMissing(client, clients);
  }
  progress(
    `socket.io: ${counts.published} messages published, ${counts.byKilled} of them by clients of the killed process; ` +
      `${counts.deliveries} deliveries; clients of the other processes lost ${counts.lost}; ${counts.repeated} twice, ` +
      `${counts.outOfOrder} out of order; clients of the killed process missed ${counts.missedWhileAway} while away`
  );
  const faults = ['lost', 'repeated', 'outOfOrder']
    .filter((what) => counts[what] > 0)
    .map((what) => `${counts[what]} ${what}`);
  if (counts.byKilled === 0) faults.push('clients of the killed process had published nothing');
  if (counts.missedWhileAway === 0) faults.push('nothing was published while the process was away');
  return faults;
}

/** Has the clients talk in turns, and kills a process after a third of it. */
async function talk(clients, server, { messages, perSecond, progress }) {
  const total = clients.length * messages;
  let replaced = null;
  let due = 0;
  let turn = 0;
  let last = performance.now();
  const replace = async () => {
    progress(`socket.io: killing process 2 (${server.pid}) after ${turn} of ${total} messages`);
    await server.stop('SIGKILL');
    await sleep(1000);
    await server.start();
    const isBack = () => clients.every(({ isJoined }) => isJoined);
    progress(`socket.io: replaced process 2; all clients are back: ${await until(isBack, 30_000)}`);
  };
  while (turn < total) {
    const now = performance.now();
    due = Math.min(total, due + ((now - last) / 1000) * perSecond);
    last = now;
    for (; turn < due; turn++) clients[turn % clients.length].say();
    if (turn > total / 3) replaced ??= replace();
    await sleep(TICK);
  }
  await replaced;
}

/** The options are those of testChat. */
async function testSocketIo(options) {
  const { progress, install } = options;
  progress(`socket.io: installing ${Object.keys(PACKAGES).join(', ')}`);
  installPackages(CACHE, PACKAGES);
  placeFramemask(CACHE);
  const program = path.join(CACHE, 'server.js');
  fs.copyFileSync(path.join(__dirname, 'socket.io-server.js'), program);
  const redis = await startRedis({ install, progress });
  const servers = Array.from({ length: SERVERS }, () => new ServerProcess([program], { REDIS_URL: redis.url }));
  let clients = [];
  try {
    for (const server of servers) await server.start();
    clients = await connectClients(servers, options);
    progress(`socket.io: ${clients.length} clients on ${SERVERS} processes, rooms of ${options.roomSize}`);
    await talk(clients, servers[1], options);
    const others = clients.filter(({ port }) => port !== servers[1].port);
    const isSilent = ({ published, said, before }) => published.size < said - before;
    const isHeard = (client) => !isSilent(client) && countMissing(client, clients) === 0;
    await until(() => others.every(isHeard), 30_000);
    await sleep(1000); // a message that comes twice
    const faults = judge(clients, servers[1].port, options);
    for (const [i, server] of servers.entries()) {
      const metrics = await server.metrics();
      const received = metrics.get('framemask_received');
      progress(
        `socket.io: framemask/ws of process ${i + 1} received ${received} messages, sent ${metrics.get('framemask_sent')}`
      );
      if (received === 0) faults.push(`framemask/ws of process ${i + 1} has read nothing`);
    }
    const silent = others.filter(isSilent).length;
    if (silent > 0) faults.push(`${silent} clients of the other processes did not hear all that they said`);
    return faults;
  } finally {
    for (const { socket } of clients) socket.disconnect();
    for (const server of servers) if (server.isStarted) await server.stop();
    await redis.stop();
  }
}

module.exports = { testSocketIo };
