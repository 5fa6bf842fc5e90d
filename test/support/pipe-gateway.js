'use strict';

const net = require('node:net');

/** @returns {net.Server} the whole work of a proxy that reads nothing, to compare a gateway with */
function createPipe(url) {
  const { hostname, port } = new URL(url);
  return net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ host: hostname, port, noDelay: true });
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    client.pipe(upstream).pipe(client);
  });
}

module.exports = { createPipe };
