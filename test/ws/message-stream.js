'use strict';

// The option streamFrom: long messages as streams.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const net = require('node:net');
const { Readable, Writable } = require('node:stream');
const { buffer, text } = require('node:stream/consumers');
const { pipeline } = require('node:stream/promises');
const zlib = require('node:zlib');
const t = require('tap');
const { supportsSyncZlib } = require('../../lib/deflate/zlib-handle');
const framemask = require('../../ws.js');
const { BINARY, CLOSE, CONTINUATION, HANDSHAKE, PING, TEXT, closePayload, frame, head } = require('../support/frames');
const { collectGarbage } = require('../support/collect-garbage');
const { until } = require('../support/promises');
const { createRandom, seed } = require('../support/random');
const { LONG, TRIES_ALL, titleOf } = require('../support/sample');
const { uncaught, uncaughtMessages } = require('../support/uncaught');
const { connectPair, connectRaw, listen, settled } = require('../support/websockets');

const { WebSocket, messages, sendStream } = framemask;

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const NO_KEY = Buffer.alloc(4);
const DEFLATE = { perMessageDeflate: { threshold: 0, contextTakeover: true } };

/** The first bytes of a message of one frame, whose header announces more. */
const begin = (opcode, payload, length) => frame(opcode, payload, { key: NO_KEY, length, lengthSize: 8 });
const masked = (opcode, payload, options) => frame(opcode, payload, { key: NO_KEY, ...options });

const hashOf = (data) => createHash('sha1').update(data).digest('hex');

/** The next stream of a WebSocket, and whether it is binary. */
const nextStream = (socket) => once(socket, 'stream');

/** A server's end with streams, and a socket whose owner writes frames. */
const connect = (t, options) => connectRaw(t, framemask, { streamFrom: 10, maxPayload: 0, ...options });

/** The same, and the stream that begins with these bytes. */
async function openStream(t, bytes, options) {
  const { server, socket } = await connect(t, options);
  const streamed = nextStream(server);
  socket.setNoDelay().write(bytes);
  const [stream, isBinary] = await streamed;
  return { server, socket, stream, isBinary };
}

const BEGUN = masked(BINARY, '0123456789', { fin: false });

/** The ways to read a stream. */
const READERS = {
  loop: buffer,
  async text(stream) {
    stream.setEncoding('utf8');
    return Buffer.from(await text(stream));
  },
  async data(stream) {
    const parts = [];
    stream.on('data', (part) => parts.push(part));
    await once(stream, 'end');
    return Buffer.concat(parts);
  },
  async pipeline(stream) {
    const parts = [];
    const write = (part, _encoding, done) => setImmediate(done, parts.push(part) && null);
    await pipeline(stream, new Writable({ highWaterMark: 1, write }));
    return Buffer.concat(parts);
  }
};

/** The kinds of connections. */
const SETTINGS = {
  'shared reads': { server: { maxPayload: 0 } },
  events: { server: { maxPayload: 0, sharedReads: false } },
  'a client': {},
  'an event a turn': { server: { allowSynchronousEvents: false } },
  TLS: { transport: 'TLS' },
  ...(isNode && { 'HTTP/2': { transport: 'HTTP/2' } }),
  ...(supportsSyncZlib() && { deflate: { server: DEFLATE, client: DEFLATE } })
};

for (const [name, options] of Object.entries(SETTINGS)) {
  t.test(`${name}: long messages are streams, short ones events, in their order, seed ${seed}`, async (t) => {
    const [server, client] = [options.server, options.client].map((more) => ({ streamFrom: 1000, ...more }));
    const ends = await connectPair(t, framemask, { ...options, server, client });
    const [from, to] = name === 'a client' ? [ends.server, ends.client] : [ends.client, ends.server];
    const random = createRandom(seed);
    const letters = [...'aé€😀'];
    const makeMessage = () => {
      const length = [0, 10, 999, 1000, 5000, 200_000][random(6)];
      const data = Buffer.alloc(length, Array.from({ length: 500 }, () => letters[random(4)]).join(''));
      // Cut between characters.
      const whole = Buffer.from(data.toString().replace(/\ufffd+$/, ''));
      return { data: whole, isBinary: random(2) === 0 };
    };
    const sent = Array.from({ length: 40 }, makeMessage);
    const readers = Object.values(READERS);
    const received = [];
    const read = [];
    const done = new Promise((resolve) => {
      const add = (message) => received.push(message) === sent.length && resolve();
      to.on('message', (data, isBinary) => add({ data, isBinary, isStream: false }));
      to.on('stream', (stream, isBinary) => {
        const message = { data: null, isBinary, isStream: true };
        const reading = readers[random(isBinary ? 1 : 4)](stream);
        read.push(reading.then((data) => Object.assign(message, { data })));
        add(message);
      });
    });
    for (const { data, isBinary } of sent) {
      const cut = random(3) === 0 ? data.length : random(data.length + 1);
      from.send(data.subarray(0, cut), { binary: isBinary, fin: cut === data.length });
      if (random(4) === 0) from.ping();
      if (cut !== data.length) from.send(data.subarray(cut), { binary: isBinary });
    }
    await done;
    await Promise.all(read);
    const show = ({ data, isBinary, isStream = data.length >= 1000 }) => [hashOf(data), isBinary, isStream];
    t.same(received.map(show), sent.map(show));
    from.close(4000);
    t.same((await once(to, 'close'))[0], 4000);
  });
}

t.test('parts come in the middle of a frame; Ping and later messages wait', async (t) => {
  const { socket, stream, isBinary } = await openStream(t, begin(TEXT, 'first', 4 * GIB));
  t.notOk(isBinary);
  t.equal(stream.setEncoding('utf8').read(), 'first');
  socket.write('second');
  await once(stream, 'readable');
  t.equal(stream.read(), 'second');
  stream.destroy();
  socket.destroy();

  const others = [masked(CONTINUATION, 'abc'), masked(PING, 'after'), masked(TEXT, 'next')];
  const { server, stream: fragmented } = await openStream(t, Buffer.concat([BEGUN, masked(PING, 'inside'), ...others]));
  const seen = [];
  for (const event of ['message', 'ping']) server.on(event, (data) => seen.push(`${event} ${data}`));
  await settled();
  t.same(seen, [], 'nothing comes until it is read');
  const next = once(server, 'message');
  t.equal(await text(fragmented), '0123456789abc');
  await next;
  t.same(seen, ['ping inside', 'ping after', 'message next']);
});

t.test("listeners of 'message' do not see it, whatever the binaryType; nobody's is discarded", async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 3 } });
  server.binaryType = 'arraybuffer';
  const seen = [];
  server.on('message', (data) => seen.push(data));
  for (const data of ['nobody hears it', 'a']) client.send(Buffer.from(data));
  await once(server, 'message');
  client.send(Buffer.from('stream'));
  t.equal(await text((await nextStream(server))[0]), 'stream');
  client.send(Buffer.from('b'));
  await once(server, 'message');
  t.ok(seen.every((data) => data instanceof ArrayBuffer));
  t.equal(seen.map((data) => Buffer.from(data)).join(), 'a,b');
});

t.test('a stream that is destroyed or left discards the rest of its message', async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 0 } });
  const leave = {
    'at once': (stream) => stream.destroy(),
    'by an error': (stream) => stream.on('error', () => {}).destroy(new Error('mine')),
    'in a loop': async (stream) => {
      for await (const _ of stream) break;
    },
    'at its first part': (stream) => stream.on('data', () => stream.destroy()),
    'at its last part': (stream) => stream.on('data', (part) => part.includes('.') && stream.destroy()),
    unread: (stream) => setImmediate(() => stream.destroy())
  };
  for (const [how, act] of Object.entries(leave)) {
    client.send(Buffer.alloc(300 * KIB), { fin: false });
    client.send('the end.');
    client.send(how);
    act((await nextStream(server))[0]);
    const [next] = await nextStream(server);
    t.equal(await text(next), how);
  }
});

/** Resolves to the result of `act` when an event has come, whose listener calls it and throws. */
const throwAt = (emitter, event, act) =>
  new Promise((resolve) => {
    emitter.once(event, (value) => {
      resolve(act?.(value));
      throw new Error(`of ${event}`);
    });
  });

t.test("a 'stream' listener that throws before it reads discards the stream: the next message follows", async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 3 } });
  const errors = await uncaughtMessages(async () => {
    server.once('stream', () => {
      throw new Error('of stream');
    });
    const next = once(server, 'message');
    client.send('unread');
    client.send('b');
    t.equal(String((await next)[0]), 'b');
  });
  t.same(errors, ['of stream']);
});

t.test("listeners that throw harm nothing: 'stream', and 'data' and 'end' of the stream", async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 1 } });
  for (const isLast of [true, false]) {
    const errors = await uncaughtMessages(async () => {
      const streamed = throwAt(server, 'stream', (stream) => once(stream.resume(), 'end'));
      client.send('a', { fin: isLast });
      if (!isLast) client.send('b');
      await streamed;
    });
    t.same(errors, ['of stream']);
    const parts = [];
    const again = await uncaughtMessages(async () => {
      client.send('c', { fin: false });
      const [stream] = await nextStream(server);
      const ended = throwAt(stream, 'end');
      stream.on('data', (part) => {
        if (parts.push(String(part)) === 2) throw new Error('of data');
      });
      await until(() => parts.length === 1);
      client.send('d', { fin: isLast });
      if (!isLast) client.send('e');
      await ended;
    });
    t.same(new Set(again), new Set(['of data', 'of end']));
    t.same(parts, isLast ? ['c', 'd'] : ['c', 'd', 'e']);
  }
  client.send('old');
  const [old] = await nextStream(server);
  await uncaught(() => throwAt(old.resume(), 'end'));
  client.send('next');
  client.send('one more');
  const [unread] = await nextStream(server);
  let isEarly = true;
  const after = nextStream(server).then(([stream]) => {
    t.notOk(isEarly, 'the end of an earlier stream releases no other');
    return text(stream);
  });
  old.destroy();
  await settled();
  isEarly = false;
  t.equal(await text(unread), 'next');
  t.equal(await after, 'one more');
});

t.test('4 GiB by single bytes cost one, unread; 2^53 - 1 bytes are only announced', async (t) => {
  const { socket, stream } = await openStream(t, begin(BINARY, 'x', 4 * GIB));
  const count = 500;
  for (let i = 0; i < count; i++) await new Promise((resolve) => socket.write('x', resolve));
  await settled();
  t.equal(stream.readableLength, 1);
  const parts = [];
  for await (const part of stream) {
    parts.push(part);
    if (Buffer.concat(parts).length >= count + 1) break;
  }
  t.equal(Buffer.concat(parts).length, count + 1);
  t.ok(parts.length < 20, 'the rest has waited in the system');
  const before = process.memoryUsage().arrayBuffers;
  const { stream: announced } = await openStream(t, begin(BINARY, 'x', 2 ** 53 - 1));
  t.equal(String(announced.read()), 'x');
  t.ok(process.memoryUsage().arrayBuffers < before + MIB);
  const limited = await connect(t, { maxPayload: 99_999 });
  const failed = new Promise((resolve) => limited.server.on('error', resolve));
  limited.socket.write(begin(BINARY, 'x', 100_000));
  t.match(await failed, { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' });
});

t.test('a slow reader of a fast peer: the peer waits, and nothing is lost', LONG, async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 0, maxPayload: 0 } });
  const total = 64 * MIB;
  const chunk = Buffer.alloc(64 * KIB, 'some bytes that repeat');
  const sending = sendStream(client, Array(total / chunk.length).fill(chunk));
  const [stream] = await nextStream(server);
  await until(() => client.bufferedAmount > 0);
  await settled();
  t.ok(client.bufferedAmount > 0, 'the peer waits');
  t.ok(stream.readableLength <= 64 * KIB);
  t.ok(server._socket.bytesRead <= 192 * KIB);
  const parts = [];
  let most = 0;
  for await (const part of stream) {
    most = Math.max(most, part.length, stream.readableLength);
    parts.push(part);
  }
  await sending;
  t.ok(Buffer.alloc(total, chunk).equals(Buffer.concat(parts)));
  t.ok(most <= 64 * KIB);
});

t.test('text: cut in characters, and invalid at the last byte', async (t) => {
  const payload = Buffer.from('€'.repeat(10));
  const { server, socket } = await connect(t);
  const parts = [];
  server.on('stream', (stream) => stream.setEncoding('utf8').on('data', (part) => parts.push(part)));
  socket.setNoDelay().write(masked(TEXT, '', { length: payload.length }));
  for (const byte of payload) await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
  await until(() => parts.join('') === '€'.repeat(10));
  t.ok(parts.every((part) => /^€+$/.test(part)));

  const bytes = masked(TEXT, Buffer.concat([payload, Buffer.from([0xe2])]), { fin: false });
  const bad = await openStream(t, bytes);
  const failed = new Promise((resolve) => bad.server.on('error', resolve));
  const read = t.rejects(text(bad.stream), { code: 'WS_ERR_INVALID_UTF8' });
  bad.socket.write(masked(CONTINUATION, 'A'));
  await read;
  t.match(await failed, { code: 'WS_ERR_INVALID_UTF8' });
});

/** How a connection ends within a message. */
const ENDINGS = {
  terminate: ({ server }) => server.terminate(),
  reset: ({ socket }) => (socket.resetAndDestroy === undefined ? socket.destroy() : socket.resetAndDestroy()),
  end: ({ socket }) => socket.end(),
  'a Close frame': ({ socket }) => socket.write(masked(CLOSE, closePayload(1000)))
};

for (const [how, end] of Object.entries(ENDINGS)) {
  t.test(`a connection that ends within the message ends the stream by an error: ${how}`, async (t) => {
    const { server, socket, stream } = await openStream(t, BEGUN);
    const closed = once(server, 'close');
    const read = t.rejects(buffer(stream), { code: 'FRAMEMASK_ERR_INCOMPLETE' });
    end({ server, socket });
    await read;
    await closed;
  });

  t.test(`without a reader, and without a listener for errors: ${how}`, async (t) => {
    const { server, socket, stream } = await openStream(t, BEGUN);
    const closed = once(server, 'close');
    end({ server, socket });
    // A held connection does not read; its end is seen when its stream is left.
    if (how !== 'terminate') stream.resume();
    await closed;
    t.ok(stream.destroyed);
    t.notOk(stream.readableEnded);
    await t.rejects(buffer(stream), { code: 'FRAMEMASK_ERR_INCOMPLETE' }, 'a later reader');
  });
}

t.test('a message that is complete can be read after the end of its connection', async (t) => {
  const { server, stream } = await openStream(t, masked(BINARY, '0123456789'));
  const closed = once(server, 'close');
  server.terminate();
  await closed;
  t.equal(await text(stream), '0123456789');
});

t.test('a peer that ends its side after the message: a slow reader gets all of it', async (t) => {
  for (const size of [2 * MIB, 100 * KIB, 20]) {
    const bytes = Buffer.concat([masked(BINARY, Buffer.alloc(size)), masked(TEXT, 'last')]);
    const { server, socket, stream } = await openStream(t, bytes);
    const closed = once(server, 'close');
    socket.end();
    const last = once(server, 'message');
    let length = 0;
    for await (const part of stream) {
      length += part.length;
      await new Promise(setImmediate);
    }
    t.equal(length, size);
    t.equal(String((await last)[0]), 'last');
    t.equal((await closed)[0], 1006);
  }
});

t.test('terminate() after the end of the peer waits for no reader, of this stream or the next', async (t) => {
  const two = [masked(BINARY, '0123456789'), masked(BINARY, 'and another')];
  for (const options of [{}, { sharedReads: false }, { allowSynchronousEvents: false }]) {
    const { server, socket, stream } = await openStream(t, Buffer.concat(two), options);
    const closed = once(server, 'close');
    socket.end();
    await once(server._socket, 'end');
    server.terminate();
    await closed;
    t.equal(await text(stream), '0123456789');

    const next = await openStream(t, Buffer.concat(two), options);
    const ended = once(next.server, 'close');
    next.server.once('stream', () => next.server.terminate());
    next.socket.end();
    await once(next.server._socket, 'end');
    t.equal(await text(next.stream), '0123456789');
    await ended;
  }
});

t.test('pause() and resume() of the program hold, and a resumed connection waits for its reader', async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 0, maxPayload: 0 } });
  const total = 4 * MIB;
  client.send(Buffer.alloc(total));
  const [stream] = await nextStream(server);
  server.pause();
  let bytes = 0;
  stream.on('data', (part) => {
    bytes += part.length;
  });
  await settled();
  t.ok(bytes < total);
  const ended = once(stream, 'end');
  server.resume();
  await ended;
  t.equal(bytes, total);
});

t.test('compressed bombs: as much as is read, and up to maxPayload', { skip: !supportsSyncZlib() }, async (t) => {
  const options = { perMessageDeflate: true, maxPayload: 20 * MIB };
  const deflated = zlib.deflateRawSync(Buffer.alloc(64 * MIB), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  const bomb = masked(BINARY, deflated.subarray(0, -4), { rsv: 0x40 });
  const { server, stream } = await openStream(t, bomb, options);
  const failed = new Promise((resolve) => server.on('error', resolve));
  const before = process.memoryUsage().arrayBuffers;
  await settled();
  t.equal(stream.readableLength, 64 * KIB);
  t.ok(process.memoryUsage().arrayBuffers < before + 2 * MIB);
  let bytes = 0;
  const read = async () => {
    for await (const part of stream) bytes += part.length;
  };
  await t.rejects(read(), { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' });
  t.equal(bytes, 20 * MIB);
  t.match(await failed, { code: 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH' });

  const left = await openStream(t, bomb, options);
  const closed = once(left.server, 'close');
  left.server.terminate();
  await closed;
  t.ok(left.stream.destroyed, 'the rest is not inflated');
});

t.test(titleOf('a thousand streams at once', 'of 250'), LONG, async (t) => {
  const server = await listen(t, framemask, { streamFrom: 0, maxPayload: 0 });
  const streams = [];
  server.on('connection', (socket) => socket.on('stream', (stream) => streams.push(stream)));
  // All write the same memory, so that the streams alone take more.
  const size = 256 * KIB;
  const bytes = Buffer.concat([Buffer.from(head(...HANDSHAKE)), masked(BINARY, Buffer.alloc(size), { fin: false })]);
  const end = masked(CONTINUATION, '');
  const count = TRIES_ALL ? 1000 : 250;
  const sockets = [];
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < count; i += 50) {
    for (let n = 0; n < 50; n++) {
      const socket = net.connect(server.address().port, '127.0.0.1').resume();
      socket.write(bytes);
      sockets.push(socket);
    }
    await until(() => streams.length === i + 50);
  }
  collectGarbage();
  const held = (process.memoryUsage().arrayBuffers - before) / count;
  // The parts of one read; and a chunk that the socket has read before it was to stop, or, without
  // shared reads, that of the parts.
  t.ok(held < 160 * KIB, `${held} bytes for each`);
  for (const socket of sockets) socket.write(end);
  let sum = 0;
  for (const stream of streams) for await (const part of stream) sum += part.length;
  t.equal(sum, count * size);
  for (const socket of sockets) socket.destroy();
});

t.test('a loop takes streams, or gathers them', async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 5 } });
  for (const data of ['long text', Buffer.from('long bytes'), 'a']) client.send(data);
  const seen = [];
  for await (const { data, isBinary } of server) {
    seen.push([String(data), isBinary]);
    t.equal(typeof data === 'string', !isBinary);
    if (isBinary) t.equal(data.buffer.byteLength, data.length, 'memory of its own');
    if (data === 'a') break;
  }
  t.same(Object.fromEntries(seen), { 'long text': false, 'long bytes': true, a: false });
  for (const data of ['long text', 'b']) client.send(data);
  for await (const { data, isBinary } of messages(server, { streams: true })) {
    if (data instanceof Readable) t.equal(await text(data), 'long text');
    else {
      t.same([data, isBinary], ['b', false]);
      break;
    }
  }
  // It is taken from the queue, and has waited there.
  client.send('c');
  client.send('one more');
  const iterator = messages(server, { streams: true });
  t.equal((await iterator.next()).value.data, 'c');
  await settled();
  t.equal(await text((await iterator.next()).value.data), 'one more');
  const next = iterator.next();
  client.send('never ends', { fin: false });
  const { data: stream } = (await next).value;
  const cut = t.rejects(buffer(stream), { code: 'FRAMEMASK_ERR_INCOMPLETE' });
  client.terminate();
  await cut;
  t.same(await iterator.next(), { value: undefined, done: true });
});

t.test('a loop that is aborted while it gathers ends', async (t) => {
  const { server, socket } = await connect(t);
  const controller = new AbortController();
  const next = messages(server, { signal: controller.signal }).next();
  socket.write(BEGUN);
  const [stream] = await nextStream(server);
  controller.abort(new Error('enough'));
  await t.rejects(next, { message: 'enough' });
  t.ok(stream.destroyed);
});

t.test('a loop whose message was destroyed is left: close() needs no reader', async (t) => {
  const { server, socket } = await connect(t);
  const next = messages(server).next();
  socket.write(BEGUN);
  const [stream] = await nextStream(server);
  stream.destroy();
  await t.rejects(next, { code: 'ERR_STREAM_PREMATURE_CLOSE' });
  await settled();
  t.ok(server.isPaused, 'as after any loop');
  const closed = once(server, 'close');
  server.close(4001);
  socket.write(Buffer.concat([masked(CONTINUATION, ''), masked(CLOSE, closePayload(4001, ''))]));
  t.equal((await closed)[0], 4001);
});

t.test('after a loop and resume(), a stream that nobody hears is discarded', async (t) => {
  const { server, socket } = await connect(t);
  const first = messages(server);
  socket.write(masked(TEXT, 'loop'));
  for await (const { data } of first) {
    t.equal(data, 'loop');
    break;
  }
  const heard = once(server, 'message');
  server.resume();
  socket.write(Buffer.concat([masked(BINARY, Buffer.alloc(50)), masked(TEXT, 'after')]));
  t.equal(String((await heard)[0]), 'after');
});

t.test('a loop that gathers throws the error of a message that was cut', async (t) => {
  const { server, socket } = await connect(t);
  const next = messages(server).next();
  socket.write(BEGUN);
  await nextStream(server);
  socket.end();
  await t.rejects(next, { code: 'FRAMEMASK_ERR_INCOMPLETE' });
});

t.test('close() after the loop discards a stream that waits, and ends the closing handshake', async (t) => {
  const { server, client } = await connectPair(t, framemask, { server: { streamFrom: 5 } });
  const iterator = messages(server);
  const streamed = nextStream(server);
  client.send('a');
  client.send(Buffer.alloc(MIB));
  t.equal((await iterator.next()).value.data, 'a');
  const [stream] = await streamed;
  await iterator.return();
  const closed = once(server, 'close');
  server.close(4001);
  t.equal((await closed)[0], 4001);
  t.ok(stream.destroyed);
});

t.test("the program's own time limit ends a stream, and the connection, in the middle of a frame", async (t) => {
  const { server, socket, stream } = await openStream(t, begin(BINARY, 'x', 4 * GIB));
  const limit = new AbortController();
  const answer = once(socket, 'data');
  const closed = once(server, 'close');
  const write = (_part, _encoding, done) => done();
  const reading = pipeline(stream, new Writable({ write }), { signal: limit.signal });
  limit.abort();
  await t.rejects(reading, { name: 'AbortError' });
  server.close(1011);
  const [bytes] = await answer;
  t.same([bytes[0], bytes.readUInt16BE(2)], [0x88, 1011]);
  // The peer is in the middle of a frame, and can't answer.
  socket.end('more of it');
  t.equal((await closed)[0], 1006);
});

t.test('options that are wrong are refused', async (t) => {
  const create = (options) => () => new framemask.WebSocketServer({ port: 0, ...options });
  t.throws(create({ streamFrom: -1 }), { code: 'ERR_OUT_OF_RANGE', message: /streamFrom/ });
  t.throws(create({ streamFrom: '1' }), { code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(create({ streamsFrom: 1 }), /Did you mean "streamFrom"/);
  const url = 'ws://127.0.0.1:1';
  t.throws(() => new WebSocket(url, { streamFrom: -1 }), { code: 'ERR_OUT_OF_RANGE' });
  t.throws(() => new WebSocket(url, ['a'], { streamFrom: Number.NaN }), { code: 'ERR_OUT_OF_RANGE' });
});
