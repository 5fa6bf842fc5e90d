'use strict';

// Where zlib has no handles that can be used synchronously, as on Deno, ws compresses by itself,
// and the Encoder compresses no fragments.

const zlib = require('node:zlib');
const t = require('tap');
const { supportsSyncZlib } = require('../../lib/deflate/zlib-handle');

// The trial of the handles fails; it is made once.
const handle = Object.getPrototypeOf(zlib.createDeflateRaw()._handle);
const { writeSync } = handle;
handle.writeSync = () => {
  throw new Error('no writeSync');
};
t.equal(supportsSyncZlib(), false);
handle.writeSync = writeSync;

const codec = require('../../index');
const framemask = require('../../ws.js');
const { framesFor } = require('../support/frames');
const { connectPair, connectRaw, receiveTexts, record } = require('../support/websockets');

const DEFLATE = { perMessageDeflate: { threshold: 0 } };

t.test('messages arrive in their order, both ways', async (t) => {
  t.equal(framemask.report().deflate, 'ws');
  const { server, client } = await connectPair(t, framemask, { server: DEFLATE, client: DEFLATE });
  for (const from of [server, client]) {
    const received = receiveTexts(from === server ? client : server, 4);
    const sent = ['one', 'two'.repeat(10_000), 'three', ''];
    for (const data of sent) from.send(data);
    t.same(await received, sent);
  }
});

t.test('the Encoder sends fragments as they are', async (t) => {
  const { Encoder, acceptDeflate } = codec;
  const encoder = new Encoder({ role: 'server', deflate: acceptDeflate('permessage-deflate') });
  encoder.text('a'.repeat(2000), { fin: false, compress: true });
  encoder.continuation('b');
  t.equal(encoder.take()[0][0], 0x01);
  encoder.text('a'.repeat(2000));
  t.equal(encoder.take()[0][0], 0xc1);
});

t.test('fragments, and errors', async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: DEFLATE, client: DEFLATE });
  const received = receiveTexts(server, 1);
  client.send('a', { fin: false });
  client.send('b');
  t.same(await received, ['ab']);
  const f = framesFor('server');
  const half = zlib.deflateRawSync(Buffer.alloc(60), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  const { server: limited, socket } = await connectRaw(t, framemask, { perMessageDeflate: true, maxPayload: 100 });
  const together = record(limited);
  socket.write(f.text(half, { rsv: 0x40, fin: false }));
  socket.write(f.continuation(half.subarray(0, -4)));
  t.match((await together)[0], ['error', 'RangeError', 'Max payload size exceeded']);
  for (const [payload, options] of [
    [Buffer.from([7]), {}],
    [zlib.deflateRawSync(Buffer.from([0xff])), {}],
    [zlib.deflateRawSync(Buffer.alloc(1000)), { maxPayload: 100 }]
  ]) {
    const { server, socket } = await connectRaw(t, framemask, { perMessageDeflate: true, ...options });
    const events = record(server);
    socket.write(f.text(payload, { rsv: 0x40 }));
    t.equal((await events)[0][0], 'error');
  }
});
