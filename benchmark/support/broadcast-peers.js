'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const { median } = require('./statistics');

/**
 * A server and its clients, each in a process of its own.
 *
 * @typedef {Record<'server' | 'drain', import('node:child_process').ChildProcess>} Peers
 *
 * @param {string} name as broadcast-server.js takes it
 * @param {number} clients how many connections
 * @returns {Promise<Peers>} once all are connected
 */
async function startBroadcast(name, clients) {
  const file = (script) => path.join(__dirname, script);
  const server = fork(file('broadcast-server.js'), [name]);
  const [ports] = await once(server, 'message');
  const drain = fork(file('drain-clients.js'));
  drain.send({ ...ports, clients });
  await once(drain, 'message');
  return { server, drain };
}

/**
 * @param {Peers} peers
 * @param {string} way of broadcast-server.js
 * @param {{ size: number, count: number }} work `count` messages to each client
 * @param {number} clients
 * @param {number} milliseconds
 * @returns {Promise<{ sent: number, arrived: number, microseconds: number }>} median milliseconds a
 *   broadcast, and the server's processor time for each
 */
async function broadcast({ server, drain }, way, { size, count }, clients, milliseconds) {
  const frame = (size < 126 ? 2 : 4) + size;
  drain.send({ bytes: frame * count * clients });
  await once(drain, 'message');
  server.send({ way, size, count, milliseconds });
  const [{ sent, arrived, microseconds }] = await once(server, 'message');
  return { sent: median(sent), arrived: median(arrived), microseconds: microseconds / sent.length };
}

module.exports = { broadcast, startBroadcast };
