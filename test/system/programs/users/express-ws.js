'use strict';

// express-ws, which depends on ws 7: its server must be left as it is, while the client is the `ws`
// of this program.

const { once } = require('node:events');
const express = require('express');
const expressWs = require('express-ws');
const { WebSocket } = require('ws');

function createApp() {
  const { app, getWss } = expressWs(express());
  app.use((request, _response, next) => {
    request.user = request.query.user;
    next();
  });
  app.get('/', (_request, response) => response.send('by HTTP'));
  app.ws('/echo', (socket, request) => {
    socket.send(`hello ${request.user}`);
    // ws 7 passes text as a string, ws 8 as a Buffer.
    socket.on('message', (data) => socket.send(typeof data === 'string' ? `text ${data}` : data));
  });
  app.ws('/rooms/:room', (_socket, request) => {
    for (const client of getWss().clients) client.send(`${request.params.room} has somebody new`);
  });
  app.ws('/bye', (socket) => socket.close(4000, 'bye'));
  return app;
}

async function main() {
  const server = createApp().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `127.0.0.1:${server.address().port}`;
  const result = { http: await (await fetch(`http://${base}/`)).text(), messages: [] };

  const socket = new WebSocket(`ws://${base}/echo?user=me`);
  const sent = ['', 'ü€😀', 'z'.repeat(100_000), Buffer.from([0, 128, 255]), Buffer.alloc(100_000, 1)];
  socket.on('open', () => {
    for (const data of sent) socket.send(data);
  });
  const all = new Promise((resolve) => {
    socket.on('message', (data, isBinary) => {
      result.messages.push([isBinary, data.length, String(data.subarray(0, 20))]);
      if (result.messages.length === sent.length + 1) resolve();
    });
  });
  await all;

  const rooms = new WebSocket(`ws://${base}/rooms/kitchen`);
  result.room = (await Promise.all([once(socket, 'message'), once(rooms, 'message')])).map(([data]) => String(data));
  rooms.terminate();

  const [code, reason] = await once(new WebSocket(`ws://${base}/bye`), 'close');
  result.bye = `${code} ${reason}`;
  socket.close(1000, 'done');
  result.end = (await once(socket, 'close')).map(String);
  server.close();
  console.log(JSON.stringify(result));
}

main();
