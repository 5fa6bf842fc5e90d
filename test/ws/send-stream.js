'use strict';

const { createHash } = require('node:crypto');
const { getEventListeners, once } = require('node:events');
const { Readable } = require('node:stream');
const { ReadableStream } = require('node:stream/web');
const t = require('tap');
const framemask = require('../../ws.js');
const certificate = require('../support/certificate');
const { countMoved } = require('../support/count-moved');
const { IMPLEMENTATIONS, connectPair, connectRaw, listen, record } = require('../support/websockets');

const { WebSocket, messages, sendStream } = framemask;
const DEFLATE = { perMessageDeflate: { threshold: 0 } };
const SETTINGS = {
  plain: {},
  'events instead of shared reads': { server: { sharedReads: false } },
  deflate: { server: DEFLATE, client: DEFLATE },
  'deflate without takeover': {
    server: { perMessageDeflate: { contextTakeover: false, threshold: 0 } },
    client: DEFLATE
  }
};

const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

async function* chunksOf(bytes, size) {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}

/** A source that notes how it is left. */
function endless(chunk) {
  const source = {
    isLeft: false,
    left: null,
    next: async () => ({ value: chunk, done: false }),
    async return() {
      source.isLeft = true;
      source.noteLeft();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]: () => source
  };
  source.left = new Promise((resolve) => {
    source.noteLeft = resolve;
  });
  return source;
}

/** A source that waits for ever after its first chunk. */
const stuck = (chunk) => {
  let calls = 0;
  const source = endless(chunk);
  source.next = () => (calls++ === 0 ? Promise.resolve({ value: chunk, done: false }) : new Promise(() => {}));
  return source;
};

for (const [setting, options] of Object.entries(SETTINGS)) {
  t.test(`${setting}: megabytes arrive as one message, both ways`, async (t) => {
    const { server, client } = await connectPair(t, framemask, options);
    const bytes = Buffer.alloc(5_000_000);
    for (let i = 0; i < bytes.length; i += 7) bytes[i] = i;
    for (const [from, to] of [
      [client, server],
      [server, client]
    ]) {
      const received = once(to, 'message');
      await sendStream(from, chunksOf(bytes, 70_001));
      const [data, isBinary] = await received;
      t.equal(isBinary, true);
      t.equal(hashOf(data), hashOf(bytes));
      t.equal(from.bufferedAmount, 0);
    }
  });
}

t.test('each kind of source and chunk', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const text = 'a😀é';
  const web = (...chunks) =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      }
    });
  const cases = [
    ['an array', ['a', '', 'b'], 'ab', false],
    ['an array of promises', [Promise.resolve('a'), 'b'], 'ab', false],
    ['a Readable of bytes', Readable.from([Buffer.from('a'), Buffer.from('b')]), 'ab', true],
    ['a Readable of text', Readable.from(['a', 'b']), 'ab', false],
    ['a ReadableStream', web('a', 'b'), 'ab', false],
    [
      'views and memory',
      [new Uint16Array([0x6161]), new DataView(new ArrayBuffer(1)), new ArrayBuffer(1)],
      'aa\0\0',
      true
    ],
    ['strings cut within a character', [...text].flatMap((char) => char.split('')), text, false],
    ['half a character at the end', ['a', '\ud83d'], 'a\ufffd', false],
    ['half a character before bytes', ['\ud83d', Buffer.from('b')], '\ufffdb', false],
    ['text as binary', ['é', 'b'], 'éb', true, { binary: true }],
    ['bytes as text', [Buffer.from('é'), 'b'], 'éb', false, { binary: false }],
    ['uncompressed', ['a'], 'a', false, { compress: false }],
    ['none', [], '', true],
    ['none, as text', [], '', false, { binary: false }]
  ];
  for (const [name, source, expected, wasBinary, options] of cases) {
    const received = once(server, 'message');
    await sendStream(client, source, options);
    const [data, isBinary] = await received;
    t.same([String(data), isBinary], [expected, wasBinary], name);
  }
  for (const source of ['text', null, undefined, 5, {}]) {
    await t.rejects(sendStream(client, source), { name: 'TypeError', message: /stream or an iterable/ });
  }
});

t.test('over TLS', async (t) => {
  const https = require('node:https').createServer(certificate).listen(0, '127.0.0.1');
  await once(https, 'listening');
  const server = new framemask.WebSocketServer({ server: https });
  t.teardown(() => https.close());
  const client = new WebSocket(`wss://127.0.0.1:${https.address().port}`, { rejectUnauthorized: false });
  const [[socket]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  const received = once(socket, 'message');
  const bytes = Buffer.alloc(1_000_000, 'tls');
  await sendStream(client, chunksOf(bytes, 65_536));
  t.ok((await received)[0].equals(bytes));
  client.terminate();
  server.close();
});

for (const [setting, options] of Object.entries({ plain: {}, deflate: SETTINGS.deflate })) {
  t.test(`${setting}: messages and streams wait for their turn, control frames pass`, async (t) => {
    const { server, client } = await connectPair(t, framemask, options);
    const events = record(server);
    let release;
    const gate = new Promise((resolve) => {
      release = resolve;
    });
    const first = sendStream(
      client,
      (async function* () {
        yield 'one';
        await gate;
        yield '!';
      })()
    );
    const called = [];
    client.send('two', () => called.push('two'));
    client.send(Buffer.from('three'));
    client.send([51], () => called.push('array'));
    const second = sendStream(client, ['fo', 'ur']);
    client.send('five', { compress: false }, () => called.push('five'));
    const waiting = new AbortController();
    const third = sendStream(client, ['never'], { signal: waiting.signal });
    client.ping('ping');
    await once(server, 'ping');
    t.equal(client.bufferedAmount, 12, 'the messages that wait');
    waiting.abort(new Error('gave up'));
    await t.rejects(third, { message: 'gave up' });
    release();
    await Promise.all([first, second]);
    await new Promise((resolve) => client.send('six', resolve));
    t.same(called, ['two', 'array', 'five']);
    t.equal(client.bufferedAmount, 0);
    client.close();
    const texts = (await events).map(([event, data]) => `${event} ${data}`);
    t.same(texts, [
      'ping ping',
      'message one!',
      'message two',
      'message three',
      'message 3',
      'message four',
      'message five',
      'message six',
      'close 1005'
    ]);
  });
}

t.test('calls of send that wait for a stream are made without moving each other', async (t) => {
  const COUNT = 2000;
  const { server, client } = await connectPair(t, framemask);
  let release;
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  const chunks = async function* () {
    yield 'first';
    await gate;
  };
  const sent = sendStream(client, chunks());
  const received = [];
  const last = new Promise((resolve) => {
    server.on('message', (data) => received.push(`${data}`) === COUNT + 1 && resolve());
  });
  for (let i = 0; i < COUNT; i++) client.send(`${i}`);
  const moved = await countMoved(() => {
    release();
    return Promise.all([sent, last]);
  });
  // Node.js's own are among them.
  t.ok(moved < 20 * COUNT, `${moved} moves`);
  t.same(received, ['first', ...Array.from({ length: COUNT }, (_, i) => `${i}`)]);
});

t.test('streams that have waited for their turn leave their signal', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const { signal } = new AbortController();
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`);
  const sent = texts.map((text) => sendStream(client, [text], { signal }));
  t.ok(getEventListeners(signal, 'abort').length <= 1, 'one listener, so that Node.js warns of no leak');
  const received = [];
  server.on('message', (data) => received.push(`${data}`));
  await Promise.all(sent);
  t.equal(getEventListeners(signal, 'abort').length, 0);
  while (received.length < texts.length) await once(server, 'message');
  t.same(received, texts);
});

t.test('a source that fails before its first chunk sends nothing', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const reason = new Error('no file');
  const failing = {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) })
  };
  const sent = sendStream(client, failing);
  client.send('next');
  await t.rejects(sent, reason);
  t.equal(String((await once(server, 'message'))[0]), 'next');
  await t.rejects(sendStream(client, [1]), { name: 'TypeError', message: /chunks of a stream/ });
  await t.rejects(sendStream(client, ['a'], { signal: AbortSignal.abort(reason) }), reason);
  t.equal(client.readyState, client.OPEN);
});

t.test('a source that fails later closes the connection with 1011, and what waits fails', async (t) => {
  for (const kind of ['throws', 'destroyed', 'bad chunk', 'signal', 'signal of the source']) {
    const { server, client } = await connectPair(t, framemask);
    const closed = once(server, 'close');
    const reason = new Error(kind);
    const controller = new AbortController();
    let source = stuck('a');
    if (kind === 'throws') {
      source = (async function* () {
        yield 'a';
        throw reason;
      })();
    } else if (kind === 'signal of the source') {
      source = (function* () {
        yield 'a';
        controller.abort(reason);
        for (;;) yield 'b';
      })();
    } else if (kind === 'bad chunk') {
      source = ['a', 5];
    } else if (kind === 'destroyed') {
      source = new Readable({ read() {} });
      source.push('a');
    }
    const sent = sendStream(client, source, { signal: controller.signal });
    const callback = new Promise((resolve) => client.send('waits', resolve));
    client.send('waits, too');
    const another = sendStream(client, ['waits']);
    if (kind === 'destroyed' || kind === 'signal') {
      client.ping();
      await once(server, 'ping');
    }
    if (kind === 'destroyed') source.destroy(reason);
    if (kind === 'signal') controller.abort(reason);
    const error = kind === 'bad chunk' ? { name: 'TypeError' } : reason;
    await t.rejects(sent, error, kind);
    await t.rejects(another, error, kind);
    t.match(await callback, error);
    t.equal(client.bufferedAmount < 100, true);
    t.equal((await closed)[0], 1011, kind);
  }
});

t.test('a connection that ends leaves the source', async (t) => {
  for (const how of ['terminate', 'close', 'reset by the peer', 'close by the peer']) {
    for (const make of [endless, stuck]) {
      const { server, client } = await connectPair(t, framemask);
      server.on('error', () => {});
      const source = make(Buffer.alloc(50_000));
      const sent = sendStream(client, source);
      client.ping();
      await once(server, 'ping');
      if (how === 'terminate') client.terminate();
      else if (how === 'close') client.close();
      else if (how === 'close by the peer') server.close();
      else server._socket.resetAndDestroy();
      await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' }, how);
      await source.left;
      t.ok(source.isLeft);
    }
  }
});

t.test('a source that closes the connection itself, and fails when it is left', async (t) => {
  const { client } = await connectPair(t, framemask);
  const source = endless('a');
  source.next = async () => {
    client.close();
    return { value: 'a', done: false };
  };
  source.return = () => {
    source.noteLeft();
    throw new Error('not heard');
  };
  await t.rejects(sendStream(client, source), { code: 'FRAMEMASK_ERR_NOT_OPEN' });
  await source.left;
});

t.test('a Readable and a ReadableStream that wait are destroyed and cancelled', async (t) => {
  for (const kind of ['Readable', 'ReadableStream']) {
    const { client } = await connectPair(t, framemask);
    let noteEnd;
    const ended = new Promise((resolve) => {
      noteEnd = resolve;
    });
    const source =
      kind === 'Readable'
        ? new Readable({ read() {}, destroy: (error, callback) => callback(error, noteEnd()) })
        : new ReadableStream({ cancel: noteEnd });
    const sent = sendStream(client, source);
    client.terminate();
    await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' });
    await ended;
    t.pass(kind);
  }
});

t.test('the connection ends before the last frame has left', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  socket.pause();
  while (server.bufferedAmount === 0) server.send(Buffer.alloc(1_000_000));
  const sent = sendStream(server, []);
  await t.rejects(Promise.race([sent, Promise.reject(new Error('waits'))]), { message: 'waits' });
  server.terminate();
  await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' });
});

t.test('a WebSocket that is not open, or of plain ws, and one within a message', async (t) => {
  const connecting = new WebSocket('ws://127.0.0.1:1');
  connecting.on('error', () => {});
  const plain = await connectPair(t, IMPLEMENTATIONS.ws);
  for (const websocket of [connecting, plain.client]) {
    await t.rejects(sendStream(websocket, ['a']), { code: 'FRAMEMASK_ERR_NOT_OPEN' });
  }
  const { server, client } = await connectPair(t, framemask);
  const received = once(server, 'message');
  client.send('a', { fin: false });
  await t.rejects(sendStream(client, ['b']), { message: /begun by send/ });
  client.send('c');
  t.equal(String((await received)[0]), 'ac');
});

t.test('a send that throws is the end of the stream', async (t) => {
  const { client } = await connectPair(t, framemask);
  client.send = () => {
    throw new Error('mine');
  };
  await t.rejects(sendStream(client, ['a']), { message: 'mine' });
  client.send = (_data, { fin }, callback) => fin && callback(new Error('lost'));
  await t.rejects(sendStream(client, ['a']), { message: 'lost' });
  delete client.send;
  await sendStream(client, ['a']);
});

t.test('a slow receiver: the source is asked for no more than the mark', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const chunk = Buffer.alloc(32 * 1024);
  const total = 3000;
  let asked = 0;
  let highest = 0;
  server.pause();
  const sent = sendStream(
    client,
    (async function* () {
      for (; asked < total; asked++) {
        highest = Math.max(highest, client.bufferedAmount);
        yield chunk;
      }
    })()
  );
  while (client.bufferedAmount < 32 * 1024) await new Promise(setImmediate);
  client.send('after');
  const iterator = messages(server);
  t.ok(asked < total, `${asked} chunks`);
  server.resume();
  t.equal((await iterator.next()).value.data.length, total * chunk.length);
  t.equal((await iterator.next()).value.data, 'after');
  await sent;
  t.ok(highest < 2 * 64 * 1024, `${highest} bytes waited at most`);
});

t.test('a thousand streams at once', async (t) => {
  const server = await listen(t, framemask);
  server.on('connection', async (socket) => {
    for await (const { data } of socket) sendStream(socket, [data, data]);
  });
  const url = `ws://127.0.0.1:${server.address().port}`;
  for (let i = 0; i < 1000; i += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const client = new WebSocket(url);
        await once(client, 'open');
        const answer = once(client, 'message');
        await sendStream(client, chunksOf(Buffer.alloc(10_000), 1000));
        if ((await answer)[0].length !== 20_000) t.fail('cut');
        client.close();
      })
    );
  }
});
