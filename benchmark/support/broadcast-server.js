'use strict';

// The server process that broadcast.js and ws.js fork. It sends messages of framemask or ws to all
// of its clients, which are in client.js. Its argument is a name of SERVERS, or a module with
// the API of ws.

const { once } = require('node:events');
const net = require('node:net');
const { setImmediate } = require('node:timers/promises');

const { asciiPayload, unmaskedFrame, TEXT } = require('./messages');

/**
 * Each starts a server. A way to send takes the text and the number of messages, makes what is made
 * once for a broadcast, and returns a function that sends it to a client.
 */
const SERVERS = {
  framemask() {
    const { prepare } = require('../../index.js');
    const { createEchoServer } = require('../../examples/echo-server');
    const server = createEchoServer({ idleTimeout: 0 }).listen(0, '127.0.0.1');
    return {
      server,
      clients: server.connections,
      ways: {
        framemask: (text, count) => {
          const message = prepare(text);
          return (connection) => {
            for (let i = 0; i < count; i++) connection.encoder.prepared(message);
            connection.flush();
          };
        },
        // The least that any library must do: one write of ready bytes for each client.
        'socket alone': (text, count) => {
          const bytes = Buffer.concat(Array(count).fill(unmaskedFrame(TEXT, Buffer.from(text))));
          return ({ socket }) => void socket.write(bytes);
        }
      }
    };
  },
  ws: () => createWebSocketServer('ws')
};

/** @param {string} name of ws, or of a module with its API */
function createWebSocketServer(name) {
  const { Sender, WebSocketServer } = require(name);
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  return {
    server,
    clients: server.clients,
    ways: {
      ws: (text, count) => (client) => {
        for (let i = 0; i < count; i++) client.send(text);
      },
      // As ws's authors advise for a broadcast: https://github.com/websockets/ws/issues/617
      'ws, framed once': (text, count) => {
        const options = { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true };
        const list = Sender.frame(Buffer.from(text), options);
        return ({ _socket: socket }) => {
          for (let i = 0; i < count; i++) {
            socket.cork();
            for (const part of list) socket.write(part);
            socket.uncork();
          }
        };
      }
    }
  };
}

async function main() {
  const name = process.argv[2];
  const { server, clients, ways } = SERVERS[name]?.() ?? createWebSocketServer(name);
  await once(server, 'listening');
  // On this connection the clients report that all of a broadcast has arrived.
  const control = net.createServer().listen(0, '127.0.0.1');
  await once(control, 'listening');
  process.send({ port: server.address().port, controlPort: control.address().port });
  const [acknowledgements] = await once(control, 'connection');

  process.on('message', async ({ way, size, count, milliseconds }) => {
    const text = asciiPayload(size).latin1Slice();
    const end = performance.now() + milliseconds;
    const sent = [];
    const arrived = [];
    const before = process.cpuUsage();
    while (performance.now() < end) {
      const acknowledged = once(acknowledgements, 'data');
      const began = performance.now();
      const send = ways[way](text, count);
      for (const client of clients) send(client);
      await setImmediate();
      sent.push(performance.now() - began);
      await acknowledged;
      arrived.push(performance.now() - began);
    }
    const { user, system } = process.cpuUsage(before);
    process.send({ sent, arrived, microseconds: user + system });
  });
}

main();
