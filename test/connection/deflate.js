'use strict';

// Connections that compress, over real sockets: servers with clients of ws, clients with servers of
// ws and with false ones, and both together.

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const { Duplex } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const zlib = require('node:zlib');
const t = require('tap');
const { WebSocket } = require('ws');
const { Connection, Decoder } = require('../..');
const { countDeflated } = require('../../lib/shared/turn');
const {
  HANDSHAKE,
  MIB,
  RawConnection,
  assertMessages,
  head,
  listen,
  masked,
  randomMessages,
  startFalseServer,
  startServer,
  startWsEcho,
  startWsServer,
  withResolvers
} = require('../support/connections');
const { agree, deflateByZlib } = require('../support/deflate');
const { BINARY, KEY, TEXT, frame, readFrame } = require('../support/frames');
const { until } = require('../support/promises');
const { memoryPair } = require('../support/stream-pairs');

const RSV1 = 0x40;

/** An echo server. */
const startEcho = (t, { deflate = true, ...options } = {}) =>
  startServer(t, { closeTimeout: 1000, ...options, deflate });

/** A client; `closed` resolves to the code of `onClose`, and the error before it. */
async function open(t, url, { deflate = true, ...options } = {}) {
  const closed = withResolvers();
  let error = null;
  const connection = await Connection.connect(url, {
    maxPayload: 16 * MIB,
    maxBackpressure: Infinity,
    closeTimeout: 1000,
    text: 'buffer',
    ...options,
    deflate,
    onError(given) {
      error = given;
    },
    onClose: (code) => closed.resolve({ code, error })
  });
  t.teardown(() => connection.terminate());
  return { connection, closed: closed.promise };
}

/** A client and a server of ws, and the server's end of the connection. */
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
    const { url } = await startEcho(t, { deflate });
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

t.test('a client gets every byte back from ws', async (t) => {
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
    for (const { data, isBinary } of messages) connection.send(isBinary ? data : data.toString());
    t.match(await closed, { code: 1000, error: null });
    assertMessages(came, messages);
  }
});

t.test('a bomb is refused with 1009 and other connections go on', async (t) => {
  const { port, url } = await startEcho(t, { maxPayload: 100_000 });
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
  const { url, server } = await startEcho(t, { deflate: { threadPoolFrom: 0 } });
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

for (const [title, size, most] of [
  ['on the event loop', 2000, 20_000],
  ['in the thread pool', 40_000, 2000]
]) {
  t.test(`a peer is heard amid messages without end, which are compressed ${title}`, async (t) => {
    const data = 'some words that shrink. '.repeat(size / 24);
    const heard = [];
    let sent = 0;
    const options = {
      deflate: true,
      onMessage(text) {
        const next = (error) => {
          if (!error && sent++ < most) this.send(data, next);
        };
        if (heard.length === 0) for (let i = 0; i < 3; i++) next();
        heard.push([text, sent < most]);
        if (heard.length === 3) this.close(1000);
      }
    };
    const server = http.createServer().on('upgrade', (...upgrade) => Connection.accept(...upgrade, options));
    const { url } = await listen(t, server);
    const { closed, connection } = await open(t, url);
    for (const text of ['go', 'please', 'stop']) {
      connection.send(text);
      await sleep(5);
    }
    t.equal((await closed).code, 1000);
    t.same(heard, [
      ['go', true],
      ['please', true],
      ['stop', true]
    ]);
  });
}

t.test('send returns false until onDrain, while a message is in the thread pool', async (t) => {
  const { url } = await startEcho(t);
  const drained = withResolvers();
  const { connection } = await open(t, url, { onDrain: drained.resolve });
  t.equal(connection.send('x'), true);
  t.equal(connection.send('a'.repeat(MIB)), false);
  t.equal(connection.send('x'), false);
  await drained.promise;
  t.equal(connection.send('x'), true);
});

t.test('onDrain waits for the thread pool where the stream has drained before it', async (t) => {
  const waiting = [];
  const stream = new Duplex({
    read() {},
    write: (_chunk, _encoding, callback) => waiting.push(callback),
    writev: (_chunks, callback) => waiting.push(callback)
  });
  let drained = 0;
  const deflate = agree({ threadPoolFrom: 0 }).server;
  const connection = new Connection(stream, 'server', { deflate, onDrain: () => drained++ });
  t.notOk(connection.send(Buffer.alloc(200_000), { compress: false }));
  t.notOk(connection.send(Buffer.alloc(8 * MIB)), 'the pool has more than 64 KiB');
  const streamDrained = once(stream, 'drain');
  waiting.shift()();
  await streamDrained;
  t.equal(drained, 0);
  while (waiting.length === 0) await sleep(1);
  waiting.shift()();
  await new Promise(setImmediate);
  t.equal(drained, 1);
  connection.terminate();
});

t.test('onDrain waits where the program sends again before its turn', async (t) => {
  const waiting = [];
  const stream = new Duplex({ read() {}, write: (_chunk, _encoding, callback) => waiting.push(callback) });
  let drained = 0;
  const connection = new Connection(stream, 'server', { onDrain: () => drained++ });
  t.notOk(connection.send(Buffer.alloc(200_000)));
  const streamDrained = once(stream, 'drain').then(() => t.notOk(connection.send(Buffer.alloc(200_000))));
  // This turn of the event loop has seen enough.
  countDeflated(2 * MIB);
  while (waiting.length !== 0) waiting.shift()();
  await streamDrained;
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  t.equal(drained, 0);
  while (drained === 0) {
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  t.equal(drained, 1);
  connection.terminate();
});

t.test('compress: false leaves a secret as it is', async (t) => {
  const accepted = withResolvers();
  const { header } = agree().server;
  const url = await startFalseServer(t, (socket, lines) => {
    socket.write(head(...lines, `Sec-WebSocket-Extensions: ${header}`));
    accepted.resolve(socket);
  });
  const { connection } = await open(t, url, { deflate: { threshold: 0 } });
  const socket = await accepted.promise;
  const frameOf = async (text, options) => {
    connection.send(text, options);
    return readFrame((await once(socket, 'data'))[0]);
  };
  const secret = await frameOf('secret'.repeat(10), { compress: false });
  t.equal(secret.header[0], 0x80 | TEXT);
  t.equal(String(secret.payload), 'secret'.repeat(10));
  const other = await frameOf('public'.repeat(10));
  t.equal(other.header[0], 0x80 | RSV1 | TEXT);
  const finishFlush = zlib.constants.Z_SYNC_FLUSH;
  t.equal(String(zlib.inflateRawSync(other.payload, { finishFlush })), 'public'.repeat(10));
});

t.test('ping, pong and close, from either end', async (t) => {
  const { closed, peer } = await openToWs(t);
  peer.ping('there');
  t.equal(String((await once(peer, 'pong'))[0]), 'there');
  peer.close();
  t.match(await closed, { code: 1005, error: null });

  const { url: ours } = await startEcho(t);
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
    await t.rejects(Connection.connect(url, { deflate: true }), { message });
  }
  const breaks = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, 'x', { rsv: RSV1 })]));
  });
  const { closed } = await open(t, breaks);
  t.match(await closed, { code: 1006, error: { code: 'FRAMEMASK_ERR_RESERVED_BITS' } });
});

/** A server whose peer sends messages of 60 KB in a read of few bytes, and the stream of that peer. */
function openExpanding(count, options) {
  const [stream, peer] = memoryPair();
  const agreement = agree({ contextTakeover: false });
  const deflated = deflateByZlib('a'.repeat(60_000));
  const connection = new Connection(stream, 'server', options, { deflate: agreement.server });
  peer.write(Buffer.concat(Array(count).fill(frame(TEXT, deflated, { rsv: RSV1, key: KEY }))));
  return { connection, peer, deflate: agreement.client };
}

t.test('replies to a compressed read of many messages wait until those before have left', async (t) => {
  const COUNT = 300;
  let heard = 0;
  let most = 0;
  const { connection, peer, deflate } = openExpanding(COUNT, {
    maxBackpressure: 8 * MIB,
    onMessage(data) {
      heard++;
      this.send(data);
      most = Math.max(most, this.bufferedAmount);
    }
  });
  const received = new Decoder({ role: 'client', deflate, onMessage() {} });
  peer.on('data', (chunk) => received.write(chunk));
  await until(() => received.framesRead === COUNT);
  t.equal(heard, COUNT);
  t.ok(most < 6 * MIB, `${most} bytes waited of ${COUNT * 60_000}`);
  connection.terminate();
});

t.test('a peer that reads nothing of those replies, and goes, is told of', async (t) => {
  let heard = 0;
  const closed = withResolvers();
  const { connection, peer } = openExpanding(300, {
    onMessage(data) {
      heard++;
      this.send(data, { compress: false });
    },
    onError() {},
    onClose: closed.resolve
  });
  await until(() => connection.bufferedAmount > 64 * 1024);
  for (let before = -1; before !== heard; await sleep(50)) before = heard;
  t.ok(heard < 300, `${heard} have been heard`);
  peer.destroy();
  t.equal(await closed.promise, 1006);
});
