'use strict';

const { getEventListeners, once } = require('node:events');
const t = require('tap');
const framemask = require('../../ws.js');
const { deflateByZlib } = require('../support/deflate');
const { BINARY, CLOSE, KEY, TEXT, frame } = require('../support/frames');
const { ALL, forEachDoor } = require('../support/doors');
const { IMPLEMENTATIONS, connectPair, connectRaw, deliver, listen, settled } = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const { WebSocket, messages } = framemask;

/** The code of the error for a reserved opcode. */
const opcodeError = (door) => (door === 'Connection' ? 'FRAMEMASK_ERR_OPCODE' : 'WS_ERR_INVALID_OPCODE');

/** Takes so many messages, without leaving. */
async function take(iterator, count) {
  const taken = [];
  while (taken.length < count) taken.push((await iterator.next()).value);
  return taken;
}

for (const sharedReads of [true, false]) {
  forEachDoor(
    t,
    `a loop gets every message from the turn of 'connection' on, shared reads ${sharedReads}`,
    async (t, framemask) => {
      const server = await listen(t, framemask, { sharedReads });
      const got = once(server, 'connection').then(async ([socket]) => {
        const seen = [];
        for await (const { data, isBinary } of socket) seen.push([isBinary ? String(data) : data, isBinary]);
        return seen;
      });
      const client = new WebSocket(server.url);
      await once(client, 'open');
      client.send('héllo');
      client.send(Buffer.from('ab'));
      client.ping();
      client.send('c', { fin: false });
      client.send('d');
      client.close();
      t.same(await got, [
        ['héllo', false],
        ['ab', true],
        ['cd', false]
      ]);
    }
  );
}

t.test('a client is read from its constructor on, over TLS', async (t) => {
  const server = await listen(t, framemask, {}, 'TLS');
  server.on('connection', (socket) => {
    socket.send('first');
    socket.close();
  });
  const seen = [];
  for await (const { data } of new WebSocket(server.url, { rejectUnauthorized: false })) seen.push(data);
  t.same(seen, ['first']);
});

const BINARY_TYPES = ['nodebuffer', 'arraybuffer', 'fragments', ...(hasWs('8.18.0') ? ['blob'] : [])];

for (const binaryType of BINARY_TYPES) {
  t.test(`binary data is a Buffer with binaryType ${binaryType}`, async (t) => {
    const { server, client } = await connectPair(t, framemask);
    server.binaryType = binaryType;
    const iterator = messages(server);
    client.send(Buffer.from('a'), { fin: false });
    client.send(Buffer.from('b'));
    const [{ data, isBinary }] = await take(iterator, 1);
    t.ok(Buffer.isBuffer(data));
    t.same([String(data), isBinary], ['ab', true]);
    await deliver(client, server, Buffer.from('waits'));
    t.equal(String((await take(iterator, 1))[0].data), 'waits');
  });
}

t.test('it reads WebSockets of plain ws, too', async (t) => {
  const { server, client } = await connectPair(t, IMPLEMENTATIONS.ws);
  const iterator = messages(server);
  client.send('text');
  client.close();
  t.same(await take(iterator, 1), [{ data: 'text', isBinary: false }]);
  t.same(await iterator.next(), { value: undefined, done: true });
});

forEachDoor(t, 'marks: the socket pauses at the high ones, and resumes at the low ones', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const iterator = messages(server, { highWaterMark: { messages: 4 }, lowWaterMark: { messages: 2 } });
  for (let i = 0; i < 4; i++) client.send(String(i));
  while (!server.isPaused) await once(server, 'message');
  await take(iterator, 1);
  t.ok(server.isPaused, 'above the low mark');
  await take(iterator, 1);
  t.notOk(server.isPaused, 'at the low mark');
  const large = messages(server, { highWaterMark: { bytes: 1000 } });
  for (const size of [990, 10]) await deliver(client, server, Buffer.alloc(size));
  t.ok(server.isPaused, 'the mark of bytes');
  await take(large, 4);
  t.notOk(server.isPaused);
});

forEachDoor(t, 'marks that are undefined are left out', async (t, framemask) => {
  const { server } = await connectPair(t, framemask);
  const marks = { bytes: undefined, messages: undefined };
  t.ok(messages(server, { highWaterMark: marks, lowWaterMark: marks }));
  for (const name of ['highWaterMark', 'lowWaterMark']) {
    t.throws(() => messages(server, { [name]: { bytes: -1 } }), {
      name: 'RangeError',
      code: 'ERR_OUT_OF_RANGE',
      message: `The "${name}.bytes" argument must be a number of at least 0, but was -1`
    });
  }
});

forEachDoor(t, "a pause by the program is the program's", async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const iterator = messages(server, { highWaterMark: { messages: 1 } });
  server.once('message', () => server.pause());
  await deliver(client, server, 'a');
  await take(iterator, 1);
  t.notOk(server.isPaused, 'the iterator had paused it already');
  server.pause();
  await iterator.return();
  t.ok(server.isPaused);
  t.equal(messages(server)[Symbol.asyncIterator]().next().constructor, Promise);
  t.ok(server.isPaused);
});

forEachDoor(
  t,
  'a slow reader: the peer can write no more than the marks and what the kernel holds',
  async (t, framemask) => {
    const { server, socket } = await connectRaw(t, framemask, { maxPayload: 0 });
    const iterator = messages(server);
    const message = frame(BINARY, Buffer.alloc(64 * 1024), { key: KEY });
    const total = 2000;
    let sent = 0;
    const write = () => {
      while (sent < total) {
        sent++;
        if (!socket.write(message)) return socket.once('drain', write);
      }
    };
    write();
    while (!server.isPaused) await once(server, 'message');
    await settled();
    t.ok(socket.writableLength > 0, 'the peer waits');
    t.ok(socket.bytesWritten < (total * message.length) / 2, `${socket.bytesWritten} bytes could be written`);
    let bytes = 0;
    for (let i = 0; i < total; i++) bytes += (await iterator.next()).value.data.length;
    t.equal(bytes, total * 64 * 1024, 'nothing is lost');
  }
);

forEachDoor(t, 'leaving pauses, and the next loop goes on', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const heard = [];
  server.on('message', (data) => heard.push(String(data)));
  const iterator = messages(server);
  for (const text of ['header', 'a', 'b']) client.send(text);
  for await (const { data } of iterator) {
    t.equal(data, 'header');
    break;
  }
  t.ok(server.isPaused);
  const seen = [];
  for (const text of ['c', 'd']) client.send(text);
  for await (const { data } of server) {
    seen.push(data);
    if (data === 'd') client.close();
  }
  t.same(seen, ['a', 'b', 'c', 'd']);
  t.same(heard, ['header', ...seen], "listeners of 'message' hear all");
});

/**
 * Options of a server, and a payload of its client: for messages that come at once, in turns, and
 * from the thread pool.
 */
const DELIVERIES = {
  'at once': { payload: (text) => [text] },
  'in turns': { options: { allowSynchronousEvents: false }, payload: (text) => [text] },
  'from the thread pool': {
    options: { perMessageDeflate: true },
    payload: (text) => [deflateByZlib(text.repeat(200_000)), { rsv: 0x40 }]
  }
};

/** Ends of a connection from the side of its peer. */
const ENDS = {
  'a Close frame': frame(CLOSE, '', { key: KEY }),
  'a wrong frame': frame(3, '', { key: KEY }),
  'its end': null
};

for (const [name, implementation] of Object.entries(ALL)) {
  for (const [delivery, { options, payload }] of Object.entries(DELIVERIES)) {
    t.test(`${name}, ${delivery}: a second loop loses nothing that came before the end`, async (t) => {
      for (const [what, end] of Object.entries(ENDS)) {
        for (const waits of [false, true]) {
          const { server, socket } = await connectRaw(t, implementation, options);
          const errors = [];
          server.on('error', ({ code }) => errors.push(code));
          const closed = new Promise((resolve) => server.once('close', resolve));
          const frames = ['a', 'b', 'c'].map((text) => {
            const [bytes, fields] = payload(text);
            return frame(TEXT, bytes, { key: KEY, ...fields });
          });
          socket.write(Buffer.concat([...frames, ...(end === null ? [] : [end])]));
          if (end === null) socket.end();
          let seen = '';
          for await (const { data } of messages(server)) {
            seen += data[0];
            break;
          }
          if (waits && !server.isPaused) await closed;
          const again = async () => {
            for await (const { data } of messages(server)) seen += data[0];
          };
          await again().catch(({ code }) => t.same(errors, [code]));
          t.equal(seen, 'abc', `${what}, ${waits ? 'after' : 'before'} 'close'`);
          t.same(errors, what === 'a wrong frame' ? [opcodeError(name)] : []);
        }
      }
    });
  }
}

t.test(
  "close() drops the messages, also after the peer's Close frame, and resume() those that were left",
  async (t) => {
    for (const end of [[frame(CLOSE, '', { key: KEY })], []]) {
      const { server, socket } = await connectRaw(t, framemask);
      socket.write(Buffer.concat([...['a', 'b', 'c'].map((text) => frame(TEXT, text, { key: KEY })), ...end]));
      for await (const _ of server) break;
      if (end.length > 0) server.close();
      else server.resume();
      const loop = messages(server);
      socket.end();
      t.same(await loop.next(), { value: undefined, done: true });
    }
  }
);

t.test('a loop that is left before the connection opens does not pause it', async (t) => {
  const server = await listen(t, framemask);
  server.on('connection', (socket) => {
    for (let i = 0; i < 300; i++) socket.send(`${i}`);
  });
  const client = new WebSocket(server.url);
  await messages(client).return();
  const heard = [];
  await new Promise((resolve) => client.on('message', (data) => heard.push(String(data)) === 300 && resolve()));
  t.notOk(client.isPaused);
});

forEachDoor(t, 'messages wait for the loops of their own connection', async (t, framemask) => {
  const pairs = [await connectPair(t, framemask), await connectPair(t, framemask)];
  const iterators = pairs.map(({ server }) => messages(server));
  for (const [i, { server, client }] of pairs.entries()) await deliver(client, server, `to ${i}`);
  for (const i of [1, 0]) t.same(await take(iterators[i], 1), [{ data: `to ${i}`, isBinary: false }]);
});

forEachDoor(t, 'a loop after one that has taken every message goes on', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  for (const text of ['a', 'b', 'c']) {
    client.send(text);
    for await (const { data } of server) {
      t.equal(data, text);
      break;
    }
    t.ok(server.isPaused);
  }
});

forEachDoor(t, 'a throw in the loop leaves it', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const loop = (async () => {
    for await (const { data } of server) throw new Error(data);
  })();
  client.send('mine');
  await t.rejects(loop, { message: 'mine' });
  t.ok(server.isPaused);
  t.equal(server.listenerCount('error'), 0);
});

forEachDoor(t, 'close() after the loop drops messages and ends the closing handshake', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  for (const text of ['a', 'b', 'c']) client.send(text);
  for await (const _ of server) break;
  const closed = once(server, 'close');
  server.close(3000);
  t.same((await closed)[0], 3000);
  t.same(await messages(server).next(), { value: undefined, done: true });
});

for (const [name, implementation] of Object.entries(ALL)) {
  t.test(`${name}: leaving while the connection closes does not hold it up`, async (t) => {
    const { server, client } = await connectPair(t, implementation);
    const closed = once(server, 'close');
    for (const text of ['a', 'b', 'c']) client.send(text);
    // It pauses at the first message.
    for await (const _ of messages(server, { highWaterMark: { messages: 1 }, lowWaterMark: { messages: 0 } })) {
      while (!server.isPaused) await once(server, 'message');
      server.close();
      break;
    }
    await closed;
    t.pass('closed');
  });
}

forEachDoor(t, "resume() after the loop gives messages to listeners of 'message' alone", async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  client.send('a');
  for await (const _ of server) break;
  server.resume();
  await deliver(client, server, 'b');
  t.equal(server.listenerCount('message'), 0);
  await deliver(client, server, 'c');
  const iterator = messages(server);
  client.send('d');
  t.same(await take(iterator, 1), [{ data: 'd', isBinary: false }], 'a later loop starts anew');
});

forEachDoor(t, 'two iterators share the messages, in the order of next()', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const [one, two] = [messages(server), messages(server)];
  const asked = [one.next(), two.next(), one.next(), two.next(), two.next()];
  for (const text of ['1', '2', '3']) client.send(text);
  const first = await Promise.all(asked.slice(0, 3));
  t.equal(first.map(({ value }) => value.data).join(), '1,2,3');
  await two.return('left');
  t.same(await Promise.all(asked.slice(3)), Array(2).fill({ value: undefined, done: true }));
  t.notOk(server.isPaused, 'the other goes on');
  client.close();
  t.same(await one.next(), { value: undefined, done: true });
  t.same(await one.next(), { value: undefined, done: true });
  t.same(await one.return('end'), { value: 'end', done: true });
});

forEachDoor(t, "the connection's error is thrown after the messages before it, once", async (t, framemask, door) => {
  const { server, socket } = await connectRaw(t, framemask);
  const iterator = messages(server);
  socket.write(Buffer.concat([frame(TEXT, 'good', { key: KEY }), frame(3, '', { key: KEY })]));
  await new Promise((resolve) => server.once('close', resolve));
  t.same(await take(iterator, 1), [{ data: 'good', isBinary: false }]);
  await t.rejects(iterator.next(), { code: opcodeError(door) });
  t.same(await iterator.next(), { value: undefined, done: true });
});

t.test("a client that can't connect throws in the loop", async (t) => {
  await t.rejects(new WebSocket('ws://127.0.0.1:1')[Symbol.asyncIterator]().next(), { code: 'ECONNREFUSED' });
});

for (const [how, end] of Object.entries({
  terminate: ({ server }) => server.terminate(),
  reset: ({ socket }) => socket.resetAndDestroy(),
  end: ({ socket }) => socket.end()
})) {
  forEachDoor(t, `the loop ends when the peer ends the connection: ${how}`, async (t, framemask, door) => {
    const pair = await connectRaw(t, framemask);
    const next = messages(pair.server).next();
    end(pair);
    // `onError` gets it; ws has no event for it.
    if (door === 'Connection' && how === 'reset') await t.rejects(next, { code: 'ECONNRESET' });
    else t.same(await next, { value: undefined, done: true });
  });
}

forEachDoor(t, 'signal: ends the loop, at once or before it starts', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const reason = new Error('enough');
  const controller = new AbortController();
  const iterator = messages(server, { signal: controller.signal });
  const next = iterator.next();
  controller.abort(reason);
  await t.rejects(next, reason);
  t.ok(server.isPaused);
  client.send('kept');
  await t.rejects(messages(server, { signal: AbortSignal.abort(reason) }).next(), reason);
  server.resume();
  const last = messages(server, { signal: new AbortController().signal });
  t.same(await take(last, 1), [{ data: 'kept', isBinary: false }]);
});

forEachDoor(t, 'a signal for many loops has one listener, and none after them', async (t, framemask) => {
  const controller = new AbortController();
  const { signal } = controller;
  const reason = new Error('enough');
  const iterators = [];
  for (let i = 0; i < 12; i++) iterators.push(messages((await connectPair(t, framemask)).server, { signal }));
  t.equal(getEventListeners(signal, 'abort').length, 1, 'Node.js warns of more than ten');
  await iterators[0].return();
  const ends = iterators.slice(1).map((iterator) => t.rejects(iterator.next(), reason));
  controller.abort(reason);
  await Promise.all(ends);
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

forEachDoor(t, 'messages that were taken leave no trace, though one always waits', async (t, framemask) => {
  const { server, client } = await connectPair(t, framemask);
  const iterator = messages(server);
  const key = Object.getOwnPropertySymbols(server).find(({ description }) => description === 'messages');
  await deliver(client, server, '0');
  for (let i = 1; i < 100; i++) {
    await deliver(client, server, `${i}`);
    t.equal((await iterator.next()).value.data, `${i - 1}`);
  }
  t.ok(server[key]._messages._items.length < 5);
});

forEachDoor(t, 'marks that are not numbers are refused', async (t, framemask) => {
  const { server } = await connectPair(t, framemask);
  const error = { name: 'RangeError', message: /highWaterMark.bytes/ };
  t.throws(() => messages(server, { highWaterMark: { bytes: -1 } }), error);
  t.throws(() => messages(server, { lowWaterMark: { messages: 'a' } }), /lowWaterMark.messages/);
  t.equal(server.listenerCount('message'), 0);
});
