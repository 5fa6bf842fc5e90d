'use strict';

// A client that sends messages and never reads their echoes. 25 of them held 400 MiB of a server
// that took messages of 16 MiB and never dropped a client while it wrote to it.

const t = require('tap');
const { MIB, attackEchoServer, untilConnections } = require('../support/targets');

attackEchoServer(t, 'unread-echoes', {
  connections: 25,
  bytes: 32 * MIB,
  server: { idleTimeout: 500 },
  async check(t, { held, target }) {
    // One echo of 512 KiB for each, and the message behind it as far as it was read.
    t.ok(held < 25 * MIB, `${held} bytes held`);
    await untilConnections(target, 0);
    t.pass('the heartbeat has ended the connections');
  }
});
