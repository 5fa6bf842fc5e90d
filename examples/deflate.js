'use strict';

// A WebSocket server and client that compress messages (permessage-deflate, RFC 7692).
//
//     node examples/deflate.js
//
// A client sends messages to an echo server, without context takeover and with it. It prints the
// agreement, the bytes before and after compression, and in which order replies came.

const { once } = require('node:events');
const http = require('node:http');
const { Connection } = require('framemask');

const SHARED = {
  maxPayload: 1024 * 1024, // also counts while a message is inflated: a bomb costs the limit and no more
  text: 'buffer'
};

function createEchoServer() {
  const options = {
    ...SHARED,
    deflate: { contextTakeover: true, threshold: 64 },
    onMessage(data, isBinary) {
      this.send(data, { binary: isBinary });
    }
  };
  const server = http.createServer((_request, response) => response.writeHead(426).end());
  return server.on('upgrade', (request, socket, head) => Connection.accept(request, socket, head, options));
}

function sendMessages(connection) {
  // Compressed in the thread pool. Those after it wait, so that the order stays.
  connection.send(JSON.stringify(Array.from({ length: 5000 }, (_, id) => ({ id, name: `user ${id}` }))));
  for (let id = 0; id < 100; id++) {
    connection.send(JSON.stringify({ id, name: `user ${id}`, roles: ['reader', 'writer'], on: id % 2 === 0 }));
  }
  // An attacker who adds text of theirs could guess a secret by the length of the compressed
  // message.
  connection.send('secret'.repeat(10), { compress: false });
}

/** Talks to the echo server, and returns when the connection is closed. */
function demonstrate(url, deflate) {
  return new Promise((resolve, reject) => {
    const sizes = [];
    const options = {
      ...SHARED,
      deflate,
      onMessage(data) {
        sizes.push(data.length);
        if (sizes.length < 102) return;
        const total = sizes.reduce((sum, size) => sum + size);
        console.log(
          `102 replies, ${total} bytes, the first ${sizes[0]}, the last ${data.length}: ${this.socket.bytesRead} received`
        );
        this.close(1000);
      },
      onClose(code) {
        console.log(`closed ${code}`);
        resolve();
      }
    };
    Connection.connect(url, options).then((connection) => {
      console.log(connection.deflate.header);
      sendMessages(connection);
    }, reject);
  });
}

async function main() {
  const server = createEchoServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${server.address().port}`;
  // A server that takes contexts over does without where the client asks for it.
  await demonstrate(url, { threshold: 64 });
  await demonstrate(url, { threshold: 64, contextTakeover: true });
  server.close();
}

main();
