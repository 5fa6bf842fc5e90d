'use strict';

// Sends messages of framemask or ws to all of its clients. Its argument is framemask, or a module
// with the API of ws. Prints its port, and the one of a connection on which the clients report that
// all of a broadcast has arrived.

const { once } = require('node:events');
const net = require('node:net');
const { setImmediate } = require('node:timers/promises');
const { Sender } = require('ws');

const { createEchoServer } = require('../../../examples/echo-server');
const { prepare } = require('../../../index');
const { sharedTime } = require('../latency');
const { asciiPayload, unmaskedFrame, TEXT } = require('../messages');

/** A way to send takes a text and a count; it returns a function that sends so many to a client. */
const WAYS = {
  framemask(text, count) {
    const message = prepare(text);
    return (connection) => {
      for (let i = 0; i < count; i++) connection.send(message);
    };
  },
  // The least that any library must do: one write of ready bytes for each client.
  'socket alone'(text, count) {
    const bytes = Buffer.concat(Array(count).fill(unmaskedFrame(TEXT, Buffer.from(text))));
    return ({ socket }) => void socket.write(bytes);
  },
  ws: (text, count) => (client) => {
    for (let i = 0; i < count; i++) client.send(text);
  },
  // As ws's authors advise for a broadcast: https://github.com/websockets/ws/issues/617
  'ws, framed once'(text, count) {
    const list = Sender.frame(Buffer.from(text), { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true });
    return ({ _socket: socket }) => {
      for (let i = 0; i < count; i++) {
        socket.cork();
        for (const part of list) socket.write(part);
        socket.uncork();
      }
    };
  }
};

/** @returns {[server: object, clients: Set<object>]} */
function createServer(name) {
  if (name === 'framemask') {
    const server = createEchoServer({ heartbeat: 0 }).listen(0, '127.0.0.1');
    return [server, server.connections];
  }
  const server = new (require(name).WebSocketServer)({ host: '127.0.0.1', port: 0 });
  return [server, server.clients];
}

async function main() {
  const [server, clients] = createServer(process.argv[2]);
  const control = net.createServer().listen(0, '127.0.0.1');
  await Promise.all([once(server, 'listening'), once(control, 'listening')]);
  console.log(server.address().port, control.address().port);
  const [acknowledgements] = await once(control, 'connection');

  process.on('message', async ({ way, size, count, milliseconds }) => {
    const text = asciiPayload(size).latin1Slice();
    const end = performance.now() + milliseconds;
    const starts = [];
    const sent = [];
    const arrived = [];
    const before = process.cpuUsage();
    while (performance.now() < end) {
      const acknowledged = once(acknowledgements, 'data');
      const began = performance.now();
      starts.push(sharedTime());
      const send = WAYS[way](text, count);
      for (const client of clients) send(client);
      await setImmediate();
      sent.push(performance.now() - began);
      await acknowledged;
      arrived.push(performance.now() - began);
    }
    const { user, system } = process.cpuUsage(before);
    process.send({ result: { began: starts, sent, arrived, microseconds: user + system } });
  });
}

main();
