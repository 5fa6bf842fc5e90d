'use strict';

// A proxy: a server of `ws` that opens a connection of `ws` to the server behind it for each of its
// clients, and passes everything on, by TCP and by TLS. What a client sees must be the same with it
// and without it.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const https = require('node:https');
const { WebSocket, WebSocketServer } = require('ws');

/** TLS without certificates: both ends know a key. */
const KEY = { psk: Buffer.alloc(16, 1), identity: 'client' };
const TLS = { ciphers: 'PSK-AES128-GCM-SHA256', maxVersion: 'TLSv1.2', checkServerIdentity: () => undefined };

/** Codes that stand for no Close frame, and must not be sent. */
const NOT_SENT = [1005, 1006];

/** Closes a connection as its other half was closed. */
function closeLike(socket, code, reason) {
  if (code === 1006) socket.terminate();
  else if (NOT_SENT.includes(code)) socket.close();
  else socket.close(code, reason);
}

/** Passes on what one half receives, and does not read faster than the other half can write. */
function forward(from, to) {
  from.on('message', (data, isBinary) => {
    to.send(data, { binary: isBinary }, () => {
      if (from.isPaused && to.bufferedAmount < 65_536) from.resume();
    });
    if (to.bufferedAmount > 1_048_576) from.pause();
  });
  from.on('ping', (data) => to.ping(data));
  from.on('pong', (data) => to.pong(data));
  from.on('close', (code, reason) => closeLike(to, code, reason));
  from.on('error', () => {});
}

/**
 * @param {string} target
 * @param {http.Server} server
 */
async function startProxy(target, server) {
  const sockets = new WebSocketServer({ noServer: true, autoPong: false, perMessageDeflate: true });
  server.on('upgrade', (request, socket, head) => {
    const behind = new WebSocket(target + request.url, { autoPong: false, perMessageDeflate: false });
    behind.on('error', () => socket.destroy());
    behind.on('upgrade', () => {
      behind.pause(); // until somebody listens to what it receives
      sockets.handleUpgrade(request, socket, head, (front) => {
        forward(front, behind);
        forward(behind, front);
        behind.resume();
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

/** @returns {Promise<WebSocketServer>} the server behind the proxy */
async function startTarget() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket, { url }) => {
    socket.on('message', (data, isBinary) => {
      if (url === '/echo') socket.send(data, { binary: isBinary });
      if (url === '/close') socket.close(4000 + Number(data), 'as asked');
      if (url === '/cut') socket.terminate();
    });
    socket.on('ping', (data) => socket.send(`pinged with ${data}`));
    if (url === '/push') for (let i = 0; i < 3000; i++) socket.send(`${i} ${'.'.repeat(i)}`);
    if (url === '/push') socket.close(1000, 'all of it');
  });
  await once(server, 'listening');
  return server;
}

/** Unlike events.once(), it does not end with an error that comes before. */
const closeOf = (socket) => new Promise((resolve) => socket.once('close', (...args) => resolve(args)));

/** @returns {Promise<object>} what a client sees */
async function visit(url, { send = [], ping, end } = {}) {
  const socket = new WebSocket(url, { ...TLS, pskCallback: () => KEY });
  const hash = createHash('sha256');
  const seen = { messages: 0, bytes: 0, texts: [], pongs: [] };
  socket.on('error', (error) => seen.texts.push(error.message));
  socket.on('pong', (data) => seen.pongs.push(String(data)));
  socket.on('message', (data, isBinary) => {
    seen.messages++;
    seen.bytes += data.length;
    hash.update(`${isBinary} ${data.length} `).update(data);
    if (data.length < 40 && seen.texts.length < 20) seen.texts.push(String(data));
    if (end !== undefined && seen.messages === end.after) socket.close(end.code, end.reason);
  });
  const closed = closeOf(socket);
  await once(socket, 'open');
  if (ping !== undefined) socket.ping(ping);
  for (const data of send) socket.send(data);
  const [code, reason] = await closed;
  return { ...seen, hash: hash.digest('hex').slice(0, 16), close: `${code} ${reason}` };
}

/** @returns {Promise<object>} what clients see of the server at that URL */
async function visitAll(url) {
  const many = Array.from({ length: 1500 }, (_, i) => (i % 3 === 0 ? Buffer.alloc(i * 10, i) : `text ${i} ü`));
  const large = [Buffer.alloc(5_000_000, 7), 'm'.repeat(2_000_000), ''];
  return {
    many: await visit(`${url}/echo`, { send: many, end: { after: 1500, code: 1000, reason: 'enough' } }),
    large: await visit(`${url}/echo`, { send: large, end: { after: 3, code: 4999 } }),
    ping: await visit(`${url}/echo`, { ping: 'a ping', end: { after: 1 } }),
    close: await visit(`${url}/close`, { send: ['42'] }),
    cut: await visit(`${url}/cut`, { send: ['now'] }),
    push: await visit(`${url}/push`),
    crowd: await Promise.all(
      Array.from({ length: 30 }, (_, i) => visit(`${url}/echo`, { send: [`client ${i}`], end: { after: 1 } }))
    )
  };
}

async function main() {
  const target = await startTarget();
  const direct = `ws://127.0.0.1:${target.address().port}`;
  const proxy = http.createServer();
  const secure = https.createServer({ ...TLS, pskCallback: () => KEY.psk });
  for (const server of [proxy, secure]) await startProxy(direct, server);
  const result = {
    direct: await visitAll(direct),
    proxied: await visitAll(`ws://127.0.0.1:${proxy.address().port}`),
    secure: await visitAll(`wss://127.0.0.1:${secure.address().port}`)
  };
  const [seen, ...others] = Object.values(result).map((visits) => JSON.stringify(visits));
  result.same = others.every((other) => other === seen);
  target.close();
  proxy.close();
  secure.close();
  console.log(JSON.stringify(result));
}

main();
