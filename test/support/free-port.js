'use strict';

const { once } = require('node:events');
const net = require('node:net');

/** Lets a server listen on 127.0.0.1. @returns {Promise<number>} its port */
async function listen(server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

/** @returns {Promise<number>} a port of 127.0.0.1 that nobody listens on now */
async function freePort() {
  const server = net.createServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return port;
}

module.exports = { freePort, listen };
