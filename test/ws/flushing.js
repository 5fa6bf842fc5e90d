'use strict';

// When what is sent leaves: in one write at the end of a read or of the turn, and at once where
// somebody could tell the difference.

const { AsyncLocalStorage } = require('node:async_hooks');
const { once } = require('node:events');
const net = require('node:net');
const { Duplex, PassThrough } = require('node:stream');
const { buffer } = require('node:stream/consumers');
const { setImmediate: turn } = require('node:timers/promises');
const t = require('tap');
const { BINARY, KEY, TEXT, frame } = require('../support/frames');
const { LONG } = require('../support/sample');
const { isNode } = require('../support/socket-pairs');
const { uncaughtMessages } = require('../support/uncaught');
const websockets = require('../support/websockets');

const { IMPLEMENTATIONS, connectDuplex, connectPair, connectRaw, listen, receiveTexts, runSource, settled } =
  websockets;
const framemask = IMPLEMENTATIONS['framemask/ws'];

/** @returns {number[]} the sizes of a socket's writes from now on */
function countWrites(socket) {
  const sizes = [];
  const { write, cork, uncork } = socket;
  let corked = 0;
  let size = 0;
  socket.cork = () => {
    corked++;
    cork.call(socket);
  };
  socket.uncork = () => {
    corked--;
    if (corked === 0 && size > 0) sizes.push(size);
    if (corked === 0) size = 0;
    uncork.call(socket);
  };
  socket.write = (chunk, ...rest) => {
    if (corked === 0) sizes.push(chunk.length);
    else size += chunk.length;
    return write.call(socket, chunk, ...rest);
  };
  return sizes;
}

/** Has a socket's writes throw. @returns {Function} ends that */
function breakWrites(socket) {
  const { write } = socket;
  socket.write = () => {
    throw new Error('from write');
  };
  return () => {
    socket.write = write;
  };
}

/** Server's ends, and the sockets of their peers. */
async function connectMany(t, count) {
  const pairs = [];
  while (pairs.length < count) pairs.push(await connectRaw(t, framemask));
  return pairs;
}

for (const isAsync of [false, true]) {
  t.test(`replies to the messages of one read leave in one write, asynchronous ${isAsync}`, async (t) => {
    const { server, socket } = await connectRaw(t, framemask);
    const reply = (data) => server.send(data.toString());
    server.on('message', isAsync ? (data) => Promise.resolve(data).then(reply) : reply);
    const sizes = countWrites(server._socket);
    socket.write(Buffer.concat(Array(10).fill(frame(TEXT, 'abc', { key: KEY }))));
    await once(socket, 'data');
    t.same(sizes, [50]);
  });
}

t.test('what is sent in one turn leaves in one write, Pings, fragments and a Close frame too', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  const sizes = countWrites(server._socket);
  server.send('a');
  server.ping();
  server.send('b', { fin: false });
  server.send('c');
  t.same(sizes, [], 'nothing has left');
  t.equal(server.bufferedAmount, 0, 'what is held back is not counted');
  server.close();
  await once(socket, 'data');
  t.same(sizes, [3 + 2 + 3 + 3 + 2]);
});

t.test('from 16 KiB on a message leaves at once, and bufferedAmount grows', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  socket.pause();
  const sizes = countWrites(server._socket);
  server.send(Buffer.alloc(16 * 1024));
  t.same(sizes, [16 * 1024 + 4]);
  for (let sent = 0; server.bufferedAmount < 1e6 && sent < 1e5; sent++) server.send('x'.repeat(1000));
  t.ok(server.bufferedAmount >= 1e6, 'a loop that sends until the buffer is full ends');
  const drained = new Promise((resolve) => server.send('last', resolve));
  socket.resume();
  await drained;
  t.equal(server.bufferedAmount, 0);
});

t.test('connections together hold back 64 KiB at most, and as many as there are pooled slabs', async (t) => {
  for (const [count, length] of [
    [12, 8000],
    [300, 1]
  ]) {
    const pairs = await connectMany(t, count);
    const sizes = pairs.map(({ server }) => countWrites(server._socket));
    for (const { server } of pairs) server.send('x'.repeat(length));
    const sent = sizes.flat().length;
    t.ok(sent > 0 && sent < count, `${sent} of ${count} have left in the same turn`);
    await settled();
    t.equal(sizes.flat().length, count);
  }
});

t.test("bytes that are not a frame are sent by ws's own sendFrame, after the held frames", async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  server.send('a');
  await new Promise((resolve) => server._sender.sendFrame([Buffer.from('no frame')], resolve));
  t.same((await once(socket, 'data'))[0].subarray(0, 3), frame(TEXT, 'a'));
});

t.test("frames of ws's Sender after a Close frame go its own way, as with ws", async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  server.close();
  await new Promise((resolve) => server._sender.ping(Buffer.alloc(0), false, resolve));
  t.same((await once(socket, 'data'))[0].subarray(0, 2), Buffer.from('8800', 'hex'));
});

t.test('whoever asks for the socket finds all sent', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  server.send('a');
  server._socket.write(frame(TEXT, 'raw'));
  server.send('b');
  server.terminate();
  t.same(await buffer(socket), Buffer.concat(['a', 'raw', 'b'].map((text) => frame(TEXT, text))));
});

t.test('what was sent when the peer ends the connection is sent', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  server._socket.prependListener('end', () => server.send('reply'));
  socket.end();
  t.same(await buffer(socket), frame(TEXT, 'reply'));
});

/** How a program ends a connection whose socket it has kept. */
const ENDINGS = {
  'socket.end()': ({ socket }) => socket.end(),
  'socket.destroySoon()': ({ socket }) => socket.destroySoon(),
  'socket.destroy()': ({ socket }) => socket.destroy(),
  'message.destroy()': (message) => message.destroy()
};

for (const [ending, end] of Object.entries(ENDINGS)) {
  t.test(`what was sent before ${ending} of a socket that the program has kept is sent`, async (t) => {
    for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
      for (const transport of ['TCP', 'TLS', 'pipe']) {
        for (const role of ['server', 'client']) {
          for (const where of ['in a turn', 'in a listener']) {
            const { server, client, request, response } = await connectPair(t, implementation, { transport });
            const [here, there] = role === 'server' ? [server, client] : [client, server];
            const received = receiveTexts(there);
            const leave = () => {
              here.send('last');
              end(role === 'server' ? request : response);
            };
            if (where === 'in a turn') setImmediate(leave);
            else here.on('message', leave);
            if (where === 'in a listener') there.send('go');
            t.same(await received, ['last'], [name, transport, role, where].join(', '));
          }
        }
      }
    }
  });
}

t.test('methods of a socket that were replaced before the handshake are called', async (t) => {
  const called = [];
  const verifyClient = ({ req: { socket } }) => {
    for (const name of ['end', 'destroy']) {
      const method = socket[name];
      socket[name] = function (...args) {
        called.push(name);
        return method.apply(this, args);
      };
    }
    return true;
  };
  const { server, client, request } = await connectPair(t, framemask, { server: { verifyClient } });
  const received = receiveTexts(client);
  server.send('last');
  Object.create(request.socket).end();
  t.same(called, ['end']);
  t.equal((await received)[0], 'last');
  request.socket.destroy();
  t.match(called, ['end', /^destroy$/]);
});

t.test('a program that ends itself loses nothing that it sent', LONG, async (t) => {
  const wss = await listen(t, IMPLEMENTATIONS.ws);
  const endings = {
    'in a turn': "client.on('open', () => setImmediate(leave));",
    'in a listener': "client.on('open', () => client.send('hello')); client.on('message', leave);",
    "in an 'exit' listener": "client.on('open', () => process.on('exit', send).exit());",
    "in an 'exit' listener that is younger than the first message":
      "client.on('open', () => client.send('hello', () => process.on('exit', send)));" +
      "client.on('message', () => process.exit());"
  };
  for (const [where, source] of Object.entries(endings)) {
    const received = once(wss, 'connection').then(([websocket]) => {
      websocket.on('message', (data) => String(data) === 'hello' && websocket.send('hello'));
      return receiveTexts(websocket);
    });
    const { status, stderr } = await runSource(`
      const { WebSocket } = require('./ws.js');
      const client = new WebSocket('${wss.url}');
      const send = () => client.send('the last');
      const leave = () => {
        send();
        process.exit();
      };
      ${source}
    `);
    t.same([status, stderr], [0, ''], where);
    t.equal((await received).at(-1), 'the last', where);
  }
});

t.test('the callbacks of send come when the socket has taken the bytes, each with its error', async (t) => {
  const { server } = await connectPair(t, framemask);
  const called = [];
  server.send('a', (error) => called.push(['a', error]));
  server.send('b');
  server.send('c', (error) => called.push(['c', error]));
  await settled();
  t.match(called, [['a'], ['c']]);
  t.notOk(called[0][1] ?? called[1][1]);
  server._socket.destroy();
  const failed = new Promise((resolve) => server.send('d', resolve));
  t.match(await failed, { code: 'ERR_STREAM_DESTROYED' });
});

t.test('the callback of a short message does not wait for a longer one behind it', async (t) => {
  const long = Buffer.alloc(32 * 1024 * 1024);
  for (const name of Object.keys(IMPLEMENTATIONS)) {
    for (const options of [undefined, { fin: false }]) {
      const { server, socket } = await connectRaw(t, IMPLEMENTATIONS[name]);
      socket.pause();
      const called = [];
      server.send('a', () => called.push('a'));
      server.send(long, options ?? {}, () => called.push('long'));
      await settled();
      t.same(called, ['a'], name);
      server.terminate();
    }
  }
});

/** The codes of two sends of one turn, of which the first learns of a reset. */
async function sendAfterReset(t, implementation, role) {
  const { server, client } = await connectPair(t, implementation);
  const [sender, other] = role === 'server' ? [server, client] : [client, server];
  for (const end of [sender, other]) end.on('error', () => {});
  other._socket.resetAndDestroy();
  const send = () => new Promise((resolve) => sender.send('x'.repeat(20_000), resolve));
  const codes = (await Promise.all([send(), send()])).map((error) => error?.code);
  // The system may know of it a moment later.
  return codes[0] === 'ECONNRESET' ? codes : sendAfterReset(t, implementation, role);
}

// Bun and Deno report a reset otherwise.
t.test('after a reset the callbacks of send get the errors of ws', { skip: !isNode }, async (t) => {
  for (const role of ['server', 'client']) {
    const codes = {};
    for (const name of Object.keys(IMPLEMENTATIONS)) codes[name] = await sendAfterReset(t, IMPLEMENTATIONS[name], role);
    t.same(codes['framemask/ws'], codes.ws, role);
    t.notSame(codes.ws[1], undefined);
  }
});

t.test('the callbacks of send run in the asynchronous context of their call', async (t) => {
  for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const { server, client } = await connectPair(t, implementation);
    const storage = new AsyncLocalStorage();
    const seen = [];
    const send = (i) => storage.run(i, () => server.send(`${i}`, () => seen.push([i, storage.getStore()])));
    server.on('message', () => {
      for (const i of [1, 2]) send(i);
      server.send('3', () => seen.push([3, storage.getStore()]));
    });
    client.send('x');
    await once(client, 'message');
    for (const i of [4, 5]) send(i);
    while (seen.length < 5) await settled();
    const expected = [1, 2, 3, 4, 5].map((i) => [i, i === 3 ? undefined : i]);
    t.same(seen, expected, name);
  }
});

t.test('a stream of the program itself is not given memory that is used again', async (t) => {
  const received = [];
  const server = await connectDuplex(framemask, (chunk, callback) => callback(received.push(chunk) && null));
  received.length = 0;
  const texts = ['first', 'second', 'third'];
  for (const text of texts) {
    server.send(text);
    await settled();
  }
  const expected = texts.map((text) => frame(TEXT, text));
  t.same(received, expected);
  server.terminate();
});

t.test('a socket whose write is replaced later is not given memory that is used again', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  server.send('before');
  await once(socket, 'data');
  const kept = [];
  const { write } = server._socket;
  server._socket.write = (chunk, ...rest) => {
    kept.push(chunk);
    return write.call(server._socket, chunk, ...rest);
  };
  for (const text of ['first', 'second', 'third']) {
    server.send(text);
    server.send(Buffer.alloc(20_000));
    await settled();
  }
  const bytes = Buffer.concat(kept).toString('latin1');
  for (const text of ['first', 'second', 'third']) t.ok(bytes.includes(text), text);
});

t.test('a write that replaces that of all sockets is not given memory that is used again', async (t) => {
  const kept = [];
  const keep = (chunk) => kept.push([chunk, Buffer.from(chunk)]);
  const keepAll = (chunks) => chunks.map(({ chunk }) => keep(chunk));
  for (const [prototype, name, look] of [
    [Duplex.prototype, 'write', keep],
    [net.Socket.prototype, '_write', keep],
    [net.Socket.prototype, '_writev', keepAll]
  ]) {
    const pairs = await connectMany(t, 2);
    const sockets = pairs.map(({ server }) => server._socket);
    // The first message decides whether a socket's memory is used again.
    for (const { server } of pairs) server.send('before');
    await Promise.all(pairs.map(({ socket }) => once(socket, 'data')));
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    prototype[name] = function (chunk, ...rest) {
      if (sockets.includes(this)) look(chunk);
      return descriptor.value.call(this, chunk, ...rest);
    };
    try {
      for (let i = 0; i < 5; i++) {
        for (const { server } of pairs) {
          server.send(`${name} ${i}`);
          server.send(Buffer.alloc(10_000));
          if (name === '_writev') server.send(Buffer.alloc(20_000));
        }
        await Promise.all(pairs.map(({ socket }) => once(socket, 'data')));
      }
    } finally {
      Object.defineProperty(prototype, name, descriptor);
    }
    t.ok(kept.length >= 10, `${kept.length} chunks were kept`);
    const changed = kept.splice(0).filter(([chunk, copy]) => !chunk.equals(copy));
    t.equal(changed.length, 0, `${name}: no chunk has changed`);
  }
});

t.test("a stream whose write throws does not end another connection's send", async (t) => {
  const [broken, ...others] = await connectMany(t, 6);
  const mend = breakWrites(broken.server._socket);
  const text = 'x'.repeat(15_000);
  const errors = await uncaughtMessages(async () => {
    broken.server.send(text);
    // What is held back together is sent during one of these.
    for (const { server } of others) server.send(text);
    await Promise.all(others.map(({ socket }) => once(socket, 'data')));
    broken.server.send(text);
    t.equal(broken.server._socket.destroyed, false, 'nor the getter of _socket');
    await settled();
  });
  t.same(errors, ['from write', 'from write']);
  mend();
});

t.test('a socket whose write throws is ended all the same', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  const kept = server._socket;
  breakWrites(kept);
  const errors = await uncaughtMessages(async () => {
    server.send('x');
    kept.end();
    await once(socket, 'end');
  });
  t.same(errors, ['from write']);
});

t.test('a connection whose replies could not be written receives what follows', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  const seen = [];
  server.on('message', (data) => {
    seen.push(data.toString());
    server.send('reply');
  });
  const mend = breakWrites(server._socket);
  const errors = await uncaughtMessages(async () => {
    socket.write(frame(TEXT, 'one', { key: KEY }));
    while (seen.length === 0) await settled();
    await settled();
  });
  t.same(errors, ['from write']);
  mend();
  socket.write(frame(TEXT, 'two', { key: KEY }));
  t.same((await once(socket, 'data'))[0], frame(TEXT, 'reply'));
  t.same(seen, ['one', 'two']);
});

/** @returns {Promise<{ server: object, chunks: Buffer[], go: Function }>} `go` writes what waits */
async function connectSlow(implementation) {
  const chunks = [];
  const waiting = [];
  let isSlow = false;
  const server = await connectDuplex(implementation, (chunk, callback) => {
    chunks.push(chunk);
    if (isSlow) waiting.push(callback);
    else callback();
  });
  isSlow = true;
  server.send(''); // waits for the stream, and all that follows for it
  await turn();
  chunks.length = 0;
  const go = () => {
    isSlow = false;
    for (const callback of waiting) callback();
  };
  return { server, chunks, go };
}

t.test('after others that wait, payloads from 1 KiB on are not copied', async (t) => {
  for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const slow = [await connectSlow(implementation), await connectSlow(implementation)];
    const bytes = Buffer.alloc(12 * 1024, 'x');
    const kib = Buffer.alloc(1024, 'y');
    for (const { server } of slow) {
      server.send(bytes);
      server.send(kib, { binary: false });
      server.send(kib, { mask: false }); // framed by ws's Sender
      server.send(kib.subarray(1));
      server.send('z'.repeat(2000));
      server.send('z'.repeat(2000), { binary: true });
    }
    await turn();
    for (const { chunks, go } of slow) {
      go();
      const shared = [bytes, kib].map(({ buffer }) => chunks.filter((chunk) => chunk.buffer === buffer).length);
      t.same(shared, name === 'ws' ? [1, 3] : [1, 2], name);
      const expected = [
        frame(BINARY, bytes),
        frame(TEXT, kib),
        frame(BINARY, kib),
        frame(BINARY, kib.subarray(1)),
        frame(TEXT, 'z'.repeat(2000)),
        frame(BINARY, 'z'.repeat(2000))
      ];
      t.ok(Buffer.concat(chunks).equals(Buffer.concat(expected)), `${name}: the same bytes`);
    }
    const texts = slow.map(({ chunks }) => chunks.find((chunk) => chunk.length === 2000));
    const isShared = texts[0].buffer === texts[1].buffer && texts[0].byteOffset === texts[1].byteOffset;
    t.equal(isShared, false, `${name}: the program's stream gets bytes of its own for a text`);
  }
});

t.test('a client masks copies', async (t) => {
  const { client } = await connectPair(t, framemask);
  const bytes = Buffer.alloc(12 * 1024, 'x');
  while (client._socket.writableLength === 0) client.send(Buffer.alloc(1 << 20));
  client.send(bytes);
  t.ok(bytes.equals(Buffer.alloc(12 * 1024, 'x')));
});

t.test('a text for many sockets of which bytes wait is held once', async (t) => {
  const servers = [];
  for (const { server, socket } of await connectMany(t, 3)) {
    socket.pause();
    // More than the system's buffers take, whenever they take it.
    server.send(Buffer.alloc(32 << 20));
    servers.push(server);
  }
  const text = 'x'.repeat(3000);
  for (const server of servers) server.send(text);
  await turn();
  for (const server of servers) server.send(text);
  const held = servers.map(({ _socket }) => _socket._writableState.getBuffer().map(({ chunk }) => chunk));
  // Each with its header.
  const [first, ...others] = held.map((chunks) => chunks.filter(({ length }) => length === 3004));
  for (const { length } of [first, ...others]) t.equal(length, 2);
  for (const [i, payload] of first.entries()) {
    t.ok(payload.subarray(4).equals(Buffer.from(text)));
    for (const payloads of others) t.equal(payloads[i].buffer, payload.buffer);
  }
});

t.test('a Buffer that is changed is sent as by ws', async (t) => {
  for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
    for (const size of [1023, 1024, 12 * 1024, 20_000]) {
      const { server, chunks, go } = await connectSlow(implementation);
      const bytes = Buffer.alloc(size, 'x');
      server.send(bytes);
      bytes.fill('y');
      await turn();
      go();
      const sent = name === 'ws' || size >= 1024 ? bytes : Buffer.alloc(size, 'x');
      t.ok(Buffer.concat(chunks).equals(frame(BINARY, sent)), `${name}: ${size} bytes, after others`);
    }
    const { server, socket } = await connectRaw(t, implementation);
    const bytes = Buffer.alloc(12 * 1024, 'x');
    const expected = frame(BINARY, bytes);
    server.send(bytes);
    bytes.fill('y');
    let received = Buffer.alloc(0);
    while (received.length < expected.length) received = Buffer.concat([received, (await once(socket, 'data'))[0]]);
    t.ok(received.equals(expected), `${name}: when nothing waits, it is sent as it was`);
  }
});

t.test('createWebSocketStream moves a megabyte both ways', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const [a, b] = [server, client].map((end) => framemask.createWebSocketStream(end));
  b.pipe(new PassThrough()).pipe(b);
  const bytes = Buffer.alloc(1 << 20, 'abc');
  a.end(bytes);
  t.ok(bytes.equals(await buffer(a)));
});
