'use strict';

// examples/echo-server.js over real connections: with ws and undici at the other end, and with
// clients that break the rules, are slow, or disappear. Autobahn|Testsuite, which
// test/system/autobahn runs on it, does not compare the bytes of large messages; this test compares
// each byte.

const { randomBytes } = require('node:crypto');
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

/** The teardown closes the server, so it must listen. */
function listenAgain(server) {
  return once(server.listen(0, '127.0.0.1'), 'listening');
}

for (const [name, Client, longest] of [
  ['ws', WebSocket, Number.POSITIVE_INFINITY],
  // It takes seconds for the messages of MiB.
  ['undici', UndiciWebSocket, 131_072]
]) {
  t.test(`echoes every byte to a client of ${name}`, async (t) => {
    const { url } = await startServer(t);
    const messages = randomMessages().filter(({ data }) => data.length <= longest);
    const client = new Client(url);
    client.binaryType = 'arraybuffer';
    const came = [];
    const closed = withResolvers();
    client.onclose = closed.resolve;
    client.onmessage = ({ data }) => {
      came.push({ data: Buffer.from(data), isBinary: typeof data !== 'string' });
      if (came.length === messages.length) client.close(3001, 'bye');
    };
    client.onopen = () => {
      for (const { data, isBinary } of messages) client.send(isBinary ? data : data.toString());
    };
    const { code, wasClean } = await closed.promise;
    t.same([code, wasClean], [3001, true]);
    assertMessages(came, messages);
  });
}

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

t.test('refuses what is not a handshake, and a handshake that is slow', async (t) => {
  const { port } = await startServer(t);
  const without = (name) => HANDSHAKE.filter((line) => !line.startsWith(name));
  const cases = [
    [head(...without('Upgrade')), /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [head(...without('Sec-WebSocket-Key')), /^HTTP\/1\.1 400 /],
    [masked(TEXT, 'Hello'), /^HTTP\/1\.1 400 /]
  ];
  for (const [bytes, expected] of cases) t.match(await request(t, port, bytes), expected);
  const limits = { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 };
  const { port: hasty } = await startServer(t, limits);
  t.match(await request(t, hasty, head(...HANDSHAKE).slice(0, -2)), /^HTTP\/1\.1 408 /);
});

t.test('7.1.7: answers a protocol error with a Close frame, and then ignores the client', async (t) => {
  const { server, port } = await startServer(t, { maxPayload: 1000 });
  const cases = [
    [frame(TEXT, 'not masked'), 1002],
    [masked(TEXT, Buffer.from('c328', 'hex')), 1007],
    [masked(TEXT, 'a'.repeat(1001)), 1009],
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

t.test('7.1: the closing handshake', async (t) => {
  await t.test('the client begins it', async (t) => {
    const { server, url, port } = await startServer(t);
    const client = new WebSocket(url);
    await once(client, 'open');
    client.close();
    t.equal((await once(client, 'close'))[0], 1005, 'without a code');
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
    await listenAgain(server);
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

t.test('5.5.2: pings a silent client, also while it writes to it, and drops it without an answer', async (t) => {
  const { server, port } = await startServer(t, { heartbeat: 500 });
  const raw = await RawConnection.open(t, port);
  const [connection] = server.connections;
  const timer = setInterval(() => {
    connection.send(Buffer.from('news'));
  }, 10);
  t.teardown(() => clearInterval(timer));
  // A client that answers stays: the second Ping frame comes after two idle timeouts.
  for (let pings = 0; pings < 2; ) {
    const [first, length] = await raw.read(2);
    await raw.read(length);
    if (first !== 0x89) continue;
    pings++;
    if (pings < 2) raw.socket.write(masked(PONG, ''));
  }
  t.equal(server.connections.size, 1);
  raw.socket.pause();
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

t.test('drops a client when more bytes wait for it than it may leave', async (t) => {
  const maxBackpressure = 4 * MIB;
  const { server, port } = await startServer(t, { maxBackpressure });
  const raw = await RawConnection.open(t, port);
  raw.socket.pause();
  const [connection] = server.connections;
  const news = Buffer.alloc(MIB);
  let most = 0;
  for (let i = 0; i < 100 && !connection.socket.destroyed; i++) {
    connection.send(news);
    most = Math.max(most, connection.socket.writableLength);
    await sleep(0);
  }
  t.ok(connection.socket.destroyed);
  t.ok(most <= maxBackpressure + 2 * MIB, `${most} bytes waited`);
  await untilAllClosed(server);
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
  await listenAgain(server);
});
