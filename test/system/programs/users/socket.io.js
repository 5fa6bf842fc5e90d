'use strict';

// socket.io's server and client: text, binary, acknowledgements, rooms, an upgrade from polling,
// connections that break and come back, a message that is too long.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { Server } = require('socket.io');
const { io: connect } = require('socket.io-client');
const { WebSocketServer } = require('ws');

const LIMIT = 2 ** 20;
const sha = (data) => createHash('sha256').update(data).digest('hex').slice(0, 16);

/** @returns {Promise<{ io: Server, url: string }>} */
async function listen() {
  const server = http.createServer();
  const io = new Server(server, {
    wsEngine: WebSocketServer,
    maxHttpBufferSize: LIMIT,
    perMessageDeflate: { threshold: 1024 }
  });
  io.use((socket, next) => next(socket.handshake.auth.token === 'wrong' ? new Error('not you') : undefined));
  io.on('connection', (socket) => {
    socket.on('echo', (...args) => args.pop()(...args));
    socket.on('hash', (data, reply) => reply(Buffer.isBuffer(data) ? 'binary' : typeof data, sha(data)));
    socket.on('join', async (room, reply) => reply(await socket.join(room)));
    socket.on('leave', async (room, reply) => reply(await socket.leave(room)));
    socket.on('say', (room, text) => socket.to(room).emit('said', room, text));
    socket.on('flood', (count) => {
      for (let i = 0; i < count; i++) socket.emit('number', i, Buffer.from([i & 255]));
    });
    // A server that loses the connection, instead of one that says goodbye.
    socket.on('break', () => socket.conn.close());
    socket.on('dismiss', () => socket.disconnect(true));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { io, url: `http://127.0.0.1:${server.address().port}` };
}

/** @returns {Promise<import('socket.io-client').Socket>} a connected client */
async function join(url, options = {}) {
  const client = connect(url, { transports: ['websocket'], forceNew: true, reconnectionDelay: 20, ...options });
  await new Promise((resolve) => client.once('connect', resolve));
  return client;
}

/** @returns {Promise<any[]>} the arguments of the next event of that name */
const next = (client, name) => new Promise((resolve) => client.once(name, (...args) => resolve(args)));

async function messages(client) {
  const nested = { list: [1, { bytes: Buffer.from('abc') }], text: 'ü€😀' };
  const long = 'long text, compressed. '.repeat(5000);
  const bytes = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => i % 251));
  const echoed = await new Promise((resolve) => client.emit('echo', nested, 'x', (...args) => resolve(args)));
  return {
    echoed,
    // Long ones, sent at once: the answers must come in order.
    hashes: await Promise.all([
      client.emitWithAck('echo', 'first'),
      new Promise((resolve) => client.emit('hash', long, (...args) => resolve(args))),
      new Promise((resolve) => client.emit('hash', bytes, (...args) => resolve(args))),
      client.emitWithAck('echo', '')
    ]),
    sent: [sha(long), sha(bytes)],
    timeout: await client
      .timeout(50)
      .emitWithAck('nobody listens')
      .catch((error) => error.message)
  };
}

/** A burst, of a text frame and a binary frame for each message. */
async function burst(client, count) {
  const numbers = [];
  client.on('number', (i, bytes) => numbers.push(i === numbers.length && bytes[0] === (i & 255)));
  client.emit('flood', count);
  while (numbers.length < count) await sleep(5);
  return { count: numbers.length, inOrder: numbers.every(Boolean) };
}

async function rooms(io, [alice, bob, carol]) {
  const heard = [];
  for (const [name, client] of Object.entries({ alice, bob, carol })) {
    client.on('said', (...args) => heard.push([name, ...args]));
  }
  for (const client of [alice, bob]) await client.emitWithAck('join', 'tea');
  for (const client of [bob, carol]) await client.emitWithAck('join', 'coffee');
  alice.emit('say', 'tea', 'to bob');
  carol.emit('say', 'coffee', 'to bob, too');
  io.to('tea').to('coffee').emit('said', 'both', Buffer.from('each once'));
  await sleep(50);
  await bob.emitWithAck('leave', 'tea');
  alice.emit('say', 'tea', 'to nobody');
  await alice.emitWithAck('echo', 'after that');
  await sleep(50);
  return heard.map(([name, room, what]) => `${name} ${room}: ${what}`).sort();
}

async function reconnects(client) {
  const results = [];
  for (const how of ['break', 'drop', 'send too much']) {
    const id = client.id;
    const gone = next(client, 'disconnect');
    const back = next(client, 'connect');
    if (how === 'break') client.emit('break');
    // The client's connection is cut without a Close frame.
    else if (how === 'drop') client.io.engine.transport.ws.terminate?.();
    else client.emit('hash', Buffer.alloc(2 * LIMIT), () => {});
    const [reason] = await gone;
    client.emit('echo', 'kept until it is back', () => results.push('the kept one was sent'));
    await back;
    results.push({ how, reason, another: client.id !== id, echo: await client.emitWithAck('echo', how) });
  }
  return results;
}

async function main() {
  const { io, url } = await listen();
  const clients = await Promise.all([join(url), join(url), join(url)]);
  const refused = connect(url, { transports: ['websocket'], forceNew: true, auth: { token: 'wrong' } });
  const [error] = await next(refused, 'connect_error');
  refused.close();

  const polling = await join(url, { transports: ['polling', 'websocket'] });
  if (polling.io.engine.transport.name === 'polling') await next(polling.io.engine, 'upgrade');

  const result = {
    transport: clients[0].io.engine.transport.name,
    refused: error.message,
    upgraded: [polling.io.engine.transport.name, await polling.emitWithAck('echo', 'by websocket now')],
    messages: await messages(clients[0]),
    burst: await burst(clients[1], 2000),
    rooms: await rooms(io, clients),
    reconnects: await reconnects(clients[2])
  };
  const dismissed = next(clients[0], 'disconnect');
  clients[0].emit('dismiss');
  const left = Promise.all([dismissed, next(clients[1], 'disconnect')]);
  await dismissed;
  await io.close();
  result.end = (await left).map(([reason]) => reason);
  for (const client of [...clients, polling]) client.close();
  console.log(JSON.stringify(result));
}

main();
