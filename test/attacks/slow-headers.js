'use strict';

// CVE-2021-32640, and CVE-2020-7662 of websocket-extensions: patterns that take a time in proportion
// to the square of a header's length. 16 KiB then take a second, ten of them end a server's work.

const t = require('tap');
const { SLOW_HEADERS } = require('../support/attacks/attacks');
const { attackEchoServer } = require('../support/targets');

/** Quadratic, one handshake would take about 0.2 s. */
const MAX_CPU = 2;

attackEchoServer(t, 'slow-headers', {
  connections: 20 * SLOW_HEADERS.length,
  async check(t, { attacker, running, target }) {
    await running;
    t.equal(attacker.answers.filter((answer) => /^HTTP\/1\.1 \d/.test(answer)).length, attacker.connections, 'answers');
    const { cpu } = await target.state();
    t.ok(cpu < MAX_CPU, `100 handshakes and the start of the server took ${cpu} s`);
  }
});
