'use strict';

// The checks of HttpArena's validation of echo-ws, on each kind of connections.

const t = require('tap');
const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const WebSocket = require('ws');
const { KINDS, createServer } = require('../examples/httparena/server');

const SERVER = path.join(__dirname, '../examples/httparena/server.js');

/** @returns {Promise<[data: string | Buffer, isBinary: boolean][]>} the next messages */
async function receive(client, count) {
  const messages = [];
  await new Promise((resolve) => {
    client.on('message', (data, isBinary) => {
      if (messages.push([isBinary ? data : String(data), isBinary]) === count) resolve();
    });
  });
  client.removeAllListeners('message');
  return messages;
}

for (const kind of KINDS) {
  t.test(`${kind}: text, bytes and five messages at once come back, and a Close frame`, async (t) => {
    const server = createServer(kind).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const { port } = server.address();

    const [refused] = await once(http.get({ port, host: '127.0.0.1', path: '/ws', agent: false }), 'response');
    t.equal(refused.statusCode, 426, 'a request that is no handshake is refused');
    refused.resume();

    for (const last of [false, true]) {
      const client = new WebSocket(`ws://127.0.0.1:${port}/ws`, { perMessageDeflate: false });
      await once(client, 'open');
      client.send('hello');
      t.same(await receive(client, 1), [['hello', false]]);
      const bytes = randomBytes(256);
      client.send(bytes);
      t.same(await receive(client, 1), [[bytes, true]]);
      const five = Array.from({ length: 5 }, () => randomBytes(8).toString('hex'));
      for (const message of five) client.send(message);
      t.same(
        await receive(client, 5),
        five.map((message) => [message, false])
      );
      client.close(1000, 'validate done');
      const [code] = await once(client, 'close');
      t.equal(code, 1000, last ? 'the server is still there' : 'its code comes back');
    }
  });
}

t.test('one process for each processor listens on the same port, and options are checked', async (t) => {
  const run = (...args) =>
    spawn(process.execPath, [SERVER, ...args], { env: { ...process.env, PORT: '0', HOST: '127.0.0.1' } });
  const child = run('--processes', '2');
  t.teardown(() => child.kill());
  const [line] = await once(child.stdout, 'data');
  const [, port] = /^codec: 2 processes on ws:\/\/127\.0\.0\.1:(\d+)\/ws/.exec(line);
  const client = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  await once(client, 'open');
  client.send('hello');
  t.same(await receive(client, 1), [['hello', false]]);
  client.terminate();

  for (const args of [
    ['--connections', 'bun'],
    ['--processes', '0']
  ]) {
    const refused = run(...args);
    t.match(await text(refused.stderr), /^--\w+ must be /);
    if (refused.exitCode === null) await once(refused, 'exit');
    t.equal(refused.exitCode, 2);
  }
});
