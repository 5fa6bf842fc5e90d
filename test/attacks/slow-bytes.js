'use strict';

// Slowloris: connections that send a message byte by byte, slowly, so that they always seem alive.
// What they hold must be small, because they can hold it for long.

const t = require('tap');
const { MIB, attackEchoServer } = require('../support/targets');

attackEchoServer(t, 'slow-bytes', {
  connections: 200,
  bytes: 50,
  interval: 20,
  server: { idleTimeout: 500 },
  async check(t, { attacker, held, running }) {
    t.ok(held < 200 * 32 * 1024 && held < 8 * MIB, `${held} bytes held`);
    // They stop in the middle of the message, and are silent then.
    await running;
    t.equal(attacker.sockets.size, 0, 'the heartbeat has ended the connections');
  }
});
