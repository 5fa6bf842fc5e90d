'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const { median } = require('./race');
const { ask, forkClient } = require('./servers');

/**
 * Starts a server and its clients, each in a process of its own. `send` repeats a broadcast, and
 * returns median milliseconds until all is `sent` and until all has `arrived`, and the microseconds of
 * the server's processor time for one.
 */
async function startBroadcast(name, clients) {
  const server = fork(path.join(__dirname, 'broadcast-server.js'), [name]);
  const client = forkClient();
  const stop = () => {
    server.kill();
    client.kill();
  };
  const [ports] = await once(server, 'message');
  await ask(client, 'drain', { ...ports, clients });
  const send = async (way, { size, count }, milliseconds) => {
    const frame = (size < 126 ? 2 : 4) + size;
    await ask(client, 'expect', { bytes: frame * count * clients });
    server.send({ way, size, count, milliseconds });
    const [{ sent, arrived, microseconds }] = await once(server, 'message');
    return { sent: median(sent), arrived: median(arrived), microseconds: microseconds / sent.length };
  };
  return { send, stop };
}

module.exports = { startBroadcast };
