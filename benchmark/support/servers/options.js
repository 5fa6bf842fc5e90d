'use strict';

const secure = require('node:tls');

/**
 * What a server is told, as JSON in its first argument.
 *
 * @typedef {object} ServerOptions
 * @property {'buffer' | 'string'} text what a text message is delivered as
 * @property {{ key: string, cert: string } | null} tls null for plain connections
 * @property {string} [module] with the API of ws
 * @property {boolean} [oneBuffer] whether all connections are read into one buffer
 */

/** @type {ServerOptions} */
const options = JSON.parse(process.argv[2]);

/**
 * Listens on 127.0.0.1, and prints the port.
 *
 * @param {import('node:net').Server} server with TLS, its 'connection' event gets the socket
 */
function listen(server) {
  const { tls } = options;
  const forward = (socket) => server.emit('connection', socket);
  const outer = tls === null ? server : secure.createServer({ ...tls, noDelay: true }, forward);
  outer.listen(0, '127.0.0.1', () => console.log(outer.address().port));
}

module.exports = { listen, options };
