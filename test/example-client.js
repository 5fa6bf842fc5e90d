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
const {
  MIB,
  assertMessages,
  example,
  head,
  masked,
  open,
  randomMessages,
  run,
  startFalseServer,
  startServer,
  startWsServer,
  withResolvers
} = require('./support/connections');
const { CLOSE, PING, PONG, TEXT, closePayload, frame } = require('./support/frames');
const { TRIES_ALL } = require('./support/sample');

// examples/client.js over real connections, with FRAMEMASK_TEST=all also on JavaScript: with the echo
// server, with ws, and with servers that break the rules or disappear.

t.test('gets every byte back from the echo server and from ws', async (t) => {
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
          came.push({ data: Buffer.from(data), isBinary, isString: typeof data === 'string' });
          if (came.length === messages.length) this.close(1000);
        }
      });
      t.match(await closed, { code: 1000, error: null }, `${url}, text: '${form}'`);
      assertMessages(came, messages);
      const asString = ({ isBinary }) => form === 'string' && !isBinary;
      t.ok(
        came.every((message) => message.isString === asString(message)),
        `text: '${form}'`
      );
    }
  }
});

t.test('4.1: refuses an answer that lacks a header or has a wrong one', async (t) => {
  const cases = [
    [(lines) => ['HTTP/1.1 404 Not Found', 'Content-Length: 0', ...lines.slice(4)], /status is 404/],
    [(lines) => ['HTTP/1.1 200 OK', ...lines.slice(1)], /status is 200/],
    [(lines) => lines.slice(0, 3), /Sec-WebSocket-Accept/],
    [(lines) => [...lines.slice(0, 3), 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='], /Sec-WebSocket-Accept/],
    [(lines) => [lines[0], 'Upgrade: h2c', ...lines.slice(2)], /Upgrade is not websocket/],
    [(lines) => [lines[0], lines[1], lines[3]], /Connection lacks upgrade/],
    [(lines) => [lines[0], lines[1], 'Connection: close', lines[3]], /Connection lacks upgrade/],
    [(lines) => [...lines, 'Sec-WebSocket-Extensions: permessage-deflate'], /extension/],
    [(lines) => [...lines, 'Sec-WebSocket-Protocol: chat'], /subprotocol/],
    [() => ['SSH-2.0-OpenSSH'], /Parse Error/]
  ];
  for (const [change, message] of cases) {
    const url = await startFalseServer(t, (socket, lines) => socket.write(head(...change(lines))));
    const { closed } = open(url);
    const { code, error, calls } = await closed;
    t.match({ code, error }, { code: 1006, error: { message } }, `${message}`);
    await sleep(20);
    t.equal(calls(), 1, `${message}: calls of onClose`);
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
  const chunks = [];
  server.on('data', (chunk) => chunks.push(chunk)).resume();
  const answer = masked(PONG, last);
  const unmasked = () => {
    const bytes = Buffer.concat(chunks.splice(0));
    chunks.push(bytes);
    const end = bytes.subarray(-answer.length);
    const key = end.subarray(2, 6);
    return String(end.subarray(6).map((byte, i) => byte ^ key[i & 3]));
  };
  while (unmasked() !== last) await sleep(5);
  t.ok(chunks[0].length < 500 * 5000 * answer.length, 'most were not answered');
  socket.destroy();
});

t.test('a Close frame is sent before an end of the socket in the same turn', async (t) => {
  const { server, url } = await startWsServer(t);
  const connected = once(server, 'connection');
  const { opened, closed } = open(url);
  const connection = await opened;
  const [peer] = await connected;
  connection.close(4001, 'over');
  connection.socket.end();
  const [code, reason] = await once(peer, 'close');
  t.equal(code, 4001);
  t.equal(reason.toString(), 'over');
  await closed;
});

t.test('send returns false until onDrain; pause stops the server', async (t) => {
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
  t.equal(connection.send('x'), false, 'send in another turn');
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

t.test('examples/echo-server.js and examples/client.js as programs', async (t) => {
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
  const server = deflate.createEchoServer({ deflate: { contextTakeover: true } }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const compressed = await run([program, `ws://127.0.0.1:${server.address().port}`]);
  t.same(compressed, { stdout: ['permessage-deflate', ...REPLIES, ''].join('\n'), stderr: '', code: 0 });

  const { url } = await startServer(t);
  const plain = await run([program, url]);
  t.same(plain, { stdout: ['not compressed', ...REPLIES, ''].join('\n'), stderr: '', code: 0 });
});

t.test('a server that breaks the protocol, and one that refuses', async (t) => {
  const breaks = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, Buffer.from([0xff]))]));
  });
  t.match(await run([program, breaks]), { stdout: 'not compressed\n', stderr: /^FRAMEMASK_ERR_UTF8: /, code: 1 });
  const refuses = await startFalseServer(t, (socket) => socket.end(head('HTTP/1.1 404 Not Found')));
  t.match(await run([program, refuses]), { stdout: '', stderr: /The server answered with 404/, code: 1 });
});

// The codec's own tests have tried it in JavaScript. The last of all: the process beside this one
// removes the same folder of fixtures at its end.
if (TRIES_ALL && !process.env.FRAMEMASK_KERNEL) {
  t.spawn(process.execPath, [__filename], { env: { ...process.env, FRAMEMASK_KERNEL: 'js' } }, 'in JavaScript');
}
