'use strict';

// Three processes of examples/rooms, a Redis, and many clients: one process is killed amid the
// traffic and replaced, the connections to Redis are cut, and one process is shut down and replaced.

const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { createClient } = require('redis');
const { ServerProcess, startRedis } = require('./processes');
const { Traffic } = require('./traffic');

const SERVER = path.join(__dirname, '../../examples/rooms/server.js');
const SERVERS = 3;
/** Milliseconds until a process that was killed is replaced. */
const ABSENT = 1000;

/**
 * Runs each step once, amid the traffic. While one is at work, the traffic goes on to the share of
 * the next one.
 *
 * @param {[share: number, step: () => Promise<void>][]} steps
 * @returns {{ limit(share: number): number, done(): Promise<void> }} `limit` is told which share of
 *   all messages has been said, and says how far to go; both throw what a step has thrown
 */
function schedule(steps) {
  const left = [...steps];
  let running = null;
  let failure = null;
  const run = async (step) => {
    try {
      await step();
    } catch (error) {
      failure = error;
    }
    running = null;
  };
  const check = () => {
    if (failure !== null) throw failure;
  };
  return {
    limit(share) {
      check();
      if (running === null && left.length > 0 && share >= left[0][0]) {
        const [[, step]] = left.splice(0, 1);
        running = run(step);
      }
      return left[0]?.[0] ?? 1;
    },
    async done() {
      await running;
      check();
    }
  };
}

/** @returns {Promise<{ servers: ServerProcess[], redis: object, stop(): Promise<void> }>} */
async function startServers(connections, { install, progress }) {
  const redis = await startRedis({ install, progress });
  const args = connections === 'codec' ? [SERVER, '--codec'] : [SERVER];
  const servers = Array.from({ length: SERVERS }, () => new ServerProcess(args, { REDIS_URL: redis.url }));
  const stop = async () => {
    for (const server of servers) if (server.isStarted) await server.stop();
    await redis.stop();
  };
  try {
    for (const server of servers) await server.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { servers, redis, stop };
}

/**
 * @param {'ws' | 'codec'} connections
 * @param {object} options
 * @param {number} options.clients
 * @param {number} options.roomSize
 * @param {number} options.messages of each client
 * @param {number} options.perSecond
 * @param {boolean} options.install
 * @param {(line: string) => void} options.progress
 * @returns {Promise<string[]>} faults
 */
async function testChat(connections, options) {
  const { progress } = options;
  const { servers, redis, stop } = await startServers(connections, options);
  const admin = await createClient({ url: redis.url })
    .on('error', () => {})
    .connect();
  const urls = servers.map(({ port }) => `ws://127.0.0.1:${port}/chat`);
  const traffic = new Traffic({ ...options, urls });
  try {
    progress(`${connections}: ${options.clients} clients on ${SERVERS} processes, rooms of ${options.roomSize}`);
    await traffic.join();
    await showMemory(servers, progress);
    const faults = [];
    let before;
    const steps = schedule([
      [
        0.3,
        async () => {
          before = traffic.snapshot(urls[1]);
          progress(`killing process 2 (${servers[1].pid}) after ${traffic.said} of ${traffic.total} messages`);
          await servers[1].stop('SIGKILL');
          await sleep(ABSENT);
          await servers[1].start();
          progress('replaced process 2');
        }
      ],
      [
        0.6,
        async () => {
          const cut = await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
          progress(`cut all ${cut} connections to Redis after ${traffic.said} messages`);
          if (cut < 2 * SERVERS) faults.push(`only ${cut} connections to Redis`);
        }
      ],
      [
        0.8,
        async () => {
          progress(`shutting down process 3 after ${traffic.said} messages`);
          const how = await servers[2].stop('SIGTERM');
          if (how !== 0) faults.push(`process 3 ended with ${how}: ${servers[2].output()}`);
          await servers[2].start();
          progress(`process 3 ended with ${how}, and was replaced`);
        }
      ]
    ]);
    await traffic.talk((said) => steps.limit(said / traffic.total));
    await steps.done();
    progress(`all ${traffic.total} messages are said`);
    if (!(await traffic.settle())) faults.push('not everybody has heard everything');
    faults.push(...(await judge({ traffic, before, servers, admin, progress })));
    return faults;
  } finally {
    traffic.close();
    admin.destroy();
    await stop();
  }
}

async function showMemory(servers, progress) {
  for (const [i, server] of servers.entries()) {
    const metrics = await server.metrics();
    const memory = (metrics.get('rooms_resident_bytes') / 2 ** 20).toFixed(0);
    progress(`process ${i + 1}: ${metrics.get('rooms_connections')} connections, ${memory} MiB`);
  }
}

/** @returns {Promise<string[]>} faults, after the counts have been printed */
async function judge({ traffic, before, servers, admin, progress }) {
  const { total, roomSize } = traffic;
  const result = traffic.verify();
  const others = traffic.compare(before);
  const { reconnected, reconnects, incomplete, reasons } = traffic.connections();
  const metrics = await Promise.all(servers.map((server) => server.metrics()));
  const stream = await admin.xInfoStream('rooms');
  const broadcast = metrics[0].get('rooms_broadcast_total');
  const sum = (name) => metrics.reduce((total, of) => total + of.get(name), 0);
  progress(
    `${total} messages × ${roomSize} members: ${result.deliveries} deliveries; ${result.lost} lost, ` +
      `${result.repeated} twice, ${result.outOfOrder} out of order; rooms in which members saw another order: ` +
      `${result.roomsInAnotherOrder}`
  );
  progress(
    `before the kill: ${others.published} messages were published, ${others.byClientsOfIt} of them by clients of ` +
      `the killed process; of these the ${others.others} clients of the other processes lost ${others.lost}`
  );
  progress(
    `Redis: ${stream['entries-added']} entries; process 1 read and framed ${broadcast}; ` +
      `${reconnected} clients came back, ${reconnects} times; ${sum('rooms_repeated_total')} messages were sent ` +
      `again that had been published; clients dropped: ${sum('rooms_too_slow_total')} too slow, ` +
      `${sum('rooms_silent_total')} silent`
  );
  for (const [reason, count] of Object.entries(reasons)) progress(`  ${count} × ${reason}`);
  const faults = [];
  for (const what of ['lost', 'repeated', 'outOfOrder', 'roomsInAnotherOrder']) {
    if (result[what] > 0) faults.push(`${result[what]} ${what}`);
  }
  if (result.deliveries !== total * roomSize) faults.push(`${result.deliveries} deliveries, not ${total * roomSize}`);
  if (others.lost > 0) faults.push(`others lost ${others.lost} of what was published before`);
  if (others.byClientsOfIt === 0) faults.push('clients of the killed process had published nothing');
  if (reconnected < before.isOnIt.filter(Boolean).length) faults.push(`only ${reconnected} clients came back`);
  if (incomplete > 0) faults.push(`${incomplete} clients were told that messages are missing`);
  if (stream['entries-added'] !== total) faults.push(`Redis has ${stream['entries-added']} entries, not ${total}`);
  if (broadcast !== total) faults.push(`process 1 framed ${broadcast} messages, not ${total}`);
  return faults;
}

module.exports = { SERVER, startServers, testChat };
