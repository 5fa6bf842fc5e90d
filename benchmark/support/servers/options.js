'use strict';

const secure = require('node:tls');
const v8 = require('node:v8');
const vm = require('node:vm');
const { memoryUse } = require('../weigh');

/**
 * What a server is told: whether `text` is delivered as 'buffer' or 'string', `tls` with key and cert,
 * `deflate` (true, or 'takeover'), the `module` with the API of ws, `sharedReads`, `callbacks` of send,
 * `weighed` if it answers each message with its memory ('resident': with that of OpenSSL, too), `http` for sockets of an HTTP server.
 *
 * @typedef {Record<string, any>} ServerOptions
 */

/** @type {ServerOptions} */
const options = JSON.parse(process.argv[2]);

if (options.weighed) {
  v8.setFlagsFromString('--expose-gc');
  globalThis.gc = vm.runInNewContext('gc');
  process.on('message', async () => {
    const used = await memoryUse();
    process.send(options.weighed === 'resident' ? process.memoryUsage.rss() : used);
  });
}

/** Listens on 127.0.0.1, and prints the port. */
function listen(server) {
  const { tls } = options;
  const forward = (socket) => server.emit('connection', socket);
  const outer = tls ? secure.createServer({ ...tls, noDelay: true }, forward) : server;
  outer.listen(0, '127.0.0.1', () => console.log(outer.address().port));
}

module.exports = { listen, options };
