'use strict';

const net = require('node:net');
const { once } = require('node:events');
const { PassThrough, Writable } = require('node:stream');
const t = require('tap');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { TEXT, BINARY, frame } = require('../support/frames');

/** A stream that counts how often it is written to, and says each time whether it wants more. */
function counting({ more = true } = {}) {
  const writes = [];
  const sink = new Writable({
    highWaterMark: more ? 1 << 20 : 1,
    write: (chunk, _encoding, done) => {
      writes.push(Buffer.from(chunk));
      if (more) done();
    },
    writev: (chunks, done) => {
      writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)));
      if (more) done();
    }
  });
  return { sink, writes };
}

t.test('all that has collected leaves in one write', (t) => {
  const { sink, writes } = counting();
  const encoder = new Encoder({ role: 'server' });
  t.equal(encoder.flush(sink), true, 'nothing to write');
  encoder.text('a');
  encoder.text('b');
  t.equal(encoder.flush(sink), true);
  t.equal(encoder.pending, 0);
  const large = Buffer.alloc(20_000, 1);
  encoder.text('a');
  encoder.binary(large);
  encoder.binary(large);
  encoder.text('b');
  t.equal(encoder.flush(sink), true);
  const message = prepare('p');
  encoder.prepared(message);
  t.equal(encoder.flush(sink), true);
  t.equal(writes.length, 3);
  t.ok(writes[0].equals(Buffer.concat([frame(TEXT, 'a'), frame(TEXT, 'b')])));
  const expected = [frame(TEXT, 'a'), frame(BINARY, large), frame(BINARY, large), frame(TEXT, 'b')];
  t.ok(writes[1].equals(Buffer.concat(expected)));
  t.ok(writes[2].equals(message.frame));
  t.end();
});

t.test('a sink may be anything that has write', (t) => {
  const written = [];
  const sink = { write: (chunk) => written.push(chunk) > 0 };
  const encoder = new Encoder({ role: 'server' });
  encoder.text('a');
  for (const wrong of [undefined, null, {}, 7]) {
    t.throws(() => encoder.flush(wrong), { code: 'ERR_INVALID_ARG_TYPE', message: /"writable"/ });
  }
  encoder.binary(Buffer.alloc(16_384));
  t.equal(encoder.flush(sink), true);
  t.ok(Buffer.concat(written).equals(Buffer.concat([frame(TEXT, 'a'), frame(BINARY, Buffer.alloc(16_384))])));
  t.end();
});

t.test('flush says whether the connection wants more', (t) => {
  const { sink } = counting({ more: false });
  const encoder = new Encoder({ role: 'server' });
  encoder.text('a');
  t.equal(encoder.flush(sink), false);
  encoder.binary(Buffer.alloc(20_000));
  t.equal(encoder.flush(sink), false);
  t.end();
});

t.test('what a connection that has ended cannot take is dropped', async (t) => {
  const { sink, writes } = counting();
  sink.end();
  await once(sink, 'finish');
  const encoder = new Encoder({ role: 'server' });
  encoder.text('a');
  t.equal(encoder.flush(sink), false);
  t.equal(encoder.pending, 0);
  t.same(writes, []);
});

t.test('with a writable, each turn leaves by itself', async (t) => {
  const { sink, writes } = counting();
  const encoder = new Encoder({ role: 'server', writable: sink });
  encoder.text('a');
  encoder.binary(Buffer.alloc(20_000));
  encoder.prepared(prepare('p'));
  t.same(writes, []);
  await new Promise(setImmediate);
  t.equal(writes.length, 1);
  encoder.text('b');
  t.equal(encoder.flush(), true, 'or sooner');
  t.equal(writes.length, 2);
  await new Promise(setImmediate);
  t.equal(writes.length, 2);
  encoder.prepared(prepare('c'));
  await new Promise(setImmediate);
  t.equal(writes.length, 3);
});

t.test('memory serves again only where that was said to be safe, and only once the bytes have been used', async (t) => {
  const passing = new PassThrough({ highWaterMark: 1 << 20 });
  const careful = new Encoder({ role: 'server' });
  careful.text('first');
  careful.flush(passing);
  careful.text('SECOND');
  careful.flush(passing);
  // From Node.js 26 on, each read gives one of the writes.
  const read = Buffer.concat([passing.read(), passing.read() ?? Buffer.alloc(0)]);
  t.ok(read.equals(Buffer.concat([frame(TEXT, 'first'), frame(TEXT, 'SECOND')])));

  // A stream that keeps what it was given until it is asked to go on.
  const kept = [];
  const slow = new Writable({ write: (chunk, _encoding, done) => kept.push({ chunk, done }) });
  const encoder = new Encoder({ role: 'server', recycle: true });
  encoder.text('one');
  encoder.flush(slow);
  encoder.text('two');
  const [two] = encoder.take();
  t.not(two.byteOffset, kept[0].chunk.byteOffset, 'not while it is still being written');
  t.ok(kept[0].chunk.equals(frame(TEXT, 'one')));

  const { sink, writes } = counting();
  encoder.text('three');
  encoder.flush(sink);
  encoder.text('four');
  encoder.binary(Buffer.alloc(20_000));
  encoder.text('five');
  encoder.flush(sink);
  encoder.text('six');
  encoder.flush(sink);
  const [three, four, six] = [frame(TEXT, 'three'), frame(TEXT, 'four'), frame(TEXT, 'six')];
  t.same(writes, [three, Buffer.concat([four, frame(BINARY, Buffer.alloc(20_000)), frame(TEXT, 'five')]), six]);
});

t.test('a socket whose peer reads slowly gets every byte, though memory serves again', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reader = net.connect(server.address().port, '127.0.0.1');
  const [socket] = await once(server, 'connection');
  const encoders = [new Encoder({ role: 'server', recycle: true }), new Encoder({ role: 'server' })];
  const expected = [];
  const received = [];
  let drains = 0;
  reader.pause();
  for (let i = 0; i < 10_000; i++) {
    const text = String(i).repeat(1 + (i % 900));
    const encoder = encoders[i % 7 === 0 ? 1 : 0];
    encoder.text(text);
    expected.push(frame(TEXT, text));
    if (!encoder.flush(socket)) {
      drains++;
      reader.on('data', (chunk) => received.push(chunk));
      reader.resume();
      await once(socket, 'drain');
      reader.removeAllListeners('data');
      reader.pause();
    }
  }
  reader.on('data', (chunk) => received.push(chunk));
  reader.resume();
  socket.end();
  await once(reader, 'end');
  server.close();
  t.ok(Buffer.concat(received).equals(Buffer.concat(expected)));
  t.ok(drains > 0, 'the socket was full at least once');
});
