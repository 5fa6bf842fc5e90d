'use strict';

// A chat of socket.io with its Redis streams adapter, on framemask/ws.

const { subscribe } = require('node:diagnostics_channel');
const http = require('node:http');
const { createAdapter } = require('@socket.io/redis-streams-adapter');
const { WebSocketServer } = require('framemask/ws');
const { createClient } = require('redis');
const { Server } = require('socket.io');

const counts = { received: 0, sent: 0 };
subscribe('framemask:message', ({ direction }) => counts[direction]++);

async function main() {
  const client = createClient({ url: process.env.REDIS_URL });
  client.on('error', (error) => console.error(error.message));
  await client.connect();
  const server = http.createServer((_request, response) => {
    response.end(`framemask_received ${counts.received}\nframemask_sent ${counts.sent}\n`);
  });
  const io = new Server(server, {
    adapter: createAdapter(client),
    transports: ['websocket'],
    wsEngine: WebSocketServer
  });
  io.on('connection', (socket) => {
    socket.on('join', async (room, reply) => reply(await socket.join(room)));
    // To all members on all processes, the sender included: published once it hears this itself.
    socket.on('say', (room, ...message) => io.to(room).emit('said', ...message));
  });
  server.listen(Number(process.env.PORT), '127.0.0.1', () => {
    console.log(`socket.io on http://127.0.0.1:${server.address().port}`);
  });
}

main();
