'use strict';

// examples/echo-server.js over real connections, with FRAMEMASK_TEST=all also on JavaScript: with ws
// and undici at the other end, and with clients that break the rules, are slow, or disappear.
// Autobahn|Testsuite, which test/system/autobahn runs on it, does not compare the bytes of large
// messages; this test compares each byte.

const { randomBytes, randomInt } = require('node:crypto');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { WebSocket: UndiciWebSocket } = require('undici');
const { WebSocket } = require('ws');
const { shutDown } = require('../examples/echo-server');
const {
  HANDSHAKE,
  MIB,
  RawConnection,
  assertMessages,
  head,
  masked,
  randomMessages,
  request,
  startServer,
  untilAllClosed,
  withResolvers
} = require('./support/connections');
const { BINARY, CLOSE, PING, PONG, TEXT, closePayload, frame } = require('./support/frames');
const { TRIES_ALL } = require('./support/sample');

t.test('echoes every byte to a client of ws', async (t) => {
  const { url } = await startServer(t);
  const messages = randomMessages();
  const client = new WebSocket(url);
  const came = [];
  client.on('message', (data, isBinary) => {
    came.push({ data, isBinary });
    if (came.length === messages.length) client.close(1000, 'bye');
  });
  await once(client, 'open');
  for (const { data, isBinary } of messages) client.send(data, { binary: isBinary });
  const [code] = await once(client, 'close');
  t.equal(code, 1000);
  assertMessages(came, messages);
});

t.test('echoes every byte to a client of undici', async (t) => {
  const { url } = await startServer(t);
  const messages = randomMessages();
  const client = new UndiciWebSocket(url);
  client.binaryType = 'arraybuffer';
  const came = [];
  const closed = withResolvers();
  client.onclose = closed.resolve;
  client.onmessage = ({ data }) => {
    came.push({ data: Buffer.from(data), isBinary: typeof data !== 'string' });
    if (came.length === messages.length) client.close(3001, 'bye');
  };
  await new Promise((resolve) => {
    client.onopen = resolve;
  });
  for (const { data, isBinary } of messages) client.send(isBinary ? data : data.toString());
  const { code, wasClean } = await closed.promise;
  t.equal(code, 3001);
  t.equal(wasClean, true);
  assertMessages(came, messages);
});

t.test('5.4: takes single bytes, and fragments with a Ping frame between them', async (t) => {
  const { port } = await startServer(t);
  const raw = await RawConnection.open(t, port);
  raw.socket.setNoDelay(true);
  const bytes = Buffer.concat([
    masked(TEXT, 'Hé', { fin: false }),
    masked(PING, 'now'),
    masked(0, 'llo '),
    masked(BINARY, randomBytes(200))
  ]);
  for (const byte of bytes) {
    raw.socket.write(Buffer.from([byte]));
    await sleep(0);
  }
  const expected = Buffer.concat([frame(PONG, 'now'), frame(TEXT, 'Héllo ')]);
  t.same(await raw.read(expected.length), expected);
  t.same((await raw.read(204)).subarray(0, 4), Buffer.from('827e00c8', 'hex'));
});

t.test('writes the replies to one read in one write', async (t) => {
  const { server, port } = await startServer(t);
  const raw = await RawConnection.open(t, port);
  const [{ socket }] = server.connections;
  let reads = 0;
  let writes = 0;
  socket.on('data', () => reads++);
  // Each write calls one of these.
  for (const method of ['_write', '_writev']) {
    const { [method]: original } = socket;
    socket[method] = (...args) => {
      writes++;
      original.apply(socket, args);
    };
  }
  const one = randomBytes(64);
  raw.socket.write(Buffer.concat(Array.from({ length: 100 }, () => masked(BINARY, one))));
  t.same(await raw.read(6600), Buffer.concat(Array.from({ length: 100 }, () => frame(BINARY, one))));
  t.ok(reads < 10, `${reads} reads`);
  t.ok(writes <= reads, `${writes} writes`);
});

t.test('4.1: takes frames that arrive in the packet of the handshake', async (t) => {
  const { port } = await startServer(t);
  const raw = new RawConnection(port);
  t.teardown(() => raw.socket.destroy());
  raw.socket.write(Buffer.concat([Buffer.from(head(...HANDSHAKE)), masked(TEXT, 'Hello'), masked(PING, 'x')]));
  t.match(await raw.readHead(), /^HTTP\/1\.1 101 /);
  t.same(await raw.read(10), Buffer.concat([frame(TEXT, 'Hello'), frame(PONG, 'x')]));
});

t.test('4.2.1: refuses a handshake that lacks a header or has a wrong one', async (t) => {
  const { port, server } = await startServer(t);
  const without = (name) => HANDSHAKE.filter((line) => !line.startsWith(name));
  const [get, ...headers] = HANDSHAKE;
  const key = 'Sec-WebSocket-Key: ';
  const cases = [
    [without('Upgrade'), /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [without('Connection'), /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [[...without('Upgrade'), 'Upgrade: h2c'], /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [['POST / HTTP/1.1', ...headers, 'Content-Length: 0'], /^HTTP\/1\.1 405 /],
    [['GET / HTTP/1.0', ...headers], /^HTTP\/1\.1 400 /],
    [without('Host'), /^HTTP\/1\.1 400 /],
    [without(key), /^HTTP\/1\.1 400 /],
    [[...without(key), `${key}dGhlIHNhbXBsZSBub25jZQ`], /^HTTP\/1\.1 400 /],
    [[...without(key), `${key}dGhlIHNhbXBsZSBub25jZR==`], /^HTTP\/1\.1 400 /],
    [[...HANDSHAKE, `${key}dGhlIHNhbXBsZSBub25jZQ==`], /^HTTP\/1\.1 400 /],
    [without('Sec-WebSocket-Version'), /^HTTP\/1\.1 426 .*Sec-WebSocket-Version: 13/s],
    [[...without('Sec-WebSocket-Version'), 'Sec-WebSocket-Version: 8'], /^HTTP\/1\.1 426 .*Sec-WebSocket-Version: 13/s]
  ];
  for (const [lines, expected] of cases) t.match(await request(t, port, head(...lines)), expected, lines.join(' | '));
  const accepted = [get, 'Host: a', 'UPGRADE: foo, WebSocket', 'Connection: keep-alive, upgrade', ...headers.slice(3)];
  const raw = new RawConnection(port);
  raw.socket.write(head(...accepted));
  t.match(await raw.readHead(), /^HTTP\/1\.1 101 /);
  raw.socket.destroy();
  await untilAllClosed(server);
});

t.test('refuses what is not a handshake, and a handshake that is slow or huge', async (t) => {
  const { port } = await startServer(t);
  // A server that closes while bytes arrive resets the connection, and its answer may be lost.
  t.match(await request(t, port, randomBytes(10000)), /^$|^HTTP\/1\.1 400 /);
  t.match(await request(t, port, masked(TEXT, 'Hello')), /^HTTP\/1\.1 400 /);
  t.match(await request(t, port, head(...HANDSHAKE, `X: ${'x'.repeat(100000)}`)), /^$|^HTTP\/1\.1 431 /);
  const limits = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 };
  const { port: hasty } = await startServer(t, limits);
  t.match(await request(t, hasty, head(...HANDSHAKE).slice(0, -2)), /^HTTP\/1\.1 408 /);
  const drip = new RawConnection(hasty);
  const timer = setInterval(() => drip.socket.write('G'), 20);
  await drip.closed;
  clearInterval(timer);
  t.match(drip.bytes().toString(), /^$|^HTTP\/1\.1 40[08] /);
});

t.test('7.1.7: answers a protocol error with a Close frame, and then ignores the client', async (t) => {
  const { server, port } = await startServer(t, { maxPayload: 1000 });
  const cases = [
    [frame(TEXT, 'not masked'), 1002],
    [masked(3, ''), 1002],
    [masked(TEXT, Buffer.from('c328', 'hex')), 1007],
    [masked(TEXT, 'a'.repeat(1001)), 1009],
    [masked(BINARY, '', { length: 2n ** 62n }), 1009],
    [masked(CLOSE, Buffer.from([3])), 1002],
    [randomBytes(100000).fill(0xff, 0, 2), 1002]
  ];
  for (const [bytes, code] of cases) {
    const raw = await RawConnection.open(t, port);
    raw.socket.write(Buffer.concat([masked(TEXT, 'first'), bytes, masked(TEXT, 'ignored')]));
    const answer = Buffer.concat([frame(TEXT, 'first'), frame(CLOSE, closePayload(code))]);
    t.same(await raw.ended, answer, bytes.toString('hex', 0, 20));
  }
  await untilAllClosed(server);
});

t.test('closes connections that send random bytes', async (t) => {
  const { server, port } = await startServer(t, { closeTimeout: 300 });
  for (let i = 0; i < 50; i++) {
    const raw = await RawConnection.open(t, port);
    raw.socket.end(randomBytes(randomInt(1, 3000)));
    await raw.ended;
  }
  await untilAllClosed(server);
});

t.test('7.1: the closing handshake', async (t) => {
  await t.test('the client begins it', async (t) => {
    const { server, url, port } = await startServer(t);
    for (const [args, code] of [
      [[], 1005],
      [[1000], 1000],
      [[3999, 'why not'], 3999]
    ]) {
      const client = new WebSocket(url);
      await once(client, 'open');
      client.close(...args);
      t.equal((await once(client, 'close'))[0], code, `close(${args})`);
    }
    const raw = await RawConnection.open(t, port);
    raw.socket.write(
      Buffer.concat([masked(TEXT, 'last'), masked(CLOSE, closePayload(1001, 'x')), masked(TEXT, 'more')])
    );
    t.same(await raw.ended, Buffer.concat([frame(TEXT, 'last'), frame(CLOSE, closePayload(1001))]));
    await untilAllClosed(server);
  });

  await t.test('the server begins it, and delivers what the client sends before its answer', async (t) => {
    const { server, port } = await startServer(t);
    const raw = await RawConnection.open(t, port);
    const closed = once(server, 'close');
    shutDown(server);
    const close = frame(CLOSE, closePayload(1001, 'The server is going away'));
    t.same(await raw.read(close.length), close);
    for (const connection of server.connections) connection.close(1000);
    raw.socket.write(Buffer.concat([masked(TEXT, 'late'), masked(CLOSE, closePayload(1001))]));
    t.same(await raw.ended, Buffer.alloc(0));
    raw.socket.end();
    await closed;
    // The teardown closes the server, so it must listen.
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  await t.test('the server drops a client that does not end its half of the connection', async (t) => {
    const { server, port } = await startServer(t, { closeTimeout: 500 });
    const raw = await RawConnection.open(t, port, { allowHalfOpen: true });
    raw.socket.write(masked(CLOSE, closePayload(1000)));
    await raw.ended;
    t.equal(server.connections.size, 1);
    // Even if it goes on sending.
    const timer = setInterval(() => raw.socket.write(masked(PING, 'x')), 10);
    await untilAllClosed(server);
    clearInterval(timer);
  });

  await t.test('the server drops a client that does not answer', async (t) => {
    const { server, port } = await startServer(t, { closeTimeout: 100 });
    const raw = await RawConnection.open(t, port);
    for (const connection of server.connections) connection.close(1000);
    t.same(await raw.ended, frame(CLOSE, closePayload(1000)));
    await untilAllClosed(server);
  });

  await t.test('a client that ends its half without a Close frame gets its replies', async (t) => {
    const { server, port } = await startServer(t);
    const raw = await RawConnection.open(t, port);
    raw.socket.end(Buffer.concat([masked(TEXT, 'Hello'), masked(TEXT, 'cut').subarray(0, 7)]));
    t.same(await raw.ended, frame(TEXT, 'Hello'));
    await untilAllClosed(server);
  });

  await t.test('a connection is lost', async (t) => {
    const { server, port } = await startServer(t);
    const raw = await RawConnection.open(t, port);
    raw.socket.write(Buffer.concat([masked(PING, ''), masked(BINARY, '', { length: 1000 })]));
    await raw.read(2);
    raw.socket.resetAndDestroy();
    await untilAllClosed(server);
  });
});

t.test('5.5.2: sends a Ping frame to a silent client, and drops it if it does not answer', async (t) => {
  const { server, port } = await startServer(t, { idleTimeout: 500 });
  const raw = await RawConnection.open(t, port);
  for (let i = 0; i < 3; i++) {
    t.same(await raw.read(2), frame(PING), `Ping frame ${i}`);
    t.equal(server.connections.size, 1, `connected at Ping frame ${i}`);
    raw.socket.write(masked(PONG, ''));
  }
  t.same(await raw.read(2), frame(PING));
  await raw.closed;
  await untilAllClosed(server);
});

t.test('stops reading from a client that does not read', async (t) => {
  const { server, port } = await startServer(t);
  const raw = await RawConnection.open(t, port);
  raw.socket.pause();
  const [connection] = server.connections;
  const payload = randomBytes(50000);
  const messages = 1000;
  const one = masked(BINARY, payload);
  let sent = 0;
  // It also pauses for a moment while the buffers of the system have room.
  let turnsPaused = 0;
  while (sent < messages && turnsPaused < 10) {
    for (let i = 0; i < 20; i++, sent++) raw.socket.write(one);
    await sleep(1);
    turnsPaused = connection.socket.isPaused() ? turnsPaused + 1 : 0;
  }
  await sleep(100);
  t.ok(sent < messages, `stopped after ${sent}`);
  t.ok(connection.socket.isPaused());
  t.ok(connection.socket.writableLength < MIB, `${connection.socket.writableLength} bytes wait in the server`);
  t.equal(connection.encoder.pending, 0);

  // When the client reads, all replies arrive.
  const expected = frame(BINARY, payload);
  raw.socket.resume();
  raw.socket.write(masked(CLOSE, closePayload(1000)));
  const came = await raw.ended;
  const count = (came.length - 4) / expected.length;
  t.ok(count >= sent, `${count} of ${sent} came back`);
  let wrong = 0;
  for (let i = 0; i < count; i++) {
    if (!came.subarray(i * expected.length, (i + 1) * expected.length).equals(expected)) wrong++;
  }
  t.equal(wrong, 0, 'wrong replies');
  t.same(came.subarray(-4), frame(CLOSE, closePayload(1000)));
});

t.test('drops a client that does not read while the server pushes to it', async (t) => {
  await t.test('after twice the idle timeout, however often the server writes', async (t) => {
    const { server, port } = await startServer(t, { idleTimeout: 100 });
    const raw = await RawConnection.open(t, port);
    raw.socket.pause();
    const [connection] = server.connections;
    let pushes = 0;
    const timer = setInterval(() => {
      pushes++;
      connection.encoder.text('news');
      connection.flush();
    }, 10);
    await untilAllClosed(server);
    clearInterval(timer);
    t.ok(pushes > 1, `after ${pushes} messages`);
  });

  await t.test('a client that answers the Ping frames stays', async (t) => {
    const { server, port } = await startServer(t, { idleTimeout: 500 });
    const raw = await RawConnection.open(t, port);
    const [connection] = server.connections;
    const timer = setInterval(() => {
      connection.encoder.binary(Buffer.from('news'));
      connection.flush();
    }, 10);
    // Until four Ping frames have come, which takes four idle timeouts.
    let pings = 0;
    while (pings < 4) {
      const [first, length] = await raw.read(2);
      await raw.read(length);
      if (first !== 0x89) continue;
      pings++;
      raw.socket.write(masked(PONG, ''));
    }
    clearInterval(timer);
    t.equal(server.connections.size, 1);
  });

  await t.test('when more bytes wait than it may leave', async (t) => {
    const maxQueued = 4 * MIB;
    const { server, port } = await startServer(t, { maxQueued });
    const raw = await RawConnection.open(t, port);
    raw.socket.pause();
    const [connection] = server.connections;
    const news = Buffer.alloc(MIB);
    let most = 0;
    for (let i = 0; i < 100 && !connection.socket.destroyed; i++) {
      connection.encoder.binary(news);
      connection.flush();
      most = Math.max(most, connection.socket.writableLength);
      await sleep(0);
    }
    t.ok(connection.socket.destroyed);
    t.ok(most <= maxQueued + 2 * MIB, `${most} bytes waited`);
    await untilAllClosed(server);
  });
});

t.test('shutDown ends connections that have sent no request, or not all of one', async (t) => {
  const { server, port } = await startServer(t);
  const silent = new RawConnection(port);
  const begun = new RawConnection(port);
  begun.socket.write('GET / HTTP/1.1\r\n');
  for (let i = 0; i < 2; i++) await once(server, 'connection');
  const closed = once(server, 'close');
  shutDown(server);
  await Promise.all([silent.closed, begun.closed, closed]);
  // The teardown closes the server, so it must listen.
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

// The codec's own tests have tried it in JavaScript.
if (TRIES_ALL && !process.env.FRAMEMASK_KERNEL) {
  t.spawn(process.execPath, [__filename], { env: { ...process.env, FRAMEMASK_KERNEL: 'js' } }, 'in JavaScript');
}
