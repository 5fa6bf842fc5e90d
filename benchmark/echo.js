'use strict';

// How many messages a second does an echo server send back? examples/echo-server.js beside servers
// of ws (with bufferutil), Bun and Deno, over loopback, each in a process of its own. One client
// process serves them all: it writes batches of ready frames to raw sockets, and counts the bytes
// that come back.

const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const { readArguments, readCount } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { BINARY, TEXT } = require('./support/messages');
const { findPeer } = require('./support/peers');
const { createProgress } = require('./support/progress');
const { ratio } = require('./support/race');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/echo.js [options]

Measures echo servers over loopback. Prints the median messages a second. Takes about three minutes.

  --only <text>     only the rows whose name has this in it
  --binary          binary messages instead of text
  --turn <ms>       how long a turn of a server takes (default 500)
  --fetch-peers     get Bun and Deno from npm if they are neither in BUN and DENO nor on PATH`;

const CONNECTIONS = 10;

const WORK = {
  '100 × 64 B': { pipelined: 100, size: 64 },
  '50 × 1 KiB': { pipelined: 50, size: 1024 },
  '4 × 64 KiB': { pipelined: 4, size: 64 * 1024 },
  '1 × 64 B': { pipelined: 1, size: 64 },
  '1 × 1 MiB': { pipelined: 1, size: 1024 * 1024 }
};

/** @returns {Record<string, string[]>} the command line of each server */
function findServers(fetch) {
  const file = (name) => path.join(__dirname, 'support', 'servers', `${name}.js`);
  const servers = { framemask: [process.execPath, file('framemask')], ws: [process.execPath, file('ws')] };
  const peers = { bun: ['run'], deno: ['run', '--quiet', '--allow-net', '--no-config'] };
  for (const [name, args] of Object.entries(peers)) {
    const program = findPeer(name, fetch);
    if (program === null) console.error(`${name} was not found: see --fetch-peers`);
    else servers[name] = [program, ...args, file(name)];
  }
  return servers;
}

/**
 * Starts a server, and waits until it listens.
 *
 * @returns {Promise<{ name: string, port: number,
 *   child: import('node:child_process').ChildProcess }>}
 */
async function start([name, [program, ...args]]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { name, port: Number(line), child };
}

/** @returns {Promise<number>} messages a second */
async function putLoad(client, load) {
  client.send(load);
  const [{ rate, error }] = await once(client, 'message');
  if (error !== undefined) throw new Error(error);
  return rate;
}

/**
 * @returns {Promise<{ name: string, rates: Record<string, number>,
 *   ratios: Record<string, number>, turns: Record<string, number[]> }>}
 */
async function measure(name, servers, client, { rounds, turn, binary }) {
  const turns = Object.fromEntries(servers.map((server) => [server.name, []]));
  const load = { ...WORK[name], first: binary ? BINARY : TEXT, connections: CONNECTIONS, milliseconds: turn };
  for (let round = -1; round < rounds; round++) {
    for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
      const rate = await putLoad(client, { ...load, port: server.port });
      // Round -1 only warms up. Turns are kept as nanoseconds a message.
      if (round >= 0) turns[server.name].push(1e9 / rate);
    }
  }
  const peers = servers.map((server) => server.name).filter((peer) => peer !== 'framemask');
  return {
    name,
    rates: Object.fromEntries(Object.entries(turns).map(([who, values]) => [who, 1e9 / median(values)])),
    ratios: Object.fromEntries(peers.map((peer) => [`times faster than ${peer}`, ratio(turns.framemask, turns[peer])])),
    // Nanoseconds a message in each round.
    turns
  };
}

function formatResults(results) {
  const names = Object.keys(results[0].rates);
  const head = [`${CONNECTIONS} ×`, ...names.map((name) => `${name}, 1000/s`), ...Object.keys(results[0].ratios)];
  const rows = results.map(({ name, rates, ratios }) => [
    name,
    ...names.map((who) => formatNumber(rates[who] / 1000)),
    ...Object.values(ratios).map((value) => value.toFixed(2))
  ]);
  return formatTable(head, rows);
}

async function main() {
  const values = readArguments(USAGE, {
    only: { type: 'string', default: '' },
    binary: { type: 'boolean', default: false },
    turn: { type: 'string' },
    'fetch-peers': { type: 'boolean', default: false }
  });
  const { rounds, quick, json, binary } = values;
  const turn = readCount('turn', values.turn ?? (quick ? '150' : '500'));
  const names = Object.keys(WORK).filter((name) => name.includes(values.only));
  const progress = createProgress(names.length);
  const servers = await Promise.all(Object.entries(findServers(values['fetch-peers'])).map(start));
  const client = fork(path.join(__dirname, 'support', 'echo-load.js'));
  const results = [];
  try {
    for (const name of names) {
      progress.step(name);
      results.push(await measure(name, servers, client, { rounds, turn, binary }));
    }
  } finally {
    for (const { child } of servers) child.kill();
    client.kill();
  }
  progress.end();

  const machine = describeMachine(kernel);
  if (json) console.log(JSON.stringify({ machine, rounds, turn, results }, null, 2));
  else console.log(`${machineLine(machine)}; medians of ${rounds} rounds\n\n${formatResults(results)}`);
}

main();
