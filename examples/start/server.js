'use strict';

const { once } = require('node:events');

const { createEchoServer, shutDown } = require('../echo-server');

const HOST = '127.0.0.1';

/**
 * Starts the echo server.
 *
 * @param {number} port 0 for any free port
 * @returns {Promise<{ url: string, close: () => Promise<void> }>} `close` sends each client a Close
 *   frame first
 * @throws {Error} if the server can't listen on the port
 */
async function startServer(port) {
  const server = createEchoServer().listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`Can't listen on port ${port} (${error.message}); PORT=0 npm start uses a free one`);
  }
  return {
    url: `ws://${HOST}:${server.address().port}`,
    async close() {
      shutDown(server);
      if (server.listening || server.connections.size > 0) await once(server, 'close');
    }
  };
}

module.exports = { startServer };
