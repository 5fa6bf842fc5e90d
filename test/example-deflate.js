'use strict';

// examples/deflate.js over real connections: its server with clients of ws, its client with servers
// of ws, with false ones, and both together.

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const zlib = require('node:zlib');
const t = require('tap');
const { WebSocket } = require('ws');
const { connect, createEchoServer } = require('../examples/deflate');
const {
  HANDSHAKE,
  MIB,
  RawConnection,
  assertMessages,
  example,
  head,
  listen,
  masked,
  randomMessages,
  request,
  run,
  startFalseServer,
  startWsEcho,
  startWsServer,
  withResolvers
} = require('./support/connections');
const { BINARY, TEXT, frame } = require('./support/frames');

const RSV1 = 0x40;

const startServer = (t, options) =>
  listen(t, createEchoServer({ maxPayload: 16 * MIB, closeTimeout: 1000, ...options }));

/** A client of the example; `closed` resolves to the arguments of onClose. */
async function open(t, url, options) {
  const closed = withResolvers();
  const connection = await connect(url, {
    maxPayload: 16 * MIB,
    closeTimeout: 1000,
    ...options,
    onClose: (code, error) => closed.resolve({ code, error })
  });
  t.teardown(() => connection.socket.destroy());
  return { connection, closed: closed.promise };
}

/** A client of the example and a server of ws, and the server's end of the connection. */
async function openToWs(t, options) {
  const { server, url } = await startWsServer(t, { perMessageDeflate: true });
  const connected = once(server, 'connection');
  const { connection, closed } = await open(t, url, options);
  const [peer] = await connected;
  return { connection, closed, peer };
}

/** Random messages, short enough to be compressed in a moment; some go to the thread pool. */
const someMessages = () => randomMessages().filter(({ data }) => data.length <= 131_072);

const TAKEOVER = { contextTakeover: true };
const NINE_BITS = { clientMaxWindowBits: 9, serverMaxWindowBits: 9 };

t.test('a client of ws gets every byte back, in order, with context takeover and without', async (t) => {
  for (const [deflate, perMessageDeflate] of [
    [undefined, true],
    [{ ...TAKEOVER, threadPoolFrom: 0, threshold: 0 }, NINE_BITS],
    [undefined, false]
  ]) {
    const { url } = await startServer(t, { deflate });
    const messages = someMessages();
    const client = new WebSocket(url, { perMessageDeflate });
    const came = [];
    client.on('message', (data, isBinary) => {
      came.push({ data, isBinary });
      if (came.length === messages.length) client.close(1000, 'bye');
    });
    await once(client, 'open');
    t.match(client.extensions, perMessageDeflate === false ? /^$/ : /^permessage-deflate/);
    for (const { data, isBinary } of messages) client.send(data, { binary: isBinary });
    t.equal((await once(client, 'close'))[0], 1000);
    assertMessages(came, messages);
  }
});

t.test('its client gets every byte back from ws', async (t) => {
  for (const [perMessageDeflate, deflate] of [
    [{}, undefined],
    [{ threshold: 0 }, { ...TAKEOVER, clientWindowBits: 9, threshold: 0 }],
    [false, undefined]
  ]) {
    const url = await startWsEcho(t, { perMessageDeflate });
    const messages = someMessages();
    const came = [];
    const { connection, closed } = await open(t, url, {
      deflate,
      onMessage(data, isBinary) {
        came.push({ data: Buffer.from(data), isBinary });
        if (came.length === messages.length) this.close(1000);
      }
    });
    t.equal(connection.deflate !== null, perMessageDeflate !== false);
    for (const { data, isBinary } of messages) connection.send(isBinary ? data : data.toString(), isBinary);
    t.match(await closed, { code: 1000, error: null });
    assertMessages(came, messages);
  }
});

t.test('a bomb is refused with 1009 and other connections go on', async (t) => {
  const { port, url } = await startServer(t, { maxPayload: 100_000 });
  const replied = withResolvers();
  const other = await open(t, url, { onMessage: (data) => replied.resolve(String(data)) });
  const raw = new RawConnection(port);
  t.teardown(() => raw.socket.destroy());
  raw.socket.write(head(...HANDSHAKE, 'Sec-WebSocket-Extensions: permessage-deflate'));
  await raw.readHead();
  raw.socket.write(masked(BINARY, zlib.deflateRawSync(Buffer.alloc(100_001)), { rsv: RSV1 }));
  t.equal((await raw.ended).toString('hex'), '880203f1', 'a Close frame with 1009');
  other.connection.send('still there?');
  t.equal(await replied.promise, 'still there?');
});

t.test('a client that does not read its replies makes the server stop reading', async (t) => {
  const { url, server } = await startServer(t, { deflate: { threadPoolFrom: 0 } });
  const accepted = once(server, 'connection');
  const { connection, closed } = await open(t, url, {
    onMessage() {
      received++;
      if (received === 41) this.close(1000);
    }
  });
  const [peer] = await accepted;
  let received = 0;
  connection.pause();
  connection.socket.pause();
  connection.send(randomBytes(100_000).toString('hex'));
  const data = randomBytes(500_000); // does not shrink
  for (let i = 0; i < 40; i++) connection.send(data);
  // The server has stopped once it has read nothing for 20 turns; it also pauses while it inflates.
  let read = 0;
  for (let turns = 0; turns < 20; turns++) {
    await sleep(5);
    if (peer.bytesRead !== read) turns = 0;
    read = peer.bytesRead;
  }
  t.ok(peer.bytesRead < 15 * MIB, `${peer.bytesRead} bytes of 20 MB were read`);
  t.ok(peer.writableLength < 4 * MIB, `${peer.writableLength} bytes wait`);
  t.equal(received, 0);
  connection.resume();
  t.match(await closed, { code: 1000 });
});

t.test('send returns false until onDrain', async (t) => {
  const { url } = await startServer(t);
  const drained = withResolvers();
  const { connection } = await open(t, url, { onDrain: drained.resolve });
  t.equal(connection.send('x'), true);
  t.equal(connection.send(randomBytes(MIB)), false);
  t.equal(connection.send('a'.repeat(MIB), false, { compress: true }), false);
  await drained.promise;
  t.equal(connection.isFull, false);
});

t.test('compress: false leaves a secret as it is', async (t) => {
  const { connection, peer } = await openToWs(t, { deflate: { threshold: 0 } });
  const chunks = [];
  peer._socket.prependListener('data', (chunk) => chunks.push(Buffer.from(chunk)));
  connection.send('secret'.repeat(10), false, { compress: false });
  t.equal(String((await once(peer, 'message'))[0]), 'secret'.repeat(10));
  connection.send('public'.repeat(10));
  t.equal(String((await once(peer, 'message'))[0]), 'public'.repeat(10));
  t.same(
    chunks.map(([firstByte]) => firstByte),
    [0x81, 0xc1]
  );
  t.ok(chunks[1].length < chunks[0].length);
});

t.test('ping, pong and close, from either end', async (t) => {
  const { closed, peer } = await openToWs(t);
  peer.ping('there');
  t.equal(String((await once(peer, 'pong'))[0]), 'there');
  peer.close();
  t.match(await closed, { code: 1005, error: null });

  const { url: ours } = await startServer(t);
  const client = new WebSocket(ours);
  await once(client, 'open');
  client.ping('you');
  t.equal(String((await once(client, 'pong'))[0]), 'you');
  client.close(4000);
  t.equal((await once(client, 'close'))[0], 4000);

  const lost = await open(t, ours);
  lost.connection.socket.destroy();
  t.match(await lost.closed, { code: 1006 });
});

t.test('a Close frame waits for the message that is compressed in the thread pool', async (t) => {
  const { connection, closed, peer } = await openToWs(t);
  connection.send('a'.repeat(MIB));
  connection.close(1000);
  t.equal((await once(peer, 'message'))[0].length, MIB);
  t.match(await closed, { code: 1000, error: null });
});

t.test('7.1 of RFC 7692: an answer that is none to the offer fails the connection', async (t) => {
  for (const [line, message] of [
    ['Sec-WebSocket-Extensions: permessage-deflate', /server_no_context_takeover/],
    ['Sec-WebSocket-Accept: wrong', /Sec-WebSocket-Accept/]
  ]) {
    const url = await startFalseServer(t, (socket, lines) => {
      socket.write(head(...lines.filter((other) => other.split(':')[0] !== line.split(':')[0]), line));
    });
    await t.rejects(connect(url), { message });
  }
  const refuses = await startFalseServer(t, (socket) => socket.write(head('HTTP/1.1 404 Not Found')));
  await t.rejects(connect(refuses), /404/);
  const breaks = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, 'x', { rsv: RSV1 })]));
  });
  const { closed } = await open(t, breaks);
  t.match(await closed, { code: 1006, error: { code: 'FRAMEMASK_ERR_RESERVED_BITS' } });
});

t.test('a request that is no handshake is refused', async (t) => {
  const { port } = await startServer(t);
  const wrong = HANDSHAKE.map((line) => line.replace(/Key: .*/, 'Key: short'));
  t.match(await request(t, port, head(...wrong)), /^HTTP\/1\.1 400 /);
  t.match(await request(t, port, head('GET / HTTP/1.1', 'Host: localhost', 'Connection: close')), /^HTTP\/1\.1 426 /);
});

t.test('as a program', async (t) => {
  const { stdout, stderr, code } = await run([example('deflate.js')]);
  t.same([stderr, code], ['', 0]);
  const lines = stdout.trimEnd().split('\n');
  t.same(
    [lines[0], lines[3]],
    ['permessage-deflate; server_no_context_takeover; client_no_context_takeover', 'permessage-deflate']
  );
  const received = [lines[1], lines[4]].map((line) => {
    const [, total, size] = /^102 replies, (\d+) bytes, the first 152781, the last 60: (\d+) received$/.exec(line);
    t.ok(size * 4 < total);
    return Number(size);
  });
  t.ok(received[1] < received[0], 'context takeover saves bytes');
  t.same([lines[2], lines[5]], ['closed 1000', 'closed 1000']);
});
