'use strict';

// `npm start`: an echo server, and a client that shows what a few messages look like on the wire.

const { once } = require('node:events');
const { parseArgs } = require('node:util');

const { demonstrate } = require('./start/demonstration');

const USAGE = `usage: npm start [-- --once]

Starts the WebSocket echo server of examples/echo-server.js on 127.0.0.1:8080, sends it a few messages
with the client of ws, prints the bytes on the wire, and serves until Ctrl-C. PORT=9000 npm start uses
port 9000, PORT=0 a free one.

  --once  end after the messages; exit code 0, or 1 if any byte came back wrong
  --help  print this

FRAMEMASK_KERNEL=js npm start masks without the addon.`;

/**
 * @param {string} text
 * @returns {number}
 * @throws {RangeError} if it is not a port
 */
function readPort(text) {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535) {
    throw new RangeError(`PORT must be a whole number from 0 to 65535, but was "${text}"`);
  }
  return Number(text);
}

async function main() {
  const { values } = parseArgs({ options: { once: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const port = readPort(process.env.PORT || '8080');
  // Loaded here, so that main's caller also reports a FRAMEMASK_KERNEL that this machine can't run.
  const { kernel, nativeError } = require('framemask');
  const { createEchoServer, shutDown } = require('./echo-server');
  const server = createEchoServer().listen(port, '127.0.0.1');
  await once(server, 'listening').catch(({ message }) => {
    throw new Error(`Can't listen on port ${port} (${message}); PORT=0 npm start uses a free one`);
  });
  const url = `ws://127.0.0.1:${server.address().port}`;
  const why = nativeError === null ? '' : `, as there is no addon (${nativeError.message})`;
  console.log(`Echo server on ${url}, unmasking with the kernel ${kernel}${why}\n`);

  const allRight = await demonstrate(url, console.log);
  if (values.once) {
    process.exitCode = Number(!allRight);
    shutDown(server);
    return;
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => shutDown(server));
  console.log('The server goes on until Ctrl-C.');
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 2;
});
