'use strict';

const secure = require('node:tls');
const v8 = require('node:v8');
const vm = require('node:vm');

/**
 * What a server is told, as JSON in its first argument.
 *
 * @typedef {object} ServerOptions
 * @property {'buffer' | 'string'} text what a text message is delivered as
 * @property {{ key: string, cert: string } | null} tls null for plain connections
 * @property {boolean} deflate whether messages are compressed, without context takeover
 * @property {boolean} upload whether binary messages are dropped
 * @property {boolean} [collects] whether garbage is collected four times a second, because the
 *   process is weighed from outside
 * @property {string} [module] with the API of ws
 * @property {boolean} [oneBuffer] whether all connections are read into one buffer
 */

/** @type {ServerOptions} */
const options = JSON.parse(process.argv[2]);

if (options.collects) {
  v8.setFlagsFromString('--expose-gc');
  setInterval(vm.runInNewContext('gc'), 250);
}

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
