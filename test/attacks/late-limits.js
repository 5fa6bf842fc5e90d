'use strict';

// CVE-2016-10544, CVE-2026-1526: limits that are checked when the message is already in memory.

const assert = require('node:assert/strict');
const { constants, deflateRawSync, inflateRaw } = require('node:zlib');
const t = require('tap');
const { Decoder } = require('../..');
const { forEachDecoder } = require('../support/decoders');
const { framesFor } = require('../support/frames');
const { MIB, attackEchoServer, closeCodes } = require('../support/targets');

const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff]);

t.test('a message is judged by its headers, before its payload', (t) => {
  forEachDecoder(({ f, refusedAfter }) => {
    const header = f.binary('', { length: 1001 });
    assert.equal(refusedAfter(Buffer.concat([header, Buffer.alloc(10)]), { maxPayload: 1000 }), header.length);
    const begun = Buffer.concat([f.binary(Buffer.alloc(1000), { fin: false })]);
    const next = f.continuation('', { length: 1 });
    const bytes = Buffer.concat([begun, next, Buffer.alloc(10)]);
    assert.equal(refusedAfter(bytes, { maxPayload: 1000 }), begun.length + next.length);
  });
  t.end();
});

t.test('the same with RSV1: compressed bytes count, and without the option the bit is refused', (t) => {
  forEachDecoder(({ f, refusedAfter, decode }) => {
    const header = f.binary('', { length: 1001, rsv: 0x40 });
    const options = { maxPayload: 1000, rsv1: true };
    assert.equal(refusedAfter(Buffer.concat([header, Buffer.alloc(10)]), options), header.length);
    assert.deepEqual(decode([f.binary('x', { rsv: 0x40 })]), [['error', 'RESERVED_BITS', 1002]]);
  });
  t.end();
});

t.test('a bomb: 16 MiB of zeros in 16 KiB reach the inflater, which stops at its own limit', async (t) => {
  const bomb = deflateRawSync(Buffer.alloc(16 * MIB), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
  t.ok(bomb.length < 20_000);
  const error = await new Promise((resolve, reject) => {
    // As docs/codec.md has it.
    const decoder = new Decoder({
      role: 'server',
      rsv1: true,
      maxPayload: MIB,
      onError: reject,
      onMessage(data, _isBinary, rsv1) {
        if (!rsv1) reject(new Error('RSV1 was lost'));
        const options = { maxOutputLength: MIB, finishFlush: constants.Z_SYNC_FLUSH };
        inflateRaw(Buffer.concat([data, TAIL]), options, resolve);
      }
    });
    decoder.write(framesFor('server').binary(bomb, { rsv: 0x40 }));
  });
  t.equal(error.code, 'ERR_BUFFER_TOO_LARGE');
});

attackEchoServer(t, 'late-limits', {
  onWs: true,
  bytes: 4 * MIB,
  async check(t, { attacker, held, running }) {
    await running;
    t.same(closeCodes(attacker), Array(5).fill(1009));
    t.ok(held < 8 * MIB, `${held} bytes held`);
  }
});

t.test('framemask/ws inflates no more than maxPayload of a bomb, alone and in fragments', async (t) => {
  const { deflateRawSync } = require('node:zlib');
  const { once } = require('node:events');
  const { WebSocketServer } = require('../../ws.js');
  const { connectRaw } = require('../support/websockets');
  const { frame } = require('../support/frames');
  const key = Buffer.from([1, 2, 3, 4]);
  const bomb = deflateRawSync(Buffer.alloc(64 * MIB));
  const half = bomb.length >> 1;
  const pieces = [
    [frame(2, bomb, { key, rsv: 0x40 })],
    [frame(2, bomb.subarray(0, half), { key, rsv: 0x40, fin: false }), frame(0, bomb.subarray(half), { key })]
  ];
  for (const frames of pieces) {
    const options = { perMessageDeflate: true, maxPayload: MIB };
    const { server, socket } = await connectRaw(t, { WebSocketServer }, options);
    const before = process.memoryUsage().rss;
    const failed = once(server, 'error');
    socket.write(Buffer.concat(frames));
    t.match((await failed)[0], { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' });
    const grown = process.memoryUsage().rss - before;
    t.ok(grown < 16 * MIB, `${grown} bytes of memory`);
    t.equal((await once(socket, 'data'))[0].toString('hex'), '880203f1', 'a Close frame with 1009');
  }
});
