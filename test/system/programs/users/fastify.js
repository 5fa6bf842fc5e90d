'use strict';

// A server of fastify with @fastify/websocket, which asks for `ws` by itself: routes, refusals, a
// stream, injectWS, and the end of the server.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fastify = require('fastify');
const plugin = require('@fastify/websocket');
const { WebSocket, createWebSocketStream } = require('ws');

const sha = (data) => createHash('sha256').update(data).digest('hex').slice(0, 16);

function createApp() {
  const app = fastify();
  const options = { maxPayload: 2 ** 20, perMessageDeflate: { threshold: 512 }, clientTracking: true };
  const websocket = true;
  app.register(plugin, { options });
  app.register(async (app) => {
    app.get('/echo', { websocket }, (socket) => {
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    app.get('/stream', { websocket }, (socket) => {
      const stream = createWebSocketStream(socket);
      stream.pipe(stream);
    });
    app.get('/throws', { websocket }, async () => {
      throw new Error('a handler that throws');
    });
    app.get('/secret', { websocket, preValidation: async (_, reply) => reply.code(401).send('no') }, () => {});
    app.get('/both', {
      handler: async () => ({ by: 'HTTP' }),
      wsHandler: (socket) => {
        socket.send('by WebSocket');
        socket.close(4001, 'that was all');
      }
    });
  });
  return app;
}

/** Unlike events.once(), it does not end with an error that comes before. */
const closeOf = (socket) => new Promise((resolve) => socket.once('close', (...args) => resolve(args)));

/** @returns {Promise<string[]>} what happens to a connection to that path until it is closed */
async function lifeOf(url) {
  const socket = new WebSocket(url);
  const events = [];
  socket.on('open', () => events.push('open'));
  socket.on('message', (data) => events.push(`message: ${data}`));
  socket.on('error', (error) => events.push(`error: ${error.message}`));
  const [code, reason] = await closeOf(socket);
  return [...events, `close: ${code} ${reason}`];
}

async function echoes(url) {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const sent = ['', 'text ü€😀', Buffer.from([0, 255]), Uint8Array.from({ length: 200_000 }, (_, i) => i % 251)];
  const received = [];
  const done = new Promise((resolve) => {
    socket.on('message', (data, isBinary) => {
      received.push([isBinary, data.length, sha(data)]);
      if (received.length === sent.length) resolve();
    });
  });
  for (const data of sent) socket.send(data);
  await done;
  // Longer than maxPayload.
  socket.on('error', () => {});
  socket.send(Buffer.alloc(2 ** 20 + 1));
  const [code] = await closeOf(socket);
  return { received, same: received.every(([, , hash], i) => hash === sha(sent[i])), code };
}

/** Sends 3 MB in pieces, and reads until as much has come back. */
async function stream(url) {
  const duplex = createWebSocketStream(new WebSocket(url));
  const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => (i * 7) % 253);
  for (let at = 0; at < bytes.length; at += 70_000) duplex.write(bytes.subarray(at, at + 70_000));
  const chunks = [];
  let length = 0;
  for await (const chunk of duplex) {
    chunks.push(chunk);
    length += chunk.length;
    if (length === bytes.length) duplex.end();
  }
  return sha(Buffer.concat(chunks)) === sha(bytes);
}

async function main() {
  const app = createApp();
  await app.ready();
  const injected = await app.injectWS('/echo');
  const answer = once(injected, 'message');
  injected.send('injected');
  const result = { injected: String((await answer)[0]) };
  injected.terminate();

  const http = await app.listen({ host: '127.0.0.1', port: 0 });
  const url = http.replace('http', 'ws');
  result.echoes = await echoes(`${url}/echo`);
  result.byHttp = await (await fetch(`${http}/both`)).text();
  for (const path of ['both', 'nothing-here', 'secret', 'throws']) result[path] = await lifeOf(`${url}/${path}`);
  result.stream = await stream(`${url}/stream`);
  const sockets = Array.from({ length: 20 }, () => new WebSocket(`${url}/echo`));
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  const ends = Promise.all(sockets.map(closeOf));
  await app.close();
  result.end = (await ends).map(([code]) => code);
  console.log(JSON.stringify(result));
}

main();
