'use strict';

const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const ts = require('typescript');
const { WebSocket } = require('ws');
const { connect } = require('../examples/client');
const deflate = require('../examples/deflate');
const { Decoder } = require('..');
const {
  MIB,
  assertMessages,
  example,
  head,
  listen,
  masked,
  open,
  randomMessages,
  run,
  startFalseServer,
  startServer,
  startWsEcho,
  startWsServer,
  withResolvers
} = require('./support/connections');
const { CLOSE, PING, TEXT, closePayload, frame } = require('./support/frames');

// examples/client.js over real connections: with ws, with the echo server, and with servers that break
// the rules or disappear.

/** A connection to a server of ws, and the server's end of it. */
async function connectToWs(t, handlers) {
  const { server, url } = await startWsServer(t);
  const connected = once(server, 'connection');
  const { opened, closed } = open(url, handlers);
  const connection = await opened;
  const [peer] = await connected;
  return { connection, closed, peer };
}

t.test('gets every byte back from ws', async (t) => {
  const url = await startWsEcho(t);
  const messages = randomMessages();
  const came = [];
  const { closed } = open(url, {
    text: 'string',
    onOpen() {
      for (const { data, isBinary } of messages) this.send(isBinary ? data : `${data}`);
    },
    onMessage(data, isBinary) {
      came.push({ data: Buffer.from(data), isBinary: isBinary && typeof data !== 'string' });
      if (came.length === messages.length) this.close(1000);
    }
  });
  t.match(await closed, { code: 1000, error: null });
  assertMessages(came, messages);
});

t.test('4.1: refuses a wrong answer, and reports it once', async (t) => {
  const answer = (change) => (socket, lines) => socket.write(head(...change(lines)));
  const cases = [
    [answer(() => ['HTTP/1.1 404 Not Found', 'Content-Length: 0']), /status is 404/],
    [answer((lines) => [...lines.slice(0, 3), 'Sec-WebSocket-Accept: s3pPLMBi']), /Sec-WebSocket-Accept/],
    [answer(() => ['SSH-2.0-OpenSSH']), /Parse Error/],
    [(socket) => socket.destroy(), { code: 'ECONNRESET' }],
    [() => {}, /too long/]
  ];
  const ends = [];
  for (const [behave, error] of cases) {
    const { closed } = open(await startFalseServer(t, behave), {
      handshakeTimeout: behave.length === 0 ? 100 : 10_000
    });
    const end = await closed;
    t.match(end, { code: 1006, error: error instanceof RegExp ? { message: error } : error }, String(error));
    ends.push(end);
  }
  const { port } = await startServer(t);
  t.match(await open(`wss://127.0.0.1:${port}`).closed, { code: 1006, error: Error });
  t.same(
    ends.map(({ calls }) => calls()),
    [1, 1, 1, 1, 1],
    'calls of onClose'
  );
  t.throws(() => connect('http://127.0.0.1/', {}), RangeError);
  t.throws(() => connect('nonsense', {}), TypeError);
});

t.test('servers that break the protocol or disappear', async (t) => {
  await t.test('5.1: a masked frame, in the packet of the answer', async (t) => {
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

  await t.test('7.1.1: no end of the connection after a Close frame', async (t) => {
    const url = await startFalseServer(t, (socket, lines) => {
      socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(CLOSE, closePayload(1001, 'bye'))]));
    });
    t.match(await open(url, { closeTimeout: 100 }).closed, { code: 1001, reason: 'bye', error: null });
  });

  await t.test('7.1.2: no answer to a Close frame', async (t) => {
    const url = await startFalseServer(t, (socket, lines) => socket.write(head(...lines)));
    const { opened, closed } = open(url, { closeTimeout: 100 });
    (await opened).close(1000);
    t.match(await closed, { code: 1006, error: null });
  });

  await t.test('a connection is lost', async (t) => {
    const { server, url } = await startWsServer(t);
    server.on('connection', (socket) => socket.on('message', () => socket._socket.resetAndDestroy()));
    const { closed } = open(url, {
      onOpen() {
        this.send('Hello');
      }
    });
    t.match(await closed, { code: 1006, error: { code: 'ECONNRESET' } });
  });

  await t.test('a client without handlers', async (t) => {
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

t.test('5.5: ping, pong and close', async (t) => {
  const pong = withResolvers();
  const { connection, closed, peer } = await connectToWs(t, { onPong: pong.resolve });
  connection.ping('Hello');
  t.equal((await pong.promise).toString(), 'Hello');
  peer.ping('there');
  t.equal((await once(peer, 'pong'))[0].toString(), 'there');
  connection.close(4000, 'enough');
  connection.socket.end(); // the Close frame has been sent
  const [code, reason] = await once(peer, 'close');
  t.same([code, `${reason}`], [4000, 'enough']);
  t.match(await closed, { code: 4000, error: null });
});

t.test('5.5.3: answers only the last Ping frame of a server that does not read', async (t) => {
  const peer = withResolvers();
  const url = await startFalseServer(t, (socket, lines) => {
    socket.write(head(...lines));
    socket.pause();
    peer.resolve(socket);
  });
  const { opened } = open(url);
  const { socket } = await opened;
  const server = await peer.promise;
  const pings = Buffer.concat(Array(5000).fill(frame(PING, 'x'.repeat(11))));
  const last = 'last'.padEnd(11);
  // The buffers of the system take some MiB of the answers.
  let most = 0;
  for (let i = 0; i < 500; i++) {
    if (!server.write(pings)) await once(server, 'drain');
    most = Math.max(most, socket.writableLength);
  }
  t.ok(socket.writableNeedDrain);
  t.ok(most < MIB, `${most} bytes wait`);

  server.write(frame(PING, last));
  const pongs = [];
  const reader = new Decoder({ role: 'server', onPong: (payload) => pongs.push(`${payload}`) });
  server.on('data', (chunk) => reader.write(chunk)).resume();
  while (pongs.at(-1) !== last) await once(server, 'data');
  t.ok(pongs.length < 500 * 5000, 'most were not answered');
  socket.destroy();
});

t.test('send returns false until onDrain; pause stops the server', async (t) => {
  const came = [];
  let drains = 0;
  const drained = withResolvers();
  const { connection, closed, peer } = await connectToWs(t, {
    onMessage(data) {
      came.push(data);
      if (came.length === 2) this.pause();
    },
    onDrain() {
      drains++;
      drained.resolve();
    }
  });

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
  t.equal(connection.send('x'), false, 'send in another turn');
  sent += 1;
  peer.resume();
  await drained.promise;
  while (received < sent) await sleep(5);
  t.equal(received, sent);
  t.equal(connection.send('x'), true);

  for (let i = 0; i < 5; i++) peer.send(`${i}`);
  while (came.length < 2) await sleep(5);
  // All five have come in one read or wait in the socket: none is delivered meanwhile.
  connection.ping();
  await once(peer, 'ping');
  t.same(came, ['0', '1']);
  connection.resume();
  while (came.length < 5) await sleep(5);
  t.same(came, ['0', '1', '2', '3', '4']);
  peer.close(1000);
  t.match(await closed, { code: 1000 });
});

t.test('examples/echo-server.js and examples/client.js as programs', async (t) => {
  const child = spawn(process.execPath, [example('echo-server.js')], { env: { ...process.env, PORT: '0' } });
  const ended = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  const url = /^echo server: (ws:\/\/127\.0\.0\.1:\d+)\n$/.exec(line)[1];

  const good = await run([example('client.js'), url]);
  const printed = 'text Hello\ntext Καλημέρα κόσμε\nbinary <Buffer de ad be ef>\npong are you there?\nclosed 1000 \n';
  t.same(good, { stdout: printed, stderr: '', code: 0 });

  const client = new WebSocket(url);
  await once(client, 'open');
  child.kill('SIGTERM');
  const [code, reason] = await once(client, 'close');
  t.same([code, `${reason}`], [1001, 'The server is going away']);
  t.same(await ended, [0, null]);

  const bad = await run([example('client.js'), url]);
  t.match(bad, { stdout: 'closed 1006 \n', stderr: /ECONNREFUSED/, code: 1 });
});

// examples/client-esm.mts, which `npm run lint` type-checks, with its types stripped: on Node.js 20
// it does not run by itself.

const source = fs.readFileSync(example('client-esm.mts'), 'utf8');
const { ESNext } = ts.ModuleKind;
const { outputText } = ts.transpileModule(source, {
  compilerOptions: { module: ESNext, target: ts.ScriptTarget.ES2022 }
});
// Inside the checkout, so that `framemask` is this package.
const program = path.join(t.testdir({ 'client-esm.mjs': outputText }), 'client-esm.mjs');

const REPLIES = ['5 characters: Hello', '3000 characters: Καλημέρα κόσμε', '4 bytes: deadbeef', 'closed 1000'];

t.test('with a server that compresses, and with one that does not', async (t) => {
  const compressing = await listen(t, deflate.createEchoServer({ deflate: { contextTakeover: true } }));
  t.same(await run([program, compressing.url]), {
    stdout: ['permessage-deflate', ...REPLIES, ''].join('\n'),
    stderr: '',
    code: 0
  });

  const { url } = await startServer(t);
  t.same(await run([program, url]), { stdout: ['not compressed', ...REPLIES, ''].join('\n'), stderr: '', code: 0 });
});

t.test('a server that breaks the protocol, and one that refuses', async (t) => {
  const breaks = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, Buffer.from([0xff]))]));
  });
  t.match(await run([program, breaks]), { stdout: 'not compressed\n', stderr: /^FRAMEMASK_ERR_UTF8: /, code: 1 });
  const refuses = await startFalseServer(t, (socket) => socket.end(head('HTTP/1.1 404 Not Found')));
  t.match(await run([program, refuses]), { stdout: '', stderr: /The server answered with 404/, code: 1 });
});
