'use strict';

// CVE-2026-62389: many connections, each with a message of nearly as many fragments as are allowed,
// which is never finished.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, heldBy, untilConnections } = require('../support/targets');

t.test('a decoder holds the bytes of a message, not its fragments', (t) => {
  forEachDecoder(({ f, record }) => {
    const rest = Buffer.concat(Array(16_383).fill(f.continuation('x', { fin: false })));
    const make = () =>
      Array.from({ length: 20 }, () => {
        const { decoder } = record();
        decoder.write(f.binary('x', { fin: false }));
        decoder.write(Buffer.from(rest));
        assert.equal(decoder.closed, false);
        return decoder;
      });
    make();
    const held = heldBy(make);
    assert.ok(held < 2 * MIB, `20 messages of 16,384 bytes hold ${held}`);
  });
  t.end();
});

t.test('stop() releases a message that is not finished', (t) => {
  forEachDecoder(({ f, record }) => {
    const make = () =>
      Array.from({ length: 20 }, () => {
        const { decoder } = record();
        decoder.write(f.binary(Buffer.alloc(100_000), { fin: false }));
        decoder.write(f.continuation(Buffer.alloc(100_000), { fin: false }));
        decoder.stop();
        return decoder;
      });
    make();
    const held = heldBy(make);
    assert.ok(held < MIB, `20 messages of 200,000 bytes hold ${held}`);
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
