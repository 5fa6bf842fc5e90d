'use strict';

// CVE-2024-37890: with more headers than Node.js counts, a handshake lacks those that a server takes
// for granted.

const t = require('tap');
const { attackEchoServer } = require('../support/targets');

attackEchoServer(t, 'many-headers', {
  onWs: true,
  async check(t, { attacker, running }) {
    await running;
    for (const answer of attacker.answers) t.match(String(answer), /^HTTP\/1\.1 4\d\d /);
  }
});
