'use strict';

// examples/echo-server.js, client.js and msgpack.js over real connections, on the addon and on JavaScript: between
// themselves, with ws and undici at the other end, and with peers that break the rules, dawdle, or vanish. Autobahn|Testsuite,
// which scripts/autobahn.js runs on them, does not look at what is in a large message; here every byte is compared.

const t = require('tap');
const { spawn } = require('node:child_process');
const { createHash, randomBytes, randomInt } = require('node:crypto');
const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { setTimeout: sleep } = require('node:timers/promises');
const { WebSocket: UndiciWebSocket } = require('undici');
const { WebSocket, WebSocketServer } = require('ws');
const { kernel } = require('../index.js');
const { connect } = require('../examples/client');
const { createEchoServer, shutDown } = require('../examples/echo-server');
const { QUICK, judge, select } = require('../scripts/autobahn/cases');
const { BINARY, CLOSE, PING, PONG, TEXT, closePayload, frame } = require('./support/frames');

const KEY = Buffer.from('37fa213d', 'hex');
const MIB = 1024 * 1024;
/** Where headers change their size, where kernels and copies change their ways, and what lies between. */
const SIZES = [
  0,
  1,
  2,
  3,
  4,
  7,
  8,
  15,
  16,
  31,
  32,
  47,
  48,
  63,
  64,
  100,
  124,
  125,
  126,
  127,
  128,
  255,
  256,
  1000,
  1023,
  1024,
  4095,
  4096,
  4097,
  12345,
  16383,
  16384,
  16385,
  32767,
  32768,
  32769,
  65519,
  65520,
  65535,
  65536,
  65537,
  100000,
  131072,
  500001,
  MIB - 1,
  MIB,
  MIB + 1,
  2 * MIB + 3,
  4 * MIB - 1,
  4 * MIB
];

/** A text of so many bytes of UTF-8, with characters of one to four. */
function randomText(length) {
  let result = '';
  let left = length;
  while (left > 0) {
    const size = Math.min(left, randomInt(1, 5));
    const character = ['x', 'é', '世', '🜂'][size - 1];
    const count = Math.min(Math.floor(left / size), randomInt(1, 4000));
    result += character.repeat(count);
    left -= size * count;
  }
  return result;
}

/** Messages of all sizes, as Buffers, every other one text; of random sizes too, small ones mostly. */
function randomMessages() {
  const sizes = [...SIZES, ...Array.from({ length: 60 }, () => randomInt(2 ** randomInt(1, 20)))];
  sizes.sort(() => Math.random() - 0.5);
  return sizes.map((size, i) =>
    i % 2 === 0 ? { data: randomBytes(size), isBinary: true } : { data: Buffer.from(randomText(size)), isBinary: false }
  );
}

/** Fails the test unless what came is what was sent, byte by byte. */
function compare(t, came, sent) {
  t.equal(came.length, sent.length, 'as many messages');
  const wrong = sent.findIndex(({ data, isBinary }, i) => isBinary !== came[i].isBinary || !data.equals(came[i].data));
  t.equal(wrong, -1, 'every byte of them');
}

/** An echo server for one test. */
async function startServer(t, options) {
  const server = createEchoServer(options).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    for (const { socket } of server.connections) socket.destroy();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return { server, port: server.address().port, url: `ws://127.0.0.1:${server.address().port}` };
}

/** A server of ws for one test. */
async function startWsServer(t, options) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxFragments: 0, ...options });
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return { server, url: `ws://127.0.0.1:${server.address().port}` };
}

/** A server that answers a handshake as the test says: `answer` gets the socket, and what the answer should be. */
async function startFalseServer(t, answer) {
  const sockets = new Set();
  const server = net
    .createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', (request) => {
        const key = /Sec-WebSocket-Key: (\S+)/i.exec(request)[1];
        const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
        const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
        answer(socket, [...lines, `Sec-WebSocket-Accept: ${accept}`]);
      });
    })
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `ws://127.0.0.1:${server.address().port}`;
}

function head(...lines) {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const HANDSHAKE = [
  'GET / HTTP/1.1',
  'Host: localhost',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
];

/** A connection without any WebSocket code of ours or anyone's. */
class RawConnection {
  constructor(port, options) {
    this.socket = net.connect({ port, host: '127.0.0.1', ...options });
    this.socket.on('error', () => {});
    this.chunks = [];
    this.socket.on('data', (chunk) => this.chunks.push(chunk));
    this.ended = once(this.socket, 'end').then(() => this.bytes());
    this.ended.catch(() => {});
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  bytes() {
    return Buffer.concat(this.chunks);
  }

  /** Waits for so many bytes. */
  async read(length) {
    while (this.bytes().length < length) await once(this.socket, 'data');
    const bytes = this.bytes();
    this.chunks = [bytes.subarray(length)];
    return bytes.subarray(0, length);
  }

  /** Waits for the head of an HTTP answer. */
  async readHead() {
    while (!this.bytes().includes('\r\n\r\n')) await once(this.socket, 'data');
    return (await this.read(this.bytes().indexOf('\r\n\r\n') + 4)).toString();
  }

  static async open(t, port, options) {
    const raw = new RawConnection(port, options);
    t.teardown(() => raw.socket.destroy());
    raw.socket.write(head(...HANDSHAKE));
    const answer = await raw.readHead();
    t.match(answer, /^HTTP\/1\.1 101 /);
    // The key and the answer to it are those of RFC 6455, section 1.3.
    t.match(answer, /\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
    return raw;
  }
}

function masked(opcode, payload, options) {
  return frame(opcode, payload, { key: KEY, ...options });
}

/** Sends an HTTP request as it is, and returns all of the answer, or what of it came before the connection was reset. */
async function request(t, port, bytes) {
  const raw = new RawConnection(port);
  t.teardown(() => raw.socket.destroy());
  raw.socket.write(bytes);
  await raw.closed;
  return raw.bytes().toString();
}

/** A client of examples/client.js; `closed` settles with what onClose was called with. */
function open(url, handlers = {}) {
  const opened = withResolvers();
  const closed = withResolvers();
  let calls = 0;
  const connection = connect(url, {
    closeTimeout: 2000,
    ...handlers,
    onOpen() {
      handlers.onOpen?.call(this);
      opened.resolve(this);
    },
    onClose(code, reason, error) {
      calls++;
      closed.resolve({ code, reason, error, calls: () => calls });
      opened.reject(error);
    }
  });
  opened.promise.catch(() => {});
  return { connection, opened: opened.promise, closed: closed.promise };
}

function withResolvers() {
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}

t.comment(`kernel ${kernel}`);

t.test('the echo server and ws: every byte', async (t) => {
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
  compare(t, came, messages);
});

t.test('the echo server and undici: every byte', async (t) => {
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
  compare(t, came, messages);
});

t.test('the client and servers: every byte', async (t) => {
  const ours = await startServer(t);
  const theirs = await startWsServer(t);
  theirs.server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  for (const { url } of [ours, theirs]) {
    for (const form of ['buffer', 'string']) {
      const messages = randomMessages();
      const came = [];
      const { closed } = open(url, {
        text: form,
        onOpen() {
          for (const { data, isBinary } of messages)
            this.send(isBinary || form === 'buffer' ? data : `${data}`, isBinary);
        },
        onMessage(data, isBinary) {
          t.equal(typeof data === 'string', form === 'string' && !isBinary);
          came.push({ data: Buffer.from(data), isBinary });
          if (came.length === messages.length) this.close(1000);
        }
      });
      t.match(await closed, { code: 1000, error: null });
      compare(t, came, messages);
    }
  }
});

t.test('one byte at a time, and fragments with a Ping frame between them', async (t) => {
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

t.test('the replies to a whole read leave in one write', async (t) => {
  const { server, port } = await startServer(t);
  const raw = await RawConnection.open(t, port);
  const [{ socket }] = server.connections;
  let reads = 0;
  let writes = 0;
  socket.on('data', () => reads++);
  // What the stream hands to the connection: one of the two for each write, whatever was collected.
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

t.test('frames that come along with the handshake', async (t) => {
  const { port } = await startServer(t);
  const raw = new RawConnection(port);
  t.teardown(() => raw.socket.destroy());
  raw.socket.write(Buffer.concat([Buffer.from(head(...HANDSHAKE)), masked(TEXT, 'Hello'), masked(PING, 'x')]));
  t.match(await raw.readHead(), /^HTTP\/1\.1 101 /);
  t.same(await raw.read(10), Buffer.concat([frame(TEXT, 'Hello'), frame(PONG, 'x')]));
});

t.test('handshakes that are refused', async (t) => {
  const { port, server } = await startServer(t);
  const without = (name) => HANDSHAKE.filter((line) => !line.startsWith(name));
  const [get, ...headers] = HANDSHAKE;
  const key = 'Sec-WebSocket-Key: ';
  const cases = [
    [without('Upgrade'), /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [without('Connection'), /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [[...without('Upgrade'), 'Upgrade: h2c'], /^HTTP\/1\.1 426 .*Upgrade: websocket/s],
    [['POST / HTTP/1.1', ...headers, 'Content-Length: 0'], /^HTTP\/1\.1 400 /],
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
  while (server.connections.size > 0) await sleep(5);
});

t.test('peers that send no handshake, or a slow or a huge one', async (t) => {
  const { port } = await startServer(t, { headersTimeout: 200, requestTimeout: 400, connectionsCheckingInterval: 50 });
  // A server that closes while more is coming resets the connection; then its answer may be lost.
  t.match(await request(t, port, randomBytes(10000)), /^$|^HTTP\/1\.1 400 /);
  t.match(await request(t, port, masked(TEXT, 'Hello')), /^HTTP\/1\.1 400 /);
  t.match(await request(t, port, head(...HANDSHAKE).slice(0, -2)), /^HTTP\/1\.1 408 /);
  t.match(await request(t, port, head(...HANDSHAKE, `X: ${'x'.repeat(100000)}`)), /^$|^HTTP\/1\.1 431 /);
  const drip = new RawConnection(port);
  const timer = setInterval(() => drip.socket.write('G'), 20);
  await drip.closed;
  clearInterval(timer);
  t.match(drip.bytes().toString(), /^$|^HTTP\/1\.1 40[08] /);
});

t.test('what breaks the protocol is answered by a Close frame, and nothing after it by anything', async (t) => {
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
    t.same(await raw.ended, Buffer.concat([frame(TEXT, 'first'), frame(CLOSE, closePayload(code))]));
  }
  while (server.connections.size > 0) await sleep(5);
});

t.test('random bytes after the handshake', async (t) => {
  const { server, port } = await startServer(t, { closeTimeout: 300 });
  for (let i = 0; i < 50; i++) {
    const raw = await RawConnection.open(t, port);
    raw.socket.end(randomBytes(randomInt(1, 3000)));
    await raw.ended;
  }
  while (server.connections.size > 0) await sleep(5);
});

t.test('the closing handshake', async (t) => {
  await t.test('begun by the client', async (t) => {
    const { server, url, port } = await startServer(t);
    for (const [args, code] of [
      [[], 1005],
      [[1000], 1000],
      [[3999, 'why not'], 3999]
    ]) {
      const client = new WebSocket(url);
      await once(client, 'open');
      client.close(...args);
      t.equal((await once(client, 'close'))[0], code);
    }
    const raw = await RawConnection.open(t, port);
    raw.socket.write(
      Buffer.concat([masked(TEXT, 'last'), masked(CLOSE, closePayload(1001, 'x')), masked(TEXT, 'more')])
    );
    t.same(await raw.ended, Buffer.concat([frame(TEXT, 'last'), frame(CLOSE, closePayload(1001))]));
    while (server.connections.size > 0) await sleep(5);
  });

  await t.test('begun by the server, which goes on delivering', async (t) => {
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
    // For the teardown, which closes it too.
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  await t.test('a client that does not end its half is cut off', async (t) => {
    const { server, port } = await startServer(t, { closeTimeout: 100 });
    const raw = await RawConnection.open(t, port, { allowHalfOpen: true });
    raw.socket.write(masked(CLOSE, closePayload(1000)));
    await raw.ended;
    t.equal(server.connections.size, 1);
    // Nor does it help to go on sending.
    const timer = setInterval(() => raw.socket.write(masked(PING, 'x')), 10);
    while (server.connections.size > 0) await sleep(5);
    clearInterval(timer);
  });

  await t.test('a client that does not answer is cut off', async (t) => {
    const { server, port } = await startServer(t, { closeTimeout: 100 });
    const raw = await RawConnection.open(t, port);
    for (const connection of server.connections) connection.close(1000);
    t.same(await raw.ended, frame(CLOSE, closePayload(1000)));
    while (server.connections.size > 0) await sleep(5);
  });

  await t.test('a client that ends its half without a Close frame gets its replies', async (t) => {
    const { server, port } = await startServer(t);
    const raw = await RawConnection.open(t, port);
    raw.socket.end(Buffer.concat([masked(TEXT, 'Hello'), masked(TEXT, 'cut').subarray(0, 7)]));
    t.same(await raw.ended, frame(TEXT, 'Hello'));
    while (server.connections.size > 0) await sleep(5);
  });

  await t.test('a connection that is lost', async (t) => {
    const { server, port } = await startServer(t);
    const raw = await RawConnection.open(t, port);
    raw.socket.write(Buffer.concat([masked(PING, ''), masked(BINARY, '', { length: 1000 })]));
    await raw.read(2);
    raw.socket.resetAndDestroy();
    while (server.connections.size > 0) await sleep(5);
  });
});

t.test('a client that is silent is asked, and given up if it does not answer', async (t) => {
  const { server, port } = await startServer(t, { idleTimeout: 100 });
  const raw = await RawConnection.open(t, port);
  for (let i = 0; i < 3; i++) {
    t.same(await raw.read(2), frame(PING));
    t.equal(server.connections.size, 1);
    raw.socket.write(masked(PONG, ''));
  }
  t.same(await raw.read(2), frame(PING));
  await raw.closed;
  while (server.connections.size > 0) await sleep(5);
});

t.test('a client that does not read is not read from either', async (t) => {
  const { server, port } = await startServer(t);
  const raw = await RawConnection.open(t, port);
  raw.socket.pause();
  const [connection] = server.connections;
  const payload = randomBytes(50000);
  const messages = 1000;
  const one = masked(BINARY, payload);
  let sent = 0;
  while (sent < messages && (raw.socket.write(one) || raw.socket.writableLength < MIB)) {
    sent++;
    // Until the server has stopped reading, and what lies between is full.
    if (sent % 20 === 0) await sleep(1);
  }
  await sleep(100);
  t.ok(sent < messages, `stopped after ${sent}`);
  t.ok(connection.socket.isPaused());
  t.ok(connection.socket.writableLength < MIB, `${connection.socket.writableLength} bytes wait in the server`);
  t.equal(connection.encoder.pending, 0);

  // Once the client reads, everything comes.
  const expected = frame(BINARY, payload);
  raw.socket.resume();
  raw.socket.write(masked(CLOSE, closePayload(1000)));
  const came = await raw.ended;
  const count = (came.length - 4) / expected.length;
  t.ok(count >= sent, `${count} came back`);
  let wrong = 0;
  for (let i = 0; i < count; i++) {
    if (!came.subarray(i * expected.length, (i + 1) * expected.length).equals(expected)) wrong++;
  }
  t.equal(wrong, 0);
  t.same(came.subarray(-4), frame(CLOSE, closePayload(1000)));
});

t.test('the client: answers that are refused', async (t) => {
  const cases = [
    [(lines) => ['HTTP/1.1 404 Not Found', 'Content-Length: 0', ...lines.slice(4)], /status 404/],
    [(lines) => ['HTTP/1.1 200 OK', ...lines.slice(1)], /status 200/],
    [(lines) => lines.slice(0, 3), /Sec-WebSocket-Accept/],
    [(lines) => [...lines.slice(0, 3), 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='], /Sec-WebSocket-Accept/],
    [(lines) => [lines[0], 'Upgrade: h2c', ...lines.slice(2)], /upgrade to websocket/],
    [(lines) => [...lines, 'Sec-WebSocket-Extensions: permessage-deflate'], /extension/],
    [(lines) => [...lines, 'Sec-WebSocket-Protocol: chat'], /subprotocol/],
    [() => ['SSH-2.0-OpenSSH'], /Parse Error/]
  ];
  for (const [change, message] of cases) {
    const url = await startFalseServer(t, (socket, lines) => socket.write(head(...change(lines))));
    const { closed } = open(url);
    const { code, error, calls } = await closed;
    t.equal(code, 1006);
    t.match(error.message, message);
    await sleep(20);
    t.equal(calls(), 1);
  }

  const silent = open(await startFalseServer(t, () => {}), { handshakeTimeout: 100 });
  t.match(await silent.closed, { code: 1006, error: /too long/ });
  const dropped = open(await startFalseServer(t, (socket) => socket.destroy()));
  t.match(await dropped.closed, { code: 1006, error: { code: 'ECONNRESET' } });
  const { port } = await startServer(t);
  t.match(await open(`wss://127.0.0.1:${port}`).closed, { code: 1006, error: Error });
  t.throws(() => connect('http://127.0.0.1/', {}), RangeError);
  t.throws(() => connect('nonsense', {}), TypeError);
});

t.test('the client: servers that break the protocol, or vanish', async (t) => {
  await t.test('a masked frame, in the packet of the answer', async (t) => {
    const got = withResolvers();
    const url = await startFalseServer(t, (socket, lines) => {
      const chunks = [];
      socket.on('data', (chunk) => chunks.push(chunk)).on('end', () => got.resolve(Buffer.concat(chunks)));
      socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, 'first'), masked(TEXT, 'Hello')]));
    });
    const came = [];
    const { closed } = open(url, { onMessage: (data) => came.push(data) });
    const { code, error } = await closed;
    t.equal(code, 1006);
    t.equal(error.code, 'FRAMEMASK_ERR_MASK_UNWANTED');
    t.same(came, ['first']);
    const bytes = await got.promise;
    t.equal(bytes.length, 8, 'one Close frame');
    t.equal(bytes[0], 0x88);
    t.equal(((bytes[6] ^ bytes[2]) << 8) | (bytes[7] ^ bytes[3]), 1002);
  });

  await t.test('no end after a Close frame', async (t) => {
    const url = await startFalseServer(t, (socket, lines) => {
      socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(CLOSE, closePayload(1001, 'bye'))]));
    });
    t.match(await open(url, { closeTimeout: 100 }).closed, { code: 1001, reason: 'bye', error: null });
  });

  await t.test('no answer to a Close frame', async (t) => {
    const url = await startFalseServer(t, (socket, lines) => socket.write(head(...lines)));
    const { opened, closed } = open(url, { closeTimeout: 100 });
    (await opened).close(1000);
    t.match(await closed, { code: 1006, error: null });
  });

  await t.test('a connection that is lost', async (t) => {
    const { server, url } = await startWsServer(t);
    server.on('connection', (socket) => socket.on('message', () => socket._socket.resetAndDestroy()));
    const { closed } = open(url, {
      onOpen() {
        this.send('Hello');
      }
    });
    t.match(await closed, { code: 1006, error: { code: 'ECONNRESET' } });
  });

  await t.test('without any handlers', async (t) => {
    const { server, url } = await startWsServer(t);
    connect(url, {});
    const [socket] = await once(server, 'connection');
    socket.send('Hello');
    socket.ping();
    await once(socket, 'pong');
    socket.close();
    t.equal((await once(socket, 'close'))[0], 1005);
  });
});

t.test('the client: ping, pong, closing', async (t) => {
  const { server, url } = await startWsServer(t);
  const connected = once(server, 'connection');
  const pong = withResolvers();
  const { opened, closed } = open(url, { onPong: pong.resolve });
  const connection = await opened;
  const [peer] = await connected;
  connection.ping('Hello');
  t.equal((await pong.promise).toString(), 'Hello');
  peer.ping('there');
  t.equal((await once(peer, 'pong'))[0].toString(), 'there');
  connection.close(4000, 'enough');
  const [code, reason] = await once(peer, 'close');
  t.equal(code, 4000);
  t.equal(reason.toString(), 'enough');
  t.match(await closed, { code: 4000, error: null });
});

t.test('the client: send says when to wait, onDrain when to go on, pause stops the server', async (t) => {
  const { server, url } = await startWsServer(t);
  const connected = once(server, 'connection');
  const came = [];
  let drains = 0;
  const drained = withResolvers();
  const { opened, closed } = open(url, {
    onMessage(data) {
      came.push(data);
      if (came.length === 2) this.pause();
    },
    onDrain() {
      drains++;
      drained.resolve();
    }
  });
  const connection = await opened;
  const [peer] = await connected;

  let received = 0;
  peer.on('message', (data) => {
    received += data.length;
  });
  peer.pause();
  const data = randomBytes(40000);
  let sent = 0;
  do sent += data.length;
  while (connection.send(data) || sent < MIB);
  t.equal(drains, 0);
  t.equal(connection.send('x'), false, 'also in a turn of its own');
  sent += 1;
  peer.resume();
  await drained.promise;
  while (received < sent) await sleep(5);
  t.equal(received, sent);
  t.equal(connection.send('x'), true);

  for (let i = 0; i < 5; i++) peer.send(`${i}`);
  while (came.length < 2) await sleep(5);
  await sleep(50);
  t.same(came, ['0', '1']);
  connection.resume();
  while (came.length < 5) await sleep(5);
  t.same(came, ['0', '1', '2', '3', '4']);
  peer.close(1000);
  t.match(await closed, { code: 1000 });
});

t.test('scripts/autobahn.js takes nothing for passed that is not', async (t) => {
  t.equal(select(['*']).length, 301);
  t.same(select(['7.1.*', '2.1', '2.1', '9.*.9']), [
    '2.1',
    '7.1.1',
    '7.1.2',
    '7.1.3',
    '7.1.4',
    '7.1.5',
    '7.1.6',
    '9.3.9',
    '9.4.9'
  ]);
  t.same(select(['1.2.*1']), ['1.2.1'], 'ids are matched whole');
  t.throws(() => select(['2.1', '8.*']), RangeError);
  t.ok(select(QUICK).length > 100);

  const verdict = (behavior, behaviorClose = 'OK') => ({ behavior, behaviorClose });
  const good = { 2.1: verdict('OK'), '7.1.6': verdict('INFORMATIONAL', 'INFORMATIONAL') };
  t.same(judge(good, ['2.1', '7.1.6']), {
    counts: new Map([
      ['OK', 1],
      ['INFORMATIONAL', 1]
    ]),
    failures: []
  });
  t.same(judge({}, ['2.1']).failures, ['2.1 MISSING, closing MISSING']);
  t.same(judge(good, ['2.1']).failures, ['7.1.6 was not asked for']);
  t.same(judge({ 2.1: verdict('OK', 'UNCLEAN') }, ['2.1']).failures, ['2.1 OK, closing UNCLEAN']);
  for (const behavior of ['NON-STRICT', 'FAILED', 'UNIMPLEMENTED', 'WRONG CODE', 'INFORMATIONAL', 'CONSTRUCTOR']) {
    t.same(judge({ 2.1: verdict(behavior) }, ['2.1']).failures, [`2.1 ${behavior}`]);
  }
});

/** Runs a program to its end. */
async function run(args, environment = {}) {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...environment } });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { stdout, stderr, code };
}

function example(name) {
  return path.join(__dirname, '../examples', name);
}

t.test('the server and the client by hand', async (t) => {
  const child = spawn(process.execPath, [example('echo-server.js')], { env: { ...process.env, PORT: '0' } });
  const ended = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  const url = /^echo server: (ws:\/\/127\.0\.0\.1:\d+)\n$/.exec(line)[1];

  const good = await run([example('client.js'), url]);
  t.equal(good.stderr, '');
  t.equal(
    good.stdout,
    'text Hello\ntext Καλημέρα κόσμε\nbinary <Buffer de ad be ef>\npong are you there?\nclosed 1000 \n'
  );
  t.equal(good.code, 0);

  const client = new WebSocket(url);
  await once(client, 'open');
  child.kill('SIGTERM');
  const [code, reason] = await once(client, 'close');
  t.equal(code, 1001);
  t.equal(reason.toString(), 'The server is going away');
  t.same(await ended, [0, null]);

  const bad = await run([example('client.js'), url]);
  t.match(bad, { stdout: 'closed 1006 \n', stderr: /ECONNREFUSED/, code: 1 });
});

t.test('records of msgpackr', async (t) => {
  const good = await run([example('msgpack.js')]);
  t.equal(good.stderr, '');
  t.match(good.stdout, /^1000 records, \d+\.\d MB in frames, \d+ ms: all came as sent\n$/);
  t.equal(good.code, 0);

  // With a bit flipped in each record, it must notice.
  const folder = t.testdir({
    'flip.js': `const framemask = require(${JSON.stringify(path.join(__dirname, '../index.js'))});
      framemask.Decoder = class extends framemask.Decoder {
        constructor(options) {
          const { onMessage } = options;
          super({ ...options, onMessage(data, isBinary) { data[data.length - 1] ^= 1; onMessage(data, isBinary); } });
        }
      };`
  });
  const bad = await run(['--require', path.join(folder, 'flip.js'), example('msgpack.js')]);
  t.match(bad, { stdout: '', stderr: /\S/, code: 1 });
});

if (!process.env.FRAMEMASK_KERNEL) {
  t.spawn(process.execPath, [__filename], { env: { ...process.env, FRAMEMASK_KERNEL: 'js' } }, 'in JavaScript');
}
