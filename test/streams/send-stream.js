'use strict';

const { getEventListeners, once } = require('node:events');
const { createReadStream } = require('node:fs');
const path = require('node:path');
const { Readable } = require('node:stream');
const { ReadableStream } = require('node:stream/web');
const t = require('tap');
const framemask = require('../../ws.js');
const { countMoved } = require('../support/count-moved');
const { piecesOf } = require('../support/frames');
const { withResolvers } = require('../support/promises');
const { LONG, TRIES_ALL, titleOf } = require('../support/sample');
const { uncaughtMessages } = require('../support/uncaught');
const { forEachDoor } = require('../support/doors');
const {
  IMPLEMENTATIONS,
  connectPair,
  connectRaw,
  listen,
  receiveTexts,
  record,
  settled
} = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const { WebSocket, messages, sendStream } = framemask;
const DEFLATE = { perMessageDeflate: { threshold: 0 } };
const NO_TAKEOVER = { perMessageDeflate: { contextTakeover: false, threshold: 0 } };
const SETTINGS = {
  plain: {},
  'events instead of shared reads': { server: { sharedReads: false } },
  TLS: { transport: 'TLS' },
  deflate: { server: DEFLATE, client: DEFLATE },
  'deflate without takeover': { server: NO_TAKEOVER, client: DEFLATE }
};

/** Calls `wait` between two chunks. */
async function* chunksAround(wait, first, ...others) {
  yield first;
  await wait();
  yield* others;
}

/** A source that repeats one chunk, or has one, if it is stuck; `left` resolves when it is left. */
function endless(chunk, isStuck = false) {
  const { promise: left, resolve: leave } = withResolvers();
  let calls = 0;
  return {
    left,
    leave,
    next: async () => (isStuck && calls++ > 0 ? new Promise(() => {}) : { value: chunk, done: false }),
    async return() {
      leave();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    }
  };
}

for (const [setting, options] of Object.entries(SETTINGS)) {
  forEachDoor(t, `${setting}: megabytes arrive as one message, both ways`, async (t, framemask) => {
    const { server, client } = await connectPair(t, framemask, options);
    const bytes = Buffer.alloc(5_000_000);
    for (let i = 0; i < bytes.length; i += 7) bytes[i] = i;
    for (const from of [client, server]) {
      const received = once(from === client ? server : client, 'message');
      await sendStream(from, piecesOf(bytes, 70_001));
      const [data, isBinary] = await received;
      t.equal(isBinary, true);
      t.ok(bytes.equals(data));
      t.equal(from.bufferedAmount, 0);
    }
  });
}

forEachDoor(t, 'each kind of source and chunk', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const text = 'a😀é';
  const memory = [new Uint16Array([0x6161]), new DataView(new ArrayBuffer(1)), new ArrayBuffer(1)];
  const cases = [
    ['an array', ['a', '', 'b'], 'ab', false],
    ['an array of promises', [Promise.resolve('a'), 'b'], 'ab', false],
    ['a Readable of bytes', Readable.from([Buffer.from('a'), Buffer.from('b')]), 'ab', true],
    ['a Readable of text', Readable.from(['a', 'b']), 'ab', false],
    ['a ReadableStream', Readable.toWeb(Readable.from(['a', 'b'])), 'ab', false],
    ['views and memory', memory, 'aa\0\0', true],
    ['strings cut within a character', [...text].flatMap((char) => char.split('')), text, false],
    ['half a character at the end', ['a', '\ud83d'], 'a\ufffd', false],
    ['half a character before bytes', ['\ud83d', Buffer.from('b')], '\ufffdb', false],
    ['strings cut within a character, as binary', ['a\ud83d', '\ude00b'], 'a😀b', true, { binary: true }],
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

forEachDoor(t, 'a source that never waits lets the event loop turn', async (t, framemask) => {
  const { client } = await connectPair(t, framemask);
  let chunks = 0;
  let chunksOfTurn = 0;
  function* eager() {
    setImmediate(() => {
      chunksOfTurn = chunks;
    });
    for (; chunks < 200; chunks++) yield Buffer.alloc(1024);
  }
  await sendStream(client, eager());
  t.ok(chunksOfTurn > 0 && chunksOfTurn <= 64, `${chunksOfTurn} KiB in a turn`);
});

forEachDoor(
  t,
  'a Readable that fails before it is asked rejects the promise, and harms nothing else',
  async (t, framemask) => {
    const { client } = await connectPair(t, framemask);
    const missing = () => createReadStream(path.join(__dirname, 'missing'));
    const gate = withResolvers();
    const slow = sendStream(
      client,
      chunksAround(() => gate.promise, 'slow', '!')
    );
    const source = missing();
    const waiting = sendStream(client, source);
    await once(source, 'close').catch(() => {});
    gate.resolve();
    await slow;
    await t.rejects(waiting, { code: 'ENOENT' });
    await t.rejects(sendStream(client, missing(), { signal: AbortSignal.abort(new Error('aborted')) }), {
      message: 'aborted'
    });
    client.terminate();
    await t.rejects(sendStream(client, missing()), { code: 'FRAMEMASK_ERR_NOT_OPEN' });
    await settled();
  }
);

t.test('a call of send that is wrong throws at once, and a stream that it waits for goes on', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const blobs = hasWs('8.18.0') ? ['a Blob'] : [];
  const received = receiveTexts(server, 3 + blobs.length);
  const gate = withResolvers();
  const stream = sendStream(
    client,
    chunksAround(() => gate.promise, 'a', 'b')
  );
  await settled();
  const idle = await connectPair(t, IMPLEMENTATIONS.ws);
  for (const call of [[{}], [true], [Symbol('s')], [1n], ['x', {}, 5]]) {
    let error;
    try {
      idle.client.send(...call);
    } catch (thrown) {
      error = thrown;
    }
    t.throws(() => client.send(...call), { code: error.code, message: error.message }, String(call[0]));
  }
  client.send('between');
  for (const text of blobs) client.send(new Blob([text]));
  gate.resolve();
  await stream;
  client.send('after');
  t.same(await received, ['ab', 'between', ...blobs, 'after']);
});

forEachDoor(
  t,
  'memory that is transferred while it waits for a stream is the error of its call',
  async (t, framemask) => {
    const { server, client } = await connectPair(t, framemask);
    const received = receiveTexts(server, 2);
    const gate = withResolvers();
    const stream = sendStream(
      client,
      chunksAround(() => gate.promise, 'a', 'b')
    );
    await settled();
    const memory = [1, 2, 3].map(() => new ArrayBuffer(20_000));
    const errors = await uncaughtMessages(async () => {
      const send = (data) => new Promise((resolve) => client.send(data, resolve));
      const failed = [send(memory[0]), send(Buffer.from(memory[1]))];
      client.send(memory[2]);
      structuredClone(memory, { transfer: memory });
      gate.resolve();
      await stream;
      t.match(await Promise.all(failed), Array(2).fill({ code: 'ERR_INVALID_STATE' }));
      client.send('after');
      t.same(await received, ['ab', 'after']);
    });
    t.match(errors, [/transferred/]);
  }
);

for (const [setting, options] of Object.entries({ plain: {}, deflate: SETTINGS.deflate })) {
  forEachDoor(
    t,
    `${setting}: messages and streams wait for their turn, control frames pass`,
    async (t, framemask, door) => {
      const { server, client } = await connectPair(t, framemask, options);
      const events = record(server);
      const gate = withResolvers();
      const first = sendStream(
        client,
        chunksAround(() => gate.promise, 'one', '!')
      );
      const called = [];
      client.send('two', () => called.push('two'));
      client.send(Buffer.from('three'));
      client.send(door === 'Connection' ? Buffer.from('3') : [51], () => called.push('array'));
      const second = sendStream(client, ['fo', 'ur']);
      client.send('five', { compress: false }, () => called.push('five'));
      const waiting = new AbortController();
      const third = sendStream(client, ['never'], { signal: waiting.signal });
      client.ping('ping');
      await once(server, 'ping');
      t.equal(client.bufferedAmount, 13, 'the messages that wait');
      waiting.abort(new Error('gave up'));
      await t.rejects(third, { message: 'gave up' });
      gate.resolve();
      await Promise.all([first, second]);
      await new Promise((resolve) => client.send('six', resolve));
      t.same(called, ['two', 'array', 'five']);
      t.equal(client.bufferedAmount, 0);
      client.close();
      const texts = (await events).map(([event, data]) => `${event} ${data}`);
      const sent = ['one!', 'two', 'three', '3', 'four', 'five', 'six'].map((text) => `message ${text}`);
      t.same(texts, ['ping ping', ...sent, 'close 1005']);
    }
  );
}

forEachDoor(t, 'calls of send that wait for a stream are made without moving each other', async (t, framemask) => {
  const COUNT = 2000;
  const { server, client } = await connectPair(t, framemask);
  const gate = withResolvers();
  const chunks = chunksAround(() => gate.promise, 'first');
  const sent = sendStream(client, chunks);
  const received = receiveTexts(server, COUNT + 1);
  for (let i = 0; i < COUNT; i++) client.send(`${i}`);
  const moved = await countMoved(() => {
    gate.resolve();
    return Promise.all([sent, received]);
  });
  // Node.js's own are among them.
  t.ok(moved < 20 * COUNT, `${moved} moves`);
  t.same(await received, ['first', ...Array.from({ length: COUNT }, (_, i) => `${i}`)]);
});

forEachDoor(t, 'streams that have waited for their turn leave their signal', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const { signal } = new AbortController();
  const texts = Array.from({ length: 20 }, (_, i) => `${i}`);
  const sent = texts.map((text) => sendStream(client, [text], { signal }));
  t.ok(getEventListeners(signal, 'abort').length <= 1, 'one listener, so that Node.js warns of no leak');
  const received = receiveTexts(server, texts.length);
  await Promise.all(sent);
  t.equal(getEventListeners(signal, 'abort').length, 0);
  t.same(await received, texts);
});

forEachDoor(t, 'a source that fails before its first chunk sends nothing', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const reason = new Error('no file');
  const failing = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) };
  const sent = sendStream(client, failing);
  client.send('next');
  await t.rejects(sent, reason);
  t.equal(String((await once(server, 'message'))[0]), 'next');
  await t.rejects(sendStream(client, [1]), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message: /"chunk"/ });
  await t.rejects(sendStream(client, ['a'], { signal: AbortSignal.abort(reason) }), reason);
  t.equal(client.readyState, client.OPEN);
});

/** How sources fail, or their signal aborts; `later` is called after the peer's first chunk. */
const FAILURES = {
  throws: ({ fail }) => ({ source: chunksAround(fail, 'a') }),
  'bad chunk': () => ({ source: ['a', 5], error: { name: 'TypeError' } }),
  destroyed({ reason }) {
    const source = new Readable({ read() {} });
    source.push('a');
    return { source, later: () => source.destroy(reason) };
  },
  signal: ({ abort }) => ({ source: endless('a', true), later: abort }),
  'signal of the source': ({ abort }) => ({
    source: (function* () {
      yield 'a';
      abort();
      for (;;) yield 'b';
    })()
  })
};

for (const [kind, make] of Object.entries(FAILURES)) {
  forEachDoor(
    t,
    `a source that fails later closes the connection with 1011, and what waits fails: ${kind}`,
    async (t, framemask) => {
      const { server, client } = await connectPair(t, framemask);
      const closed = once(server, 'close');
      const reason = new Error(kind);
      const controller = new AbortController();
      const fail = () => Promise.reject(reason);
      const { source, later, error = reason } = make({ reason, fail, abort: () => controller.abort(reason) });
      const sent = sendStream(client, source, { signal: controller.signal });
      const callback = new Promise((resolve) => client.send('waits', resolve));
      client.send('waits, too');
      const another = sendStream(client, ['waits']);
      if (later) {
        client.ping();
        await once(server, 'ping');
        later();
      }
      await t.rejects(sent, error);
      await t.rejects(another, error);
      t.match(await callback, error);
      t.ok(client.bufferedAmount < 100);
      t.equal((await closed)[0], 1011);
    }
  );
}

for (const [how, end] of Object.entries({
  terminate: ({ client }) => client.terminate(),
  close: ({ client }) => client.close(),
  'reset by the peer': ({ server }) => server._socket.resetAndDestroy(),
  'close by the peer': ({ server }) => server.close()
})) {
  forEachDoor(t, `a connection that ends leaves the source: ${how}`, async (t, framemask) => {
    for (const isStuck of [false, true]) {
      const { server, client } = await connectPair(t, framemask);
      server.on('error', () => {});
      const source = endless(Buffer.alloc(50_000), isStuck);
      const sent = sendStream(client, source);
      client.ping();
      await once(server, 'ping');
      end({ server, client });
      await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' });
      await source.left;
    }
  });
}

forEachDoor(t, 'a source that closes the connection itself, and fails when it is left', async (t, framemask) => {
  const { client } = await connectPair(t, framemask);
  const source = endless('a');
  const { next } = source;
  source.next = () => {
    client.close();
    return next();
  };
  source.return = () => {
    source.leave();
    throw new Error('not heard');
  };
  await t.rejects(sendStream(client, source), { code: 'FRAMEMASK_ERR_NOT_OPEN' });
  await source.left;
});

forEachDoor(t, 'a Readable and a ReadableStream that wait are destroyed and cancelled', async (t, framemask) => {
  for (const kind of ['Readable', 'ReadableStream']) {
    const { client } = await connectPair(t, framemask);
    const { promise: ended, resolve } = withResolvers();
    const source =
      kind === 'Readable'
        ? new Readable({ read() {}, destroy: (error, callback) => callback(error, resolve()) })
        : new ReadableStream({ cancel: resolve });
    const sent = sendStream(client, source);
    client.terminate();
    await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' });
    await ended;
    t.pass(kind);
  }
});

forEachDoor(t, 'the connection ends before the last frame has left', async (t, framemask) => {
  const { server, socket } = await connectRaw(t, framemask);
  socket.pause();
  while (server.bufferedAmount === 0) server.send(Buffer.alloc(1_000_000));
  const sent = sendStream(server, []);
  await t.rejects(Promise.race([sent, Promise.reject(new Error('waits'))]), { message: 'waits' });
  server.terminate();
  await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' });
});

forEachDoor(
  t,
  'the connection ends while the last frame is written, which Node.js calls back without an error',
  async (t, framemask) => {
    const { server } = await connectRaw(t, framemask);
    const { _socket: socket } = server;
    socket._write = (_chunk, _encoding, callback) => {
      socket.destroy();
      callback(null);
    };
    await t.rejects(sendStream(server, []), { code: 'FRAMEMASK_ERR_NOT_OPEN' });
  }
);

forEachDoor(t, 'a WebSocket that is not open, or of plain ws, and one within a message', async (t, framemask) => {
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

forEachDoor(t, 'a send that throws is the end of the stream', async (t, framemask) => {
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

forEachDoor(t, 'a slow receiver: the source is asked for no more than the mark', LONG, async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const chunk = Buffer.alloc(32 * 1024);
  const total = 3000;
  let asked = 0;
  let highest = 0;
  server.pause();
  const chunks = async function* () {
    for (; asked < total; asked++) {
      highest = Math.max(highest, client.bufferedAmount);
      yield chunk;
    }
  };
  const sent = sendStream(client, chunks());
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

t.test(
  titleOf('a thousand connections at once: compressed messages, loops over them, and streams', 'of 200'),
  LONG,
  async (t) => {
    const count = TRIES_ALL ? 1000 : 200;
    const server = await listen(t, framemask, NO_TAKEOVER);
    let ended = 0;
    const all = new Promise((resolve) => {
      server.on('connection', async (socket) => {
        const texts = [];
        for await (const { data, isBinary } of socket) {
          if (isBinary) sendStream(socket, [data, data]);
          else texts.push(data);
        }
        if (texts.length === 20 && new Set(texts).size === 1 && ++ended === count) resolve();
      });
    });
    for (let i = 0; i < count; i += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, k) => {
          const client = new WebSocket(server.url);
          await once(client, 'open');
          const answer = once(client, 'message');
          await sendStream(client, piecesOf(Buffer.alloc(10_000), 1000));
          if ((await answer)[0].length !== 20_000) t.fail('cut');
          for (let n = 0; n < 20; n++) client.send(`${i + k}`.repeat(30));
          client.close();
        })
      );
    }
    await all;
    t.equal(ended, count);
  }
);
