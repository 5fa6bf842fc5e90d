'use strict';

// Leaves a connection, whose first bad frame and first messages come after the end of this file's
// environment, while teardown-2 runs: from then on, Jest's `require` returns undefined.

const { once } = require('node:events');
const { WebSocket, WebSocketServer, ...others } = require('ws');
const { note, openedOf } = require('./exchange.cjs');

// The notes are written when Jest has taken the globals away.
const { JSON: json } = globalThis;
const later = setTimeout;

test('a connection is left open', async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  const seen = [];
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      seen.push(['message', String(data)]);
      socket.send(data);
    });
    socket.on('error', ({ code, message }) => seen.push(['error', code, message]));
    socket.on('close', (code) => seen.push(['server', code]));
  });
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
  client.on('message', (data) => {
    seen.push(['echo', String(data)]);
    // An opcode that is not one, masked.
    client._socket.write(Buffer.from([0x83, 0x80, 1, 2, 3, 4]));
  });
  client.on('close', (code) => {
    seen.push(['client', code]);
    server.close();
    note(json.parse(json.stringify(seen)), openedOf(others));
  });
  await once(client, 'open');
  later(() => client.send('late'), 500);
});
