'use strict';

// CVE-2026-62389: many connections, each with a message of nearly as many fragments as are allowed,
// which is never finished.

const t = require('tap');
const { MIB, attackEchoServer, heldBy, untilConnections } = require('../support/targets');
const { forEachDecoder } = require('../support/decoders');
const assert = require('node:assert/strict');

t.test('a decoder holds the bytes of a message, not its fragments, and none after stop()', (t) => {
  forEachDecoder(({ f, record }) => {
    const rest = Buffer.concat(Array(16_383).fill(f.continuation('x', { fin: false })));
    const make = (stops) => () =>
      Array.from({ length: 20 }, () => {
        const { decoder } = record();
        decoder.write(f.binary('x', { fin: false }));
        decoder.write(Buffer.from(rest));
        assert.equal(decoder.closed, false);
        if (stops) decoder.stop();
        return decoder;
      });
    make(true)();
    const held = heldBy(make(false));
    assert.ok(held < 20 * 64 * 1024, `20 messages of 16,384 bytes hold ${held}`);
    const after = heldBy(make(true));
    assert.ok(after < 20 * 8 * 1024, `stopped, they hold ${after}`);
  });
  t.end();
});

attackEchoServer(t, 'unfinished-fragments', {
  connections: 50,
  server: { idleTimeout: 500 },
  async check(t, { held, running, target }) {
    // Each has 16 KiB.
    t.ok(held < 16 * MIB, `${held} bytes held`);
    await running;
    await untilConnections(target, 0);
    t.pass('the heartbeat has ended the connections');
  }
});
