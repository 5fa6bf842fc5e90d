'use strict';

// Connections by the thousand that send nothing, half a handshake, or nothing after it.

const t = require('tap');
const { attackEchoServer, untilConnections } = require('../support/targets');

attackEchoServer(t, 'half-open-connections', {
  connections: 1000,
  server: { headersTimeout: 1000, requestTimeout: 1000, connectionsCheckingInterval: 200, idleTimeout: 1000 },
  async check(t, { attacker, held, running, target }) {
    t.ok(held < 1000 * 32 * 1024, `${held / 1000} bytes for each connection`);
    await running;
    t.equal(attacker.sockets.size, 0, 'the server has ended all connections');
    await untilConnections(target, 0);
  }
});
