'use strict';

const { once } = require('node:events');
const net = require('node:net');

/** @returns {Promise<number>} a port of 127.0.0.1 that nobody listens on now */
async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

module.exports = { freePort };
