'use strict';

// CVE-2026-45736: a typed array given as the reason of a Close frame. If its elements are taken for
// its bytes, the frame has bytes of memory that nobody wrote.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const t = require('tap');
const { WebSocket } = require('ws');
const { Encoder } = require('../..');
const { forEachCase } = require('../support/cases');
const { startServer, untilAllClosed } = require('../support/connections');

const memory = Uint8Array.from({ length: 96 }, (_, i) => 0x61 + (i % 26)).buffer;

/** Views of 24 bytes at different places, some of which say something else about themselves. */
const VIEWS = [
  new Uint8Array(memory, 8, 24),
  new Uint8ClampedArray(memory, 8, 24),
  new Uint16Array(memory, 8, 12),
  new Int32Array(memory, 8, 6),
  new Float32Array(memory, 8, 6),
  new Float64Array(memory, 8, 3),
  new BigUint64Array(memory, 8, 3),
  new DataView(memory, 8, 24),
  Object.defineProperties(new Uint8Array(memory, 8, 24), { length: { value: 100 }, byteLength: { value: 100 } }),
  Object.defineProperties(new Uint16Array(memory, 8, 12), { length: { value: 1 }, byteLength: { value: 123 } })
];
const BYTES = Buffer.from(memory, 8, 24);

/** @returns {Buffer} the payload of the one frame that a server has encoded */
function payloadOf(encoder) {
  return Buffer.concat(encoder.take()).subarray(2);
}

t.test('a frame has the bytes of the view, and no others', (t) => {
  forEachCase(
    VIEWS.map((view) => ({ name: view[Symbol.toStringTag], view })),
    ({ view }) => {
      const closing = new Encoder({ role: 'server' });
      closing.close(1000, view);
      assert.deepEqual(payloadOf(closing), Buffer.concat([Buffer.from([3, 232]), BYTES]));
      for (const method of ['ping', 'pong', 'binary']) {
        const encoder = new Encoder({ role: 'server' });
        encoder[method](view);
        assert.deepEqual(payloadOf(encoder), BYTES, method);
      }
    }
  );
  t.end();
});

t.test('a reason of more bytes than elements is measured in bytes', (t) => {
  const encoder = new Encoder({ role: 'server' });
  t.throws(() => encoder.close(1000, new Float64Array(16)), RangeError, '16 elements of 8 bytes');
  t.equal(encoder.pending, 0);
  t.end();
});

t.test('the echo server closes with a typed array', async (t) => {
  const { server, url } = await startServer(t);
  for (const view of VIEWS) {
    const client = new WebSocket(url);
    await once(client, 'open');
    const [connection] = server.connections;
    connection.close(1000, view);
    const [code, reason] = await once(client, 'close');
    t.equal(code, 1000);
    t.same(reason, BYTES);
    await untilAllClosed(server);
  }
});
