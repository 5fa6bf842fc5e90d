'use strict';

// What the checks of snippets use: `<!-- check: checks.echoes(server); -->` in a page of docs/.

const assert = require('node:assert');
const { once } = require('node:events');
const net = require('node:net');
const { WebSocket } = require('ws');
const { cert } = require('./certificate');

/** @returns {Promise<WebSocket>} a client of a server that is about to listen */
async function connect(server, options) {
  if (server.address() === null) await once(server, 'listening');
  const scheme = options?.ca === undefined ? 'ws' : 'wss';
  const client = new WebSocket(`${scheme}://127.0.0.1:${server.address().port}`, options);
  await once(client, 'open');
  return client;
}

/** @returns {Promise<string | Buffer>} the next message */
async function receive(client) {
  const [data, isBinary] = await once(client, 'message');
  return isBinary ? data : data.toString();
}

/**
 * An echo server: messages and pings are answered, closing works, and nothing keeps the process.
 */
async function echoes(server) {
  const client = await connect(server);
  client.send('Καλημέρα');
  assert.strictEqual(await receive(client), 'Καλημέρα');
  client.send(Buffer.alloc(70_000, 1));
  assert.deepStrictEqual(await receive(client), Buffer.alloc(70_000, 1));
  client.ping('there?');
  assert.strictEqual(String(await once(client, 'pong')), 'there?');
  client.close(1000);
  assert.strictEqual((await once(client, 'close'))[0], 1000);

  const wrong = await connect(server);
  wrong._socket.write(Buffer.from([0x83, 0x80, 1, 2, 3, 4])); // an opcode that does not exist
  assert.strictEqual((await once(wrong, 'close'))[0], 1002);
  server.close();
  await once(server, 'close');
}

/**
 * A chat server: everybody gets each message, who leaves is forgotten, and shutting down says so to
 * the rest.
 */
async function chats(server, shutDown, room) {
  const [ada, grace] = [await connect(server), await connect(server)];
  const both = [receive(ada), receive(grace)];
  ada.send('Hello, all');
  assert.deepStrictEqual(await Promise.all(both), ['Hello, all', 'Hello, all']);
  const bytes = [receive(ada), receive(grace)];
  grace.send(Buffer.alloc(20_000, 7));
  assert.deepStrictEqual(await Promise.all(bytes), [Buffer.alloc(20_000, 7), Buffer.alloc(20_000, 7)]);

  const tooBig = once(ada, 'close');
  ada.send(Buffer.alloc(65_537));
  assert.strictEqual((await tooBig)[0], 1009);
  while (room.size !== 1) await new Promise(setImmediate);
  // Without a request, so that server.close() alone would wait for it.
  const idle = net.connect(server.address().port, '127.0.0.1').on('error', () => {});
  await once(server, 'connection');
  shutDown();
  await once(idle, 'close');
  const [code, reason] = await once(grace, 'close');
  assert.strictEqual(`${code} ${reason}`, '1001 The server is going away');
  await once(server, 'close');
}

/**
 * A server of framemask/ws with limits: who leaves too much unread is dropped, and a restart closes
 * the rest.
 */
async function shutsDown(server) {
  const [reading, slow] = [await connect(server), await connect(server)];
  slow.pause();
  const [, socket] = server.clients;
  const dropped = new Promise((resolve) => socket.once('close', resolve));
  while (socket.readyState === WebSocket.OPEN) {
    socket.send(Buffer.alloc(1024 * 1024));
    await new Promise(setImmediate);
  }
  assert.strictEqual(await dropped, 1006);
  slow.terminate();
  const closed = once(reading, 'close');
  process.emit('SIGTERM');
  assert.strictEqual((await closed)[0], 1012);
  await once(server, 'close');
}

/** A server that pauses during a login: the first message is not lost. */
async function greets(server) {
  const client = await connect(server, { headers: { cookie: 'Ada' } });
  client.send('first');
  assert.strictEqual(await receive(client), 'Ada: first');
  client.terminate();
  server.close();
  await once(server, 'close');
}

/** A server whose clients get Close 1012 at a SIGTERM, after which it ends. */
async function restarts(server, options) {
  const client = await connect(server, options);
  client.send('first');
  assert.match(await receive(client), /first$/);
  const closed = once(client, 'close');
  process.emit('SIGTERM');
  assert.strictEqual((await closed)[0], 1012);
  await once(server, 'close');
}

/** A server on TLS that restarts, with a login by a cookie and a check of the page's origin. */
async function production(server) {
  const [ca, origin] = [cert, 'https://chat.example'];
  await assert.rejects(connect(server, { ca, origin: 'https://other.example' }), /403/);
  await assert.rejects(connect(server, { ca, origin }), /401/);
  await restarts(server, { ca, origin, headers: { cookie: 'theme=dark; session=Ada' } });
}

module.exports = { assert, chats, connect, echoes, greets, production, receive, restarts, shutsDown };
