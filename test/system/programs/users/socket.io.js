'use strict';

// socket.io's server and client: text, binary, acknowledgements, a burst, an upgrade from polling,
// connections that break and come back, a message that is too long. The check of examples/rooms has
// its rooms, in several processes.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { Server } = require('socket.io');
const { io: connect } = require('socket.io-client');
const { WebSocketServer } = require('ws');

const LIMIT = 2 ** 20;
const BURST = 2000;
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
    socket.on('hash', (data, reply) => reply(`${Buffer.isBuffer(data) ? 'binary' : typeof data} ${sha(data)}`));
    // Of a text frame and a binary frame each.
    socket.on('flood', () => {
      for (let i = 0; i < BURST; i++) socket.emit('number', i, Buffer.from([i & 255]));
    });
    // A server that loses the connection, instead of one that says goodbye.
    socket.on('break', () => socket.conn.close());
    socket.on('dismiss', () => socket.disconnect(true));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { io, url: `http://127.0.0.1:${server.address().port}` };
}

/** @returns {Promise<any[]>} the arguments of the next event of that name */
const next = (client, name) => new Promise((resolve) => client.once(name, (...args) => resolve(args)));

/** @returns {Promise<import('socket.io-client').Socket>} a connected client */
async function join(url, options = {}) {
  const client = connect(url, { transports: ['websocket'], forceNew: true, reconnectionDelay: 20, ...options });
  await next(client, 'connect');
  return client;
}

async function messages(client) {
  const long = 'long text, compressed. '.repeat(5000);
  const bytes = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => i % 251));
  return {
    nested: await client.emitWithAck('echo', { list: [1, { bytes: Buffer.from('abc') }], text: 'ü€😀' }),
    // Sent at once: the answers must come in order.
    hashes: await Promise.all([
      client.emitWithAck('echo', 'first'),
      client.emitWithAck('hash', long),
      client.emitWithAck('hash', bytes),
      client.emitWithAck('echo', '')
    ]),
    sent: [sha(long), sha(bytes)]
  };
}

async function burst(client) {
  const numbers = [];
  client.on('number', (i, bytes) => numbers.push(i === numbers.length && bytes[0] === (i & 255)));
  client.emit('flood');
  while (numbers.length < BURST) await sleep(5);
  return numbers.every(Boolean);
}

async function reconnects(client) {
  const results = [];
  for (const how of ['break', 'drop', 'send too much']) {
    const { id } = client;
    const [gone, back] = [next(client, 'disconnect'), next(client, 'connect')];
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
  const refused = connect(url, { transports: ['websocket'], forceNew: true, auth: { token: 'wrong' } });
  const [error] = await next(refused, 'connect_error');
  refused.close();
  const polling = await join(url, { transports: ['polling', 'websocket'] });
  if (polling.io.engine.transport.name === 'polling') await next(polling.io.engine, 'upgrade');
  const client = await join(url);
  const result = {
    refused: error.message,
    upgraded: [polling.io.engine.transport.name, await polling.emitWithAck('echo', 'by websocket now')],
    messages: await messages(client),
    burst: await burst(client),
    reconnects: await reconnects(client)
  };
  const left = Promise.all([next(client, 'disconnect'), next(polling, 'disconnect')]);
  client.emit('dismiss');
  await next(client, 'disconnect');
  await io.close();
  result.end = (await left).map(([reason]) => reason);
  for (const one of [client, polling]) one.close();
  console.log(JSON.stringify(result));
}

main();
