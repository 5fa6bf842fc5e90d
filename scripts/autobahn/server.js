'use strict';

// Starts examples/echo-server.js with the limits that the suite needs:  node server.js

const { createEchoServer, shutDown } = require('../../examples/echo-server');

/** The largest message has 16 MiB, and one of 4 MiB comes in fragments of 64 bytes. */
const LIMITS = { maxPayload: 16 * 1024 * 1024, maxFragments: Number.POSITIVE_INFINITY };

const server = createEchoServer(LIMITS).listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`echo server: ws://127.0.0.1:${server.address().port}`);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => shutDown(server));
