'use strict';

// How the bytes of an Encoder reach a stream, and when their memory is used again.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { Writable } = require('node:stream');
const t = require('tap');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { assertBytes, forEachCase, testCases } = require('../support/cases');
const { TEXT, BINARY, frame } = require('../support/frames');
const { createRandom } = require('../support/random');

/** A stream that records its writes. If `more` is false it never wants more. */
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

t.test('flush hands over all that has collected in one write', async (t) => {
  const { sink, writes } = counting();
  const encoder = new Encoder({ role: 'server' });
  t.equal(encoder.flush(sink), true, 'nothing to write');
  const large = Buffer.alloc(20_000, 1);
  for (const messages of [['a', 'b'], ['a', large, large, 'b'], [prepare('p')]]) {
    for (const data of messages) {
      if (typeof data === 'string') encoder.text(data);
      else if (data === large) encoder.binary(data);
      else encoder.addPrepared(data);
    }
    t.equal(encoder.flush(sink), true);
    t.equal(encoder.pending, 0);
    const expected = messages.map((data) => data.frame ?? frame(data === large ? BINARY : TEXT, data));
    assertBytes(writes.pop(), Buffer.concat(expected));
    t.same(writes, []);
  }
});

t.test('flush refuses anything that has no method write', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  encoder.text('a');
  forEachCase([undefined, null, {}, 7], (wrong) => {
    assert.throws(() => encoder.flush(wrong), { code: 'ERR_INVALID_ARG_TYPE', message: /"writable"/ });
  });
  t.throws(() => encoder.flush({ write() {} }, 'callback'), { code: 'ERR_INVALID_ARG_TYPE' });
});

t.test('flush returns false if the stream wants no more, unless it has passed all of it on', async (t) => {
  const sink = { writableLength: 0, write: () => false };
  const encoder = new Encoder({ role: 'server' });
  for (const writableLength of [0, 1]) {
    sink.writableLength = writableLength;
    encoder.text('a');
    t.equal(encoder.flush(sink), writableLength === 0, 'one piece');
    encoder.text('a');
    encoder.binary(Buffer.alloc(20_000));
    t.equal(encoder.flush(sink), writableLength === 0, 'two pieces');
  }
});

t.test('the pieces of a flush are corked, so that they become one write; a single one is not', async (t) => {
  const calls = [];
  const sink = {
    cork: () => calls.push('cork'),
    uncork: () => calls.push('uncork'),
    write: (chunk) => calls.push(chunk.length) > 0
  };
  const encoder = new Encoder({ role: 'server' });
  encoder.text('a');
  encoder.flush(sink);
  encoder.text('a');
  encoder.binary(Buffer.alloc(20_000));
  encoder.flush(sink);
  encoder.addPrepared(prepare('p'));
  encoder.flush(sink);
  t.same(calls, [3, 'cork', 3 + 4, 20_000, 'uncork', 3]);
});

t.test('flush calls its callback when the stream has taken the bytes, or with the error', async (t) => {
  const { sink } = counting();
  const encoder = new Encoder({ role: 'server' });
  const flushed = (stream) => new Promise((resolve) => encoder.flush(stream, resolve));
  t.notOk(await flushed(sink), 'nothing to write');
  encoder.text('a');
  t.notOk(await flushed(sink), 'one piece');
  encoder.text('a');
  encoder.binary(Buffer.alloc(20_000));
  t.notOk(await flushed(sink), 'several pieces');

  const { sink: full } = counting({ more: false });
  encoder.text('a');
  let called = false;
  encoder.flush(full, () => {
    called = true;
  });
  await new Promise(setImmediate);
  t.equal(called, false, 'a stream that has not taken them');
  full.destroy();
  await once(full, 'close');

  encoder.text('a');
  t.match(await flushed(full), { code: 'ERR_STREAM_DESTROYED' });
  const { sink: ended, writes } = counting();
  ended.end();
  encoder.text('a');
  t.match(await flushed(ended), { code: 'ERR_STREAM_WRITE_AFTER_END' });
  t.equal(encoder.pending, 0);
  encoder.text('a');
  t.equal(encoder.flush(ended), false, 'without a callback');
  t.equal(encoder.pending, 0);
  t.same(writes, []);
});

t.test('flush calls the callbacks of a sink that flushes during its write, though one throws', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  const order = [];
  const sink = {
    written: 0,
    write(_chunk, callback) {
      if (this.written++ === 0) {
        encoder.text('b');
        encoder.flush(this, () => order.push('b'));
        encoder.flush(this, () => {
          order.push('throws');
          throw new Error('from a callback');
        });
        encoder.flush(this, () => order.push('c'));
      }
      try {
        callback?.(null);
      } catch (error) {
        order.push(error.message);
      }
      return true;
    }
  };
  encoder.text('a');
  encoder.flush(sink, () => order.push('a'));
  t.same(order, ['a', 'b', 'throws', 'from a callback']);
  await new Promise(setImmediate);
  t.same(order, ['a', 'b', 'throws', 'from a callback', 'c']);
});

t.test('stop tells a callback whose bytes it drops', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  const dropped = new Promise((resolve) => {
    const write = () => {
      encoder.text('b');
      encoder.flush({ write }, resolve);
      encoder.stop();
    };
    encoder.text('a');
    encoder.flush({ write });
  });
  t.match(await dropped, { code: 'ERR_STREAM_DESTROYED' });
});

/** Encoders of both roles, with and without the option recycle. */
const KINDS = ['server', 'client'].flatMap((role) => [
  { role, recycle: false },
  { role, recycle: true }
]);

t.test('a stream that ends in its write gets nothing that is added then', async (t) => {
  for (const options of KINDS) {
    const encoder = new Encoder(options);
    const what = JSON.stringify(options);
    const written = [];
    const errors = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        written.push(Buffer.from(chunk));
        this.end();
        encoder.text('late');
        encoder.binary(Buffer.alloc(20_000));
        done();
      }
    });
    sink.on('error', (error) => errors.push(error));
    encoder.text('a');
    t.equal(encoder.flush(sink), false, `${what}: what flush returns`);
    t.equal(encoder.pending, 0, `${what}: pending`);
    await new Promise(setImmediate);
    t.same(errors, [], `${what}: no write after the end`);
    t.equal(written.length, 1, `${what}: writes`);
    t.doesNotThrow(() => encoder.text('next'), `${what}: the encoder goes on`);
    t.equal(encoder.take().length, 1, `${what}: what it takes then`);
  }
});

testCases('a sink that ends between two Buffers of one flush gets no more', KINDS, (options) => {
  const encoder = new Encoder(options);
  let writes = 0;
  const sink = {
    writable: true,
    writableLength: 0,
    write() {
      assert.ok(this.writable, 'a write after the end');
      writes++;
      this.writable = false;
      return true;
    }
  };
  encoder.text('a');
  encoder.binary(Buffer.alloc(200_000));
  encoder.text('b');
  assert.equal(encoder.flush(sink), false, 'what flush returns');
  assert.equal(writes, 1, 'writes');
  assert.equal(encoder.pending, 0, 'pending');
});

testCases('a stream whose write throws is not left corked', KINDS, (options) => {
  const { sink, writes } = counting();
  const encoder = new Encoder(options);
  encoder.text('a');
  encoder.binary(Buffer.alloc(200_000));
  encoder.text('b');
  const corked = [];
  sink.write = () => {
    corked.push(sink.writableCorked);
    throw new Error('no more');
  };
  assert.throws(() => encoder.flush(sink), { message: 'no more' });
  assert.deepEqual(corked, [1], 'corked during the write');
  assert.equal(sink.writableCorked, 0, 'corked afterwards');
  delete sink.write;
  encoder.text('c');
  assert.equal(encoder.flush(sink), true, 'the next flush');
  assert.equal(writes.length, 1, 'the next flush writes');
});

t.test('with the option writable, every kind of frame is flushed at the end of the turn, at once', async (t) => {
  const { sink, writes } = counting();
  const encoder = new Encoder({ role: 'server', writable: sink });
  const frames = {
    'a short text': () => encoder.text('a'),
    'a long text': () => encoder.text('a'.repeat(5000)),
    'large data': () => encoder.binary(Buffer.alloc(20_000)),
    'a prepared message': () => encoder.addPrepared(prepare('p')),
    'two of them': () => {
      encoder.binary(Buffer.alloc(20_000));
      encoder.addPrepared(prepare('p'));
    },
    'a Ping frame': () => encoder.ping(),
    'a Close frame': () => encoder.close()
  };
  for (const [name, send] of Object.entries(frames)) {
    writes.length = 0;
    send();
    t.equal(writes.length, 0, `${name}, before the end of the turn`);
    await new Promise(setImmediate);
    t.equal(writes.length, 1, `${name}, afterwards`);
  }
});

t.test('with the option writable, flush writes sooner', async (t) => {
  const { sink, writes } = counting();
  const encoder = new Encoder({ role: 'server', writable: sink });
  await new Promise((resolve) => t.equal(encoder.flush(resolve), true, 'nothing to write'));
  encoder.text('a');
  t.equal(encoder.flush(), true);
  t.equal(writes.length, 1);
  encoder.text('b');
  await new Promise((resolve) => t.equal(encoder.flush(resolve), true, 'with a callback'));
  t.equal(writes.length, 2);
  await new Promise(setImmediate);
  t.equal(writes.length, 2, 'nothing is left for the end of the turn');
});

t.test('frames of up to 64 KiB leave as one Buffer; a few bytes keep little memory alive', async (t) => {
  for (const recycle of [false, true]) {
    for (const size of [10, 600, 1500, 5000]) {
      const encoder = new Encoder({ role: 'server', recycle });
      const text = 'x'.repeat(size);
      const count = Math.floor(60_000 / (size + 4));
      for (let i = 0; i < count; i++) encoder.text(text);
      const buffers = encoder.take();
      t.equal(buffers.length, 1, `${count} frames of ${size} bytes`);
      assertBytes(buffers[0], Buffer.concat(Array(count).fill(frame(TEXT, text))));
    }
    for (const size of [1500, 3000, 9000, 40_000]) {
      const encoder = new Encoder({ role: 'server', recycle });
      encoder.text('x'.repeat(size));
      const [bytes] = encoder.take();
      t.ok(bytes.buffer.byteLength <= 2 * bytes.length, `${bytes.buffer.byteLength} bytes for ${size}`);
    }
  }
});

t.test('small frames share a piece of memory, and with recycle each flush is written from the same', async (t) => {
  const memories = new Set();
  const encoder = new Encoder({ role: 'server' });
  for (let i = 0; i < 10; i++) {
    encoder.text('hello');
    for (const bytes of encoder.take()) memories.add(bytes.buffer);
  }
  t.equal(memories.size, 1, 'small frames');

  const sink = { writableLength: 0, write: (chunk) => memories.add(chunk.buffer) };
  const large = Buffer.alloc(20_000);
  // Three pieces, of which the first and the last lie in one slab, are the last of these.
  for (const payloads of [['a'.repeat(100)], ['b'.repeat(5000)], ['b'.repeat(40_000)], ['c', large, 'd']]) {
    memories.clear();
    for (let i = 0; i < 20; i++) {
      const recycling = new Encoder({ role: 'server', recycle: true });
      for (const data of payloads) recycling.text(data);
      recycling.flush(sink);
    }
    memories.delete(large.buffer);
    t.equal(memories.size, 1, `payloads of ${payloads.map(({ length }) => length)} bytes`);
  }
});

/** A stream that may keep what it is given: then it has it compared at the end only. */
function lazySink(recycle) {
  const sink = {
    keeps: false,
    writableLength: 0,
    written: [],
    write(chunk) {
      // Only with recycle the encoder uses memory again that the stream has passed on.
      sink.written.push(recycle && !sink.keeps ? Buffer.from(chunk) : chunk);
      if (sink.keeps) sink.writableLength += chunk.length;
      return true;
    }
  };
  return sink;
}

for (const recycle of [false, true]) {
  t.test(`encoders in use at the same time do not mix their bytes, recycle: ${recycle}`, async () => {
    const random = createRandom(1);
    const connections = Array.from({ length: 5 }, () => {
      return { encoder: new Encoder({ role: 'server', recycle }), sink: lazySink(recycle), expected: [] };
    });
    for (let i = 0; i < 3000; i++) {
      const { encoder, sink, expected } = connections[random(5)];
      const action = random(10);
      if (action === 0) sink.written.push(...encoder.take());
      else if (action < 4) {
        if (random(2) === 0) sink.writableLength = 0;
        sink.keeps = random(2) === 0;
        encoder.flush(sink);
      } else {
        const size = [10, 600, 1500, 3000, 9000, 20_000, 65_522, 65_523, 70_000][random(9)];
        const letter = String.fromCharCode(97 + (i % 26));
        if (random(2) === 0) encoder.text(letter.repeat(size));
        else encoder.text(Buffer.alloc(size, letter));
        expected.push(frame(TEXT, letter.repeat(size)));
      }
    }
    for (const [i, { encoder, sink, expected }] of connections.entries()) {
      assertBytes(Buffer.concat([...sink.written, ...encoder.take()]), Buffer.concat(expected), `encoder ${i}`);
    }
  });
}

t.test('with the option recycle, a peer that reads slowly gets every byte', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reader = net.connect(server.address().port, '127.0.0.1');
  const [socket] = await once(server, 'connection');
  const encoders = [new Encoder({ role: 'server', recycle: true }), new Encoder({ role: 'server' })];
  const expected = [];
  const received = [];
  let drains = 0;
  reader.on('data', (chunk) => received.push(chunk));
  reader.pause();
  for (let i = 0; i < 10_000; i++) {
    const text = String(i).repeat(1 + (i % 900));
    const encoder = encoders[i % 7 === 0 ? 1 : 0];
    encoder.text(text);
    expected.push(frame(TEXT, text));
    if (!encoder.flush(socket)) {
      drains++;
      reader.resume();
      await once(socket, 'drain');
      reader.pause();
    }
  }
  reader.resume();
  socket.end();
  await once(reader, 'end');
  server.close();
  assertBytes(Buffer.concat(received), Buffer.concat(expected));
  t.ok(drains > 0, 'the socket was full at least once');
});
