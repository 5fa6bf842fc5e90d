'use strict';

// CVE-2026-109932, CVE-2026-11586: a peer that sends Ping frames and never reads the Pong frames, so
// that they fill the memory. test/example-client.js has the same attack on the client.

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const t = require('tap');
const { Encoder } = require('../..');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, untilConnections } = require('../support/targets');

t.test('flush() says that the peer does not read, and pause() holds the other Ping frames', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const stuck = new Writable({ highWaterMark: 16 * 1024, write() {} });
    const encoder = new Encoder({ role });
    let pings = 0;
    const decoder = new Decoder({
      role,
      onPing(payload) {
        pings++;
        encoder.pong(payload);
        if (!encoder.flush(stuck)) this.pause();
      }
    });
    const chunk = Buffer.concat(Array(500).fill(f.ping('x'.repeat(125))));
    assert.equal(decoder.write(chunk), false, 'stop reading');
    assert.ok(decoder.paused);
    const most = stuck.writableHighWaterMark + 131;
    assert.ok(stuck.writableLength <= most, `${stuck.writableLength} bytes wait`);
    assert.ok(pings < 500, `${pings} were answered`);
    assert.equal(encoder.pending, 0);
  });
  t.end();
});

attackEchoServer(t, 'unread-pongs', {
  bytes: 32 * MIB,
  server: { idleTimeout: 500 },
  async check(t, { held, target }) {
    t.ok(held < 16 * MIB, `${held} bytes held`);
    await untilConnections(target, 0);
    t.pass('the heartbeat has ended the connections');
  }
});
