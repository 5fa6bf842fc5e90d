'use strict';

// Control frames between all fragments: they must neither reset the count of fragments, nor be lost,
// nor be gathered with the message.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, closeCodes } = require('../support/targets');

t.test('a decoder delivers each control frame at its place, and counts the fragments alone', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    decoder.write(f.text('x', { fin: false }));
    let count = 1;
    while (!decoder.closed) {
      decoder.write(Buffer.concat([f.ping(`${count}`), f.pong(''), f.continuation('x', { fin: false })]));
      count++;
    }
    assert.equal(count, 16 * 1024 + 1);
    const pings = events.filter(([kind]) => kind === 'ping');
    assert.deepEqual(
      pings.map(([, payload]) => Number(payload)),
      Array.from({ length: count - 1 }, (_, i) => i + 1)
    );
    assert.deepEqual(events.at(-1), ['error', 'TOO_MANY_FRAGMENTS', 1008]);

    const whole = record();
    const frames = [f.text('a', { fin: false }), f.ping('b'), f.continuation('c', { fin: false }), f.pong('d')];
    whole.decoder.write(Buffer.concat([...frames, f.continuation('e')]));
    assert.deepEqual(whole.events, [
      ['ping', 'b'],
      ['pong', 'd'],
      ['string', 'ace', false, false]
    ]);
  });
  t.end();
});

attackEchoServer(t, 'interleaved-control-frames', {
  onWs: true,
  async check(t, { attacker, held, library, running }) {
    await running;
    // With ws, a chunk of more than maxPendingAutoPongs Ping frames ends the connection.
    const codes = library === 'framemask' ? [1008] : [1008, 0];
    for (const code of closeCodes(attacker)) t.ok(codes.includes(code), `the close code ${code}`);
    t.ok(held < 8 * MIB, `${held} bytes held`);
  }
});
