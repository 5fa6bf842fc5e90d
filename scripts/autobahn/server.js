'use strict';

// Starts the server of an example with the limits that the suite needs:
//
//     node server.js                     examples/echo-server.js
//     node server.js shared|takeover     examples/deflate.js, without context takeover or with it

const echo = require('../../examples/echo-server');
const { createEchoServer } = require('../../examples/deflate');
const { deflateOptions } = require('./deflate-options');

const [contexts] = process.argv.slice(2);
/** The largest message has 16 MiB, and one of 4 MiB comes in fragments of 64 bytes. */
const LIMITS = { maxPayload: 16 * 1024 * 1024, maxFragments: Number.POSITIVE_INFINITY };

const server =
  contexts === undefined
    ? echo.createEchoServer(LIMITS)
    : createEchoServer({ ...LIMITS, deflate: deflateOptions(contexts) });
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`echo server: ws://127.0.0.1:${server.address().port}`);
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => (contexts === undefined ? echo.shutDown(server) : process.exit()));
}
