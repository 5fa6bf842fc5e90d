'use strict';

// examples/gateway.js between the suite and an echo server, or a client and the suite.

const { once } = require('node:events');
const { createEchoServer } = require('../../../examples/echo-server');
const { createGateway } = require('../../../examples/gateway');
const { HOST, LIMITS } = require('./limits');

async function listen(server) {
  await once(server.listen(0, HOST), 'listening');
  return `ws://${HOST}:${server.address().port}`;
}

/** @returns {Promise<http.Server>} a gateway that compresses the side of the suite */
async function createServer(deflate) {
  const url = await listen(createEchoServer(LIMITS));
  return createGateway(url, { client: { ...LIMITS, deflate } }).listen(0, HOST);
}

let gateway = null;

/** @returns {Promise<string>} an address through a gateway, which compresses the side of the suite */
async function through(address, deflate) {
  const url = new URL(address);
  gateway ??= listen(createGateway(url, { client: LIMITS, upstream: { deflate } }).unref());
  return `${await gateway}${url.pathname}${url.search}`;
}

module.exports = { createServer, through };
