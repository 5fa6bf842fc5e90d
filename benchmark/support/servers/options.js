'use strict';

const secure = require('node:tls');
const v8 = require('node:v8');
const vm = require('node:vm');
const { memoryUse } = require('../weigh');

/**
 * What a server is told, as JSON in its first argument.
 *
 * @typedef {object} ServerOptions
 * @property {'buffer' | 'string'} [text] what a text message is delivered as
 * @property {{ key: string, cert: string } | null} [tls] null for plain connections
 * @property {boolean | 'takeover'} [deflate] whether messages are compressed, and with context takeover
 * @property {string} [module] with the API of ws
 * @property {boolean} [sharedReads] whether all connections are read into one buffer
 * @property {boolean} [callbacks] whether `send` gets a callback
 * @property {boolean} [weighed] whether the process answers each message with the memory that it uses
 * @property {boolean} [http] whether a bare socket comes from an HTTP server, as those of ws do
 */

/** @type {ServerOptions} */
const options = JSON.parse(process.argv[2]);

if (options.weighed) {
  v8.setFlagsFromString('--expose-gc');
  globalThis.gc = vm.runInNewContext('gc');
  process.on('message', async () => process.send(await memoryUse()));
}

/** Listens on 127.0.0.1, and prints the port. */
function listen(server) {
  const { tls } = options;
  const forward = (socket) => server.emit('connection', socket);
  const outer = tls ? secure.createServer({ ...tls, noDelay: true }, forward) : server;
  outer.listen(0, '127.0.0.1', () => console.log(outer.address().port));
}

module.exports = { listen, options };
