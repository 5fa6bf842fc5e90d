'use strict';

// Connection.accept and Connection.connect, over real sockets.

const { channel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const { text } = require('node:stream/consumers');
const t = require('tap');
const { WebSocket, WebSocketServer } = require('ws');
const { Connection, acceptHttp2, overHttp2, prepare, refuseUpgrade } = require('../..');
const certificate = require('../support/certificate');
const { outputOf } = require('../support/child');
const {
  assertMessages,
  listen,
  masked,
  randomMessages,
  startFalseServer,
  startWsEcho
} = require('../support/connections');
const { CLOSE, HANDSHAKE, KEY, TEXT, frame, head } = require('../support/frames');
const { withResolvers } = require('../support/promises');
const { memoryPair } = require('../support/stream-pairs');

/** A server whose connections send each message back. */
async function startEcho(t, { server = http.createServer(), options = {}, own = {} } = {}) {
  const connections = [];
  const all = {
    onMessage(data, isBinary) {
      this.send(data, { binary: isBinary });
    },
    ...options
  };
  server.on('upgrade', (request, socket, head) => {
    const connection = Connection.accept(request, socket, head, all, own);
    if (connection !== null) connections.push(connection);
  });
  return { ...(await listen(t, server)), connections };
}

/** A client that resolves `messages` when so many came, and `closed` with `onClose`'s arguments. */
function handlersFor(count) {
  const messages = withResolvers();
  const closed = withResolvers();
  const got = [];
  const options = {
    onMessage(data) {
      if (got.push(data) === count) messages.resolve(got);
    },
    onClose: (...args) => closed.resolve(args)
  };
  return { options, got, messages: messages.promise, closed: closed.promise };
}

const SERVERS = {
  'ws:': [http.createServer, {}],
  'wss:': [() => https.createServer(certificate), { rejectUnauthorized: false }],
  'wss: over HTTP/2': [
    () => acceptHttp2(http2.createSecureServer({ ...certificate, allowHTTP1: true })),
    { rejectUnauthorized: false, createConnection: overHttp2() }
  ]
};

for (const [scheme, [createServer, clientOptions]] of Object.entries(SERVERS)) {
  t.test(`a client and a server: ${scheme}`, async (t) => {
    const server = createServer();
    const { port, connections } = await startEcho(t, {
      server,
      options: { deflate: { threshold: 0 } },
      own: { protocol: 'chat', context: { name: 'Ada' }, headers: { 'X-Server': 'test' } }
    });
    const { options, messages, closed } = handlersFor(3);
    const connection = await Connection.connect(
      `${scheme.slice(0, 4).replace(/ $/, '')}//127.0.0.1:${port}/path?query`,
      {
        ...options,
        ...clientOptions,
        protocols: ['other', 'chat'],
        deflate: true,
        context: 7
      }
    );
    t.match(connection, { role: 'client', protocol: 'chat', context: 7, readyState: 1 });
    t.match(connections[0], { role: 'server', protocol: 'chat', context: { name: 'Ada' } });
    for (const end of [connection, connections[0]]) t.match(end.deflate.header, /^permessage-deflate/);
    connection.send('Hello');
    connection.send(Buffer.from('bytes'));
    const sent = withResolvers();
    connection.send('large enough for the thread pool '.repeat(4000), sent.resolve);
    t.equal(connection.send('while that waits', {}), false);
    t.notOk(await sent.promise);
    const [first, second, third] = await messages;
    t.same([first, `${second}`, third.length], ['Hello', 'bytes', 33 * 4000]);
    connection.close(1000, 'bye');
    t.same(await closed, [1000, '']);
    server.close();
  });
}

t.test('nothing is delivered before the code after await has run', async (t) => {
  const url = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(1, 'early'), frame(8, '')]));
  });
  const { options, got, messages, closed } = handlersFor(1);
  const connect = async () => Connection.connect(url, options);
  const connection = await connect();
  await null;
  t.same(got, []);
  connection.pause();
  await new Promise(setImmediate);
  t.same(got, []);
  connection.resume();
  t.same(await messages, ['early']);
  t.equal(connection.readyState, 2);
  connection.socket.destroy();
  t.same(await closed, [1005, '']);
});

t.test('a login that takes time loses no message', async (t) => {
  const { url, connections } = await startEcho(t, { own: { paused: true } });
  const client = new WebSocket(url);
  await once(client, 'open');
  client.send('first');
  await new Promise((resolve) => client.ping('', undefined, resolve));
  const [connection] = connections;
  connection.context = await Promise.resolve('a user');
  connection.resume();
  t.equal(`${(await once(client, 'message'))[0]}`, 'first');
  client.close();
});

t.test('a server of ws', async (t) => {
  const server = http.createServer();
  new WebSocketServer({ server }).on('connection', (socket, request) => {
    socket.send(request.headers['x-token']);
    socket.close(4000, 'enough');
  });
  const { url } = await listen(t, server);
  const { options, messages, closed } = handlersFor(1);
  await Connection.connect(new URL(url), { ...options, headers: { 'X-Token': 'secret', 'sec-websocket-key': 'no' } });
  t.same(await messages, ['secret']);
  t.same(await closed, [4000, 'enough']);
});

t.test('every byte comes back from ws', async (t) => {
  const messages = randomMessages();
  const { options, messages: got, closed } = handlersFor(messages.length);
  // All wait at once, of one run in forty more than the 16 MiB of the default.
  const settings = { ...options, maxBackpressure: Number.POSITIVE_INFINITY };
  const connection = await Connection.connect(await startWsEcho(t), settings);
  for (const { data, isBinary } of messages) connection.send(isBinary ? data : `${data}`);
  const came = (await got).map((data) => ({ data: Buffer.from(data), isBinary: typeof data !== 'string' }));
  assertMessages(came, messages);
  connection.close(1000);
  t.same(await closed, [1000, '']);
});

t.test('a server that breaks a rule in the packet of the answer', async (t) => {
  const sent = withResolvers();
  const url = await startFalseServer(t, (socket, lines) => {
    const chunks = [];
    socket.on('data', (chunk) => chunks.push(chunk)).on('end', () => sent.resolve(Buffer.concat(chunks)));
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(1, 'first'), masked(1, 'Hello')]));
  });
  const { options, got, closed } = handlersFor(1);
  const error = withResolvers();
  await Connection.connect(url, { ...options, onError: error.resolve });
  t.equal((await error.promise).code, 'FRAMEMASK_ERR_MASK_UNWANTED');
  t.same(await closed, [1006, '']);
  t.same(got, ['first']);
  const bytes = await sent.promise;
  t.equal(bytes.length, 8, 'one Close frame');
  t.equal(bytes[0], 0x88);
  t.equal(((bytes[6] ^ bytes[2]) << 8) | (bytes[7] ^ bytes[3]), 1002);
});

t.test('connect rejects', async (t) => {
  const server = http
    .createServer()
    .on('upgrade', (_request, socket) => refuseUpgrade(socket, 401, { 'X-Why': 'login' }));
  const { url } = await listen(t, server);
  const refused = { code: 'FRAMEMASK_ERR_HANDSHAKE', statusCode: 401, headers: { 'x-why': 'login' } };
  await t.rejects(Connection.connect(url), refused);
  const answers = (change) => startFalseServer(t, (socket, lines) => socket.write(head(...change(lines))));
  const wrong = await answers((lines) => [...lines.slice(0, 3), 'Sec-WebSocket-Accept: s3pPLMBi']);
  await t.rejects(Connection.connect(wrong), { code: 'FRAMEMASK_ERR_HANDSHAKE', statusCode: 101 });
  const redirect = await answers(() => ['HTTP/1.1 302 Found', 'Location: /elsewhere', 'Content-Length: 0']);
  await t.rejects(Connection.connect(redirect), { statusCode: 302, headers: { location: '/elsewhere' } });
  const silent = await startFalseServer(t, () => {});
  await t.rejects(Connection.connect(silent, { handshakeTimeout: 20 }), { code: 'FRAMEMASK_ERR_HANDSHAKE_TIMEOUT' });
  await t.rejects(Connection.connect('ws://127.0.0.1:1'), { code: 'ECONNREFUSED' });
  const otherProtocol = await answers(() => ['SSH-2.0-OpenSSH']);
  await t.rejects(Connection.connect(otherProtocol), /Parse Error/);
  const noTls = { code: /^(EPROTO|ECONNRESET|ERR_SSL_WRONG_VERSION_NUMBER)$/ };
  await t.rejects(Connection.connect(url.replace('ws:', 'wss:')), noTls);
  const resets = await startFalseServer(t, (socket) => socket.destroy());
  await t.rejects(Connection.connect(resets), { code: 'ECONNRESET' });
  await t.rejects(Connection.connect('http://127.0.0.1'), { code: 'ERR_INVALID_ARG_VALUE' });
  await t.rejects(Connection.connect('ws://127.0.0.1#part'), { code: 'ERR_INVALID_ARG_VALUE' });
  // Deno's error has no code.
  const badUrl = process.versions.deno ? { message: /^Invalid URL/ } : { code: 'ERR_INVALID_URL' };
  await t.rejects(Connection.connect('nonsense'), badUrl);
  await t.rejects(Connection.connect(silent, { onMessage: 1 }), { code: 'ERR_INVALID_ARG_TYPE' });
  await t.rejects(Connection.connect(silent, { paused: 1 }), { code: 'ERR_INVALID_ARG_TYPE' });
  await t.rejects(Connection.connect(silent, { trace: { id: 1 } }), { code: 'ERR_INVALID_ARG_TYPE' });
  await t.rejects(Connection.connect(silent, { handshaketimeout: 1 }), { code: 'ERR_INVALID_ARG_VALUE' });
  await t.rejects(Connection.connect(silent, { handshakeTimeout: 0 }), { code: 'ERR_OUT_OF_RANGE' });
  await t.rejects(Connection.connect(silent, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  const controller = new AbortController();
  const aborted = Connection.connect(silent, { signal: controller.signal });
  controller.abort(new Error('no longer needed'));
  await t.rejects(aborted, { message: 'no longer needed' });
});

t.test('accept takes the options of one connection in either object, and those that are shared in one', async (t) => {
  const heard = [];
  const accepted = withResolvers();
  const server = http.createServer().on('upgrade', (...upgrade) => {
    const onMessage = (data) => heard.push(data);
    for (const wrong of [{ onMessage }, { maxPayload: 1 }, { heartbeat: 1 }]) {
      t.throws(() => Connection.accept(...upgrade, {}, wrong), { code: 'ERR_INVALID_ARG_VALUE' });
    }
    for (const wrong of [{ onFrame: onMessage }, { rsv1: true }, { skipUTF8Validation: true }, { onInflated() {} }]) {
      t.throws(() => Connection.accept(...upgrade, wrong), { code: 'ERR_INVALID_ARG_VALUE' });
    }
    const options = { paused: true, context: 'shared', protocol: 'chat', headers: { 'X-A': 'b' }, onMessage };
    accepted.resolve(Connection.accept(...upgrade, options, { context: null }));
  });
  const { url } = await listen(t, server);
  const client = new WebSocket(url, ['chat']);
  const [[response]] = await Promise.all([once(client, 'upgrade'), once(client, 'open')]);
  t.match(response.headers, { 'x-a': 'b', 'sec-websocket-protocol': 'chat' });
  const connection = await accepted.promise;
  t.match(connection, { paused: true, context: null, protocol: 'chat' });
  client.send('later');
  client.ping();
  t.throws(() => connection.send(5), { message: /must be a string, a Buffer or other bytes/ });
  t.throws(() => connection.send(5, { compress: false }), { message: /must be a string, a Buffer or other bytes/ });
  t.same(heard, []);
  connection.resume();
  await once(client, 'pong');
  t.same(heard, ['later']);
  client.terminate();
});

t.test('an upgrade after requests that are still being answered is refused in its turn', async (t) => {
  const responses = [];
  const server = http.createServer((_request, response) => responses.push(response));
  const accepted = [];
  server.on('upgrade', (...upgrade) => {
    accepted.push(Connection.accept(...upgrade));
    for (const [i, response] of responses.entries()) setImmediate(() => response.end(`${i}`));
  });
  const { port } = await listen(t, server);
  const socket = net.connect(port, '127.0.0.1');
  const requests = [
    'GET /0 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /1 HTTP/1.1\r\nHost: a\r\n\r\n',
    String(head(...HANDSHAKE))
  ];
  socket.write(requests.join(''));
  const answers = await text(socket);
  t.same(accepted, [null]);
  t.same(answers.match(/(?<=HTTP\/1.1 )\d+|(?<=\r\n\r\n)\d/g), ['200', '0', '200', '1', '400']);
});

t.test('localhost refused: an error with a message', async (t) => {
  const lookup = (_name, _options, done) =>
    done(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 }
    ]);
  const { port } = await new Promise((resolve) => {
    const server = http.createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address));
    });
  });
  await t.rejects(Connection.connect(`ws://localhost:${port}`, { lookup, autoSelectFamily: true }), {
    code: 'ECONNREFUSED',
    message: /ECONNREFUSED 127\.0\.0\.1/
  });
});

t.test('headers of connect: lists, a Headers, a flat list; undefined is left out', async (t) => {
  const requests = [];
  const server = http.createServer().on('upgrade', (request, ...rest) => {
    requests.push(request);
    Connection.accept(request, ...rest);
  });
  const { url } = await listen(t, server);
  for (const headers of [
    { Authorization: 'x', Cookie: undefined, 'X-List': ['1', '2'] },
    new Headers({ Authorization: 'x', 'X-List': '1, 2' }),
    ['Authorization', 'x', 'X-List', '1', 'x-list', '2']
  ]) {
    (await Connection.connect(url, { headers })).terminate();
    t.match(requests.at(-1).headers, { authorization: 'x', 'x-list': '1, 2', cookie: undefined });
  }
  await t.rejects(Connection.connect(url, { headers: new Map() }), { code: 'ERR_INVALID_ARG_TYPE' });
});

t.test('a handshake keeps the process alive by its socket alone', async (t) => {
  const silent = await startFalseServer(t, () => {});
  const program = `
    const createConnection = (options) => require('node:net').connect(options).unref();
    require('.').Connection.connect('${silent}', { createConnection, handshakeTimeout: 2 ** 31 - 1 });`;
  t.equal(await outputOf([process.execPath, '-e', program]), '');
});

t.test('a signal no longer counts when the connection is open', async (t) => {
  const { url } = await startEcho(t);
  const controller = new AbortController();
  const { options, messages } = handlersFor(1);
  const connection = await Connection.connect(url, { ...options, signal: controller.signal });
  controller.abort();
  connection.send('open');
  t.same(await messages, ['open']);
  connection.terminate();
});

t.test('accept refuses what is not a handshake, and throws before it answers', async (t) => {
  const server = http.createServer();
  const results = [];
  server.on('upgrade', (request, socket, head) => {
    const accept = (...args) => Connection.accept(request, socket, head, ...args);
    t.throws(() => accept({ onmessage() {} }), { code: 'ERR_INVALID_ARG_VALUE' });
    t.throws(() => accept({ maxPayload: 'x' }), { code: 'ERR_INVALID_ARG_TYPE' });
    t.throws(() => accept({}, { paused: 'yes' }), { code: 'ERR_INVALID_ARG_TYPE' });
    t.throws(() => accept({}, { trace: 'id' }), { code: 'ERR_INVALID_ARG_TYPE' });
    if (request.url === '/right')
      t.throws(() => accept({}, { headers: { a: 'x\r\ny' } }), { code: 'ERR_INVALID_ARG_TYPE' });
    results.push(accept());
  });
  const { url, port } = await listen(t, server);
  const request = http.get({ port, headers: { Connection: 'Upgrade', Upgrade: 'websocket' } });
  const [response] = await once(request, 'response');
  t.equal(response.statusCode, 426);
  t.same(results, [null]);
  const connection = await Connection.connect(`${url}/right`);
  t.equal(connection.readyState, 1);
  connection.close();
});

t.test('a request that the program has made itself', async (t) => {
  const [socket] = memoryPair();
  const names = { host: 'a', upgrade: 'websocket', connection: 'upgrade', 'sec-websocket-version': '13' };
  const headers = { ...names, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  const request = { method: 'GET', httpVersion: '1.1', headers };
  const connection = Connection.accept(request, socket, Buffer.alloc(0));
  t.equal(connection.readyState, 1);
  connection.terminate();
});

t.test('framemask:open and framemask:close', async (t) => {
  const { url, connections } = await startEcho(t, { own: { trace: { id: 'served' } } });
  const records = [];
  const note = (name) => (record) => records.push([name, record]);
  const subscribe = (name) => {
    const listener = note(name);
    channel(name).subscribe(listener);
    t.teardown(() => channel(name).unsubscribe(listener));
  };
  const run = async () => {
    const { options, messages, closed } = handlersFor(2);
    const connection = await Connection.connect(`${url}/chat?token=secret`, { ...options, trace: { id: 'mine' } });
    connections.at(-1).send(prepare('to all'));
    connection.send('é', { fin: false });
    connection.send(Buffer.from('x'));
    await messages;
    connection.close(4000);
    await closed;
    while (connections.at(-1).readyState !== 3) await new Promise(setImmediate);
  };
  subscribe('framemask:frame');
  const early = run();
  await early;
  records.length = 0;
  subscribe('framemask:open');
  subscribe('framemask:close');
  await run();
  const of = (name, role) => records.find(([each, record]) => each === name && record.role === role)[1];
  const { id, time, connection, key, ...opened } = of('framemask:open', 'server');
  t.same(opened, { path: '/chat', protocol: '', role: 'server' });
  t.equal(key, of('framemask:open', 'client').key);
  t.equal(connection, 'served', 'the id that the program has given');
  t.match(of('framemask:open', 'client'), { path: '/chat', connection: 'mine' });
  t.ok(Math.abs(time - Date.now()) < 60_000 && id !== connection);
  const closed = of('framemask:close', 'server');
  t.match(closed, { connection, key, path: '/chat', closeCode: 4000 });
  t.match(closed, { messagesReceived: 1, bytesReceived: 3, messagesSent: 2, bytesSent: 9 });
  t.match(closed, { sentCode: 4000, error: null });
  t.match(of('framemask:close', 'client'), { messagesReceived: 2, bytesReceived: 9, messagesSent: 1, bytesSent: 3 });
  const frames = records.filter(([name, record]) => name === 'framemask:frame' && record.connection === connection);
  t.ok(frames.length >= 4, 'the frames of both codecs name the connection');
});

t.test('framemask:close has the code that was sent, and the error; trace: false publishes nothing', async (t) => {
  const records = [];
  for (const name of ['framemask:frame', 'framemask:message', 'framemask:open', 'framemask:close']) {
    const listener = (record) => records.push(record);
    channel(name).subscribe(listener);
    t.teardown(() => channel(name).unsubscribe(listener));
  }
  const end = async (act, trace) => {
    const [stream, peer] = memoryPair();
    await new Promise((resolve) => {
      const connection = new Connection(stream, 'server', { onClose: resolve, trace });
      act(connection, peer);
    });
    return records.at(-1);
  };
  const wrong = (_connection, peer) => peer.end(frame(TEXT, Buffer.from([0xff]), { key: KEY }));
  t.match(await end(wrong), { closeCode: 1006, sentCode: 1007, error: { code: 'FRAMEMASK_ERR_UTF8' } });
  const lost = (_connection, peer) => peer.destroy();
  t.match(await end(lost), { closeCode: 1006, sentCode: null, error: null });
  const closes = (connection, peer) => {
    connection.close();
    peer.end(frame(CLOSE, '', { key: KEY }));
  };
  t.match(await end(closes), { closeCode: 1005, sentCode: 1005, error: null });
  records.length = 0;
  for (const act of [wrong, lost, closes]) t.equal(await end(act, false), undefined);
  const { url } = await startEcho(t, { own: { trace: false } });
  const { options, messages } = handlersFor(1);
  const connection = await Connection.connect(url, { ...options, trace: false });
  connection.send('x');
  await messages;
  connection.terminate();
  t.same(records, []);
});

t.test('the parts of a message are counted as one', async (t) => {
  const records = [];
  const listener = (record) => records.push(record);
  channel('framemask:close').subscribe(listener);
  t.teardown(() => channel('framemask:close').unsubscribe(listener));
  const [stream, other] = memoryPair();
  const closed = new Promise((resolve) => new Connection(stream, 'client', { onPart() {}, onClose: resolve }));
  other.end(Buffer.concat([frame(1, 'in ', { fin: false }), frame(0, 'two'), frame(8)]));
  t.equal(await closed, 1005);
  t.match(records, [{ messagesReceived: 1, bytesReceived: 6, messagesSent: 0, key: null, path: null }]);
});

t.test('a connection that nobody listened to when it opened', async (t) => {
  const { url } = await startEcho(t);
  const { options, closed } = handlersFor(1);
  const connection = await Connection.connect(url, options);
  connection.send('a');
  const records = [];
  const listener = (record) => records.push(record);
  channel('framemask:close').subscribe(listener);
  t.teardown(() => channel('framemask:close').unsubscribe(listener));
  connection.close();
  await closed;
  t.match(
    records.find(({ role }) => role === 'client'),
    { bytesSent: null, messagesReceived: null, closeCode: 1005 }
  );
});
