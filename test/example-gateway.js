'use strict';

// examples/gateway.js between clients and servers of ws, and ends without WebSocket code.
// `npm run test:system -- gateway` has the long cases.

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const t = require('tap');
const { WebSocket, WebSocketServer } = require('ws');
const { createGateway } = require('../examples/gateway');
const { Connection, acceptHttp2, overHttp2, refuseUpgrade } = require('..');
const child = require('./support/child');
const {
  MIB,
  RawConnection,
  listen,
  masked,
  randomMessages,
  assertMessages,
  request
} = require('./support/connections');
const { BINARY, CLOSE, HANDSHAKE, TEXT, closePayload, frame, head } = require('./support/frames');
const { until } = require('./support/promises');

/** A gateway before a server of ws; `accepted` has the connections of the server. */
async function start(t, options, ofServer) {
  const server = http.createServer();
  const wss = new WebSocketServer({ server, maxFragments: 0, autoPong: false, ...ofServer });
  const accepted = [];
  wss.on('connection', (socket, asked) =>
    accepted.push(
      Object.assign(
        socket.on('error', () => {}),
        { asked }
      )
    )
  );
  const upstream = await listen(t, server);
  return { ...(await listen(t, createGateway(upstream.url, options))), accepted, upstream };
}

/** A pair of ends: a client of ws, and the server's side of it. */
async function connect({ url, accepted }, path = '/', ...rest) {
  const client = new WebSocket(url + path, ...rest);
  client.on('error', () => {});
  await once(client, 'open');
  return { client, server: accepted.at(-1) };
}

/** How a WebSocket of ws ends. */
async function endOf(socket) {
  const [code, reason] = await once(socket, 'close');
  return [code, String(reason)];
}

/** The answer to a client of ws that is refused. */
async function refusalOf(url, ...rest) {
  const client = new WebSocket(url, ...rest);
  const [[, response]] = [
    await once(
      client.on('error', () => {}),
      'unexpected-response'
    )
  ];
  response.resume();
  return response;
}

t.test('passes the path, chosen headers, the subprotocol and every byte', async (t) => {
  const gateway = await start(t, { login: async ({ url }) => ({ 'X-User': url.slice(1, 4) }) });
  const headers = { Cookie: 'a=1', 'X-Forwarded-For': '192.0.2.1', 'X-User': 'root', 'X-Other': 'x' };
  const { client, server } = await connect(gateway, '/ada//b?c=d&e', ['one', 'two'], { headers });
  t.equal(server.asked.url, '/ada//b?c=d&e');
  const expected = { cookie: 'a=1', 'x-user': 'ada', 'x-forwarded-for': '192.0.2.1, 127.0.0.1' };
  t.match(server.asked.headers, { ...expected, 'x-other': undefined, host: new URL(gateway.upstream.url).host });
  t.same([server.protocol, client.protocol], ['one', 'one']);
  const messages = randomMessages().filter(({ data }) => data.length <= MIB);
  for (const [from, to] of [
    [client, server],
    [server, client]
  ]) {
    const came = [];
    to.on('message', (data, isBinary) => came.push({ data, isBinary }));
    for (const { data, isBinary } of messages) from.send(data, { binary: isBinary });
    await until(() => came.length === messages.length);
    assertMessages(came, messages);
  }
  client.terminate();
});

t.test('parts of a message pass before its end', async (t) => {
  const gateway = await start(t, { client: { maxPayload: Infinity } });
  const { client, server } = await connect(gateway);
  const { _socket: socket } = server;
  const before = socket.bytesRead;
  client.send(Buffer.alloc(MIB), { fin: false });
  await until(() => socket.bytesRead - before > MIB / 2);
  client.send(Buffer.alloc(1));
  t.equal((await once(server, 'message'))[0].length, MIB + 1);
  client.terminate();
});

t.test('a login refuses before the upstream is asked', async (t) => {
  const headers = { 'www-authenticate': 'Basic', 'x-other': 'x' };
  const login = async ({ url }) => {
    if (url !== '/in') throw Object.assign(new Error('no'), { statusCode: 401, headers });
  };
  const gateway = await start(t, { login });
  const { statusCode, headers: answered } = await refusalOf(`${gateway.url}/`);
  t.match([statusCode, answered], [401, { 'www-authenticate': 'Basic', 'x-other': undefined }]);
  t.equal(gateway.accepted.length, 0);
  const { client } = await connect(gateway, '/in');
  client.terminate();
});

t.test('the client gets the refusal of the upstream', async (t) => {
  const upstream = http.createServer((_request, response) => response.end('not a WebSocket'));
  upstream.on('upgrade', ({ url }, socket) => {
    const headers = { 'Set-Cookie': ['a=1', 'b=2'], 'Retry-After': 7, 'X-Inner': 'secret' };
    if (url === '/101') socket.end('HTTP/1.1 101 \r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    else if (url !== '/silence') refuseUpgrade(socket, Number(url.slice(1)), headers);
  });
  const { url: inner } = await listen(t, upstream);
  const { url } = await listen(t, createGateway(inner, { upstream: { handshakeTimeout: 200 } }));
  for (const [path, status] of Object.entries({ 200: 502, 101: 502, 302: 302, 403: 403, 503: 503, silence: 504 })) {
    const { statusCode, headers } = await refusalOf(`${url}/${path}`);
    t.equal(statusCode, status, path);
    if (status === 503) t.match(headers, { 'set-cookie': ['a=1', 'b=2'], 'retry-after': '7', 'x-inner': undefined });
  }
  const { url: empty } = await listen(t, createGateway('ws://127.0.0.1:1'));
  t.equal((await refusalOf(empty)).statusCode, 502, 'nobody listens');
  const { port } = new URL(url);
  const asked = (line) => request(t, port, head(...HANDSHAKE, line));
  t.match(await asked('Sec-WebSocket-Protocol: a, a'), /^HTTP\/1\.1 400 /);
  t.match(await request(t, port, head('GET / HTTP/1.1', 'Host: a', 'Connection: close')), /^HTTP\/1\.1 404 /);
});

t.test('a request that is no handshake ends the connection of the upstream', async (t) => {
  const { port, accepted } = await start(t);
  const lines = HANDSHAKE.filter((line) => !line.startsWith('Sec-WebSocket-Key'));
  t.match(await request(t, port, head(...lines)), /^HTTP\/1\.1 400 /);
  await until(() => accepted[0]?.readyState === WebSocket.CLOSED);
});

t.test('close codes and reasons', async (t) => {
  const gateway = await start(t);
  for (const from of ['client', 'server']) {
    for (const [code, reason] of [[1000, 'bye'], [1001, ''], [1013, 'later'], [3000, ''], [4999, 'é'], []]) {
      const ends = await connect(gateway);
      const ended = endOf(ends[from === 'client' ? 'server' : 'client']);
      ends[from].close(code, reason);
      t.same(await ended, [code ?? 1005, reason ?? ''], `${code} of the ${from}`);
    }
  }
});

t.test('a lost side is 1014 for a client, and 1011 for the upstream', async (t) => {
  const gateway = await start(t);
  for (const way of ['destroy', 'resetAndDestroy']) {
    for (const [from, to, code] of [
      ['client', 'server', 1011],
      ['server', 'client', 1014]
    ]) {
      const ends = await connect(gateway);
      const ended = endOf(ends[to]);
      ends[from]._socket[way]();
      t.same(await ended, [code, way === 'destroy' ? '' : 'ECONNRESET'], `${way} of the ${from}`);
    }
  }
  await until(() => gateway.server._connections === 0);
});

t.test('a side that breaks a rule, or a limit', async (t) => {
  const gateway = await start(t);
  const cases = [
    [frame(TEXT, 'not masked'), 1002, 'FRAMEMASK_ERR_MASK_MISSING'],
    [masked(TEXT, Buffer.from('c328', 'hex')), 1007, 'FRAMEMASK_ERR_UTF8'],
    [masked(BINARY, '', { length: MIB + 1 }), 1009, 'FRAMEMASK_ERR_MESSAGE_TOO_BIG']
  ];
  for (const [bytes, code, reason] of cases) {
    const raw = await RawConnection.open(t, gateway.port, { allowHalfOpen: true });
    const ended = endOf(gateway.accepted.at(-1));
    raw.socket.write(bytes);
    t.same(await raw.ended, frame(CLOSE, closePayload(code)));
    t.same(await ended, [1011, reason], 'before the client has ended its half');
    raw.socket.destroy();
  }
  const { client, server } = await connect(gateway);
  const ended = endOf(client);
  server._socket.write(Buffer.from('8301', 'hex'));
  t.same(await ended, [1014, 'FRAMEMASK_ERR_OPCODE']);
});

t.test('Pings are answered by the other end, and by nobody else', async (t) => {
  const gateway = await start(t, {}, { autoPong: false });
  for (const [one, other] of [
    ['client', 'server'],
    ['server', 'client']
  ]) {
    const ends = await connect(gateway, '/', { autoPong: false });
    let answers = 0;
    ends[one].on('pong', () => answers++);
    ends[one].ping('there?');
    t.equal(String((await once(ends[other], 'ping'))[0]), 'there?');
    ends[other].send('first');
    await once(ends[one], 'message');
    t.equal(answers, 0);
    ends[other].pong('here');
    t.equal(String((await once(ends[one], 'pong'))[0]), 'here');
    ends[one].terminate();
  }
});

/** Sends until it may send no more. @returns {number} the bytes that were sent */
async function fill(from, isFull) {
  const part = randomBytes(64 * 1024);
  let bytes = 0;
  for (; !isFull(); bytes += part.length) {
    from.send(part);
    if (from.bufferedAmount > 0) await new Promise(setImmediate);
  }
  return bytes;
}

/** The gateway's side of a client, and of the upstream. */
const sides = ({ server }) => {
  const [client] = [...server.clients].slice(-1);
  return { client, server: client.context.peer };
};

t.test('a side that does not read holds the other one', async (t) => {
  const gateway = await start(t, { client: { maxPayload: Infinity } });
  for (const [from, to] of [
    ['client', 'server'],
    ['server', 'client']
  ]) {
    const ends = await connect(gateway);
    const inner = sides(gateway);
    ends[to].pause();
    let most = 0;
    const isFull = () => {
      most = Math.max(most, inner[to].bufferedAmount);
      return ends[from].bufferedAmount > 4 * MIB;
    };
    const sent = await fill(ends[from], isFull);
    t.ok(inner[from].paused, `the ${from} is held`);
    t.ok(most < MIB, `${most} bytes wait of ${sent}`);
    let came = 0;
    ends[to].on('message', (data) => (came += data.length));
    const ended = endOf(ends[to]);
    ends[from].close(1000, 'all');
    ends[to].resume();
    t.same(await ended, [1000, 'all'], 'the code comes after the messages');
    t.equal(came, sent);
  }
});

t.test('Pings to a side that does not read hold the other one', async (t) => {
  const gateway = await start(t, {}, { autoPong: false });
  const { client, server } = await connect(gateway, '/', { autoPong: false });
  const inner = sides(gateway);
  server.pause();
  for (let most = 0; most < 4 * MIB; most = client.bufferedAmount) {
    for (let i = 0; i < 1000; i++) client.ping(Buffer.alloc(125));
    await new Promise(setImmediate);
  }
  t.ok(inner.client.paused);
  t.ok(inner.server.bufferedAmount < MIB, `${inner.server.bufferedAmount} bytes wait`);
  client.terminate();
  server.terminate();
});

t.test('two sides that wait for each other to read are ended', async (t) => {
  const gateway = await start(t, { client: { heartbeat: 100 } });
  const { client, server } = await connect(gateway);
  const inner = sides(gateway);
  client.pause();
  server.pause();
  const isFull = () => inner.client.paused && inner.server.paused;
  await Promise.all([fill(client, isFull), fill(server, isFull)]);
  await until(() => gateway.server.clients.size === 0 && inner.server.readyState === Connection.CLOSED);
  client.terminate();
  server.terminate();
});

t.test('a side is lost while the other one does not read', async (t) => {
  const gateway = await start(t);
  for (const [from, to, code] of [
    ['client', 'server', 1011],
    ['server', 'client', 1014]
  ]) {
    const ends = await connect(gateway);
    const inner = sides(gateway);
    ends[to].pause();
    await fill(ends[from], () => inner[from].paused);
    ends[from]._socket.resetAndDestroy();
    const ended = endOf(ends[to]);
    ends[to].resume();
    t.equal((await ended)[0], code);
  }
});

t.test('a hook reads, changes, drops and answers messages', async (t) => {
  const seen = [];
  const hook = (to, data, isBinary) => {
    seen.push([to.role, data.length, isBinary]);
    if (isBinary) return to.send(data);
    const text = String(data);
    if (text === 'who?') return to.context.peer.send('the gateway');
    if (text !== 'secret') return to.send(text.toUpperCase());
  };
  const gateway = await start(t, { hook });
  const { client, server } = await connect(gateway);
  server.on('message', (data, isBinary) => server.send(data, { binary: isBinary }));
  const came = [];
  client.on('message', (data, isBinary) => came.push(isBinary ? data.length : String(data)));
  const large = Buffer.alloc(MIB, 1);
  for (const data of ['hello', 'secret', 'who?', large]) client.send(data);
  await until(() => came.length === 3);
  t.same(came.sort(), [MIB, 'HELLO', 'the gateway'].sort());
  t.same(seen.length, 6, 'both directions, whole messages');
  t.same(seen.at(-1), ['server', MIB, true]);
  server.send(Buffer.alloc(MIB + 1));
  t.same(await endOf(client), [1014, 'FRAMEMASK_ERR_MESSAGE_TOO_BIG']);
});

t.test('each side is compressed for itself', async (t) => {
  const gateway = await start(t, { client: { deflate: true } }, { perMessageDeflate: true });
  const { client, server } = await connect(gateway);
  t.same([client.extensions, server.extensions], ['permessage-deflate', '']);
  const text = 'framemask '.repeat(100_000);
  client.send(text);
  t.equal(String((await once(server, 'message'))[0]), text);
  server.send(text);
  t.equal(String((await once(client, 'message'))[0]), text);
  t.ok(client._socket.bytesRead < text.length / 10);
  client.terminate();
});

t.test('clients share a session of HTTP/2 to the upstream', async (t) => {
  const upstream = acceptHttp2(http2.createServer({ settings: { maxConcurrentStreams: 1000 } }));
  const sessions = new Set();
  upstream.on('session', (session) => sessions.add(session));
  const onMessage = function (data) {
    this.send(`${this.context}: ${data}`);
  };
  upstream.on('upgrade', ({ url, headers }, socket, bytes) => {
    if (url === '/no') return refuseUpgrade(socket, 403, { 'Retry-After': 1 });
    Connection.accept(
      { method: 'GET', httpVersion: '2.0', url, headers },
      socket,
      bytes,
      { onMessage },
      { context: url }
    );
  });
  const { port } = await listen(t, upstream);
  t.teardown(() => {
    for (const session of sessions) session.destroy();
  });
  const options = { upstream: { createConnection: overHttp2() } };
  const { url } = await listen(t, createGateway(`ws://127.0.0.1:${port}`, options));
  const talk = async (i) => {
    const client = new WebSocket(`${url}/${i}?q`);
    await once(client, 'open');
    client.send('hello');
    t.equal(String((await once(client, 'message'))[0]), `/${i}?q: hello`);
    client.close(4000 + i, 'bye');
    return endOf(client);
  };
  const ends = await Promise.all(Array.from({ length: 100 }, (_, i) => talk(i)));
  t.same(
    ends.map(([code]) => code),
    Array.from({ length: 100 }, (_, i) => 4000 + i)
  );
  t.equal(sessions.size, 1);
  const { statusCode, headers } = await refusalOf(`${url}/no`);
  t.match([statusCode, headers], [403, { 'retry-after': '1' }]);
});

for (const args of [[], ['--http2']]) {
  t.test(`as a program: SIGTERM sends clients away, ${args}`, async (t) => {
    const upstream = args.length > 0 ? acceptHttp2(http2.createServer()) : http.createServer();
    const closed = [];
    upstream.on('upgrade', (...upgrade) => Connection.accept(...upgrade, { onClose: (code) => closed.push(code) }));
    const { url } = await listen(t, upstream);
    const command = [process.execPath, 'examples/gateway.js', '--upstream', url, ...args];
    const { child: program, port } = await child.startServer(command, { env: { ...process.env, PORT: '0' } });
    // `shutDown` closes several one after the other.
    const { client } = await connect({ url: `ws://127.0.0.1:${port}`, accepted: [] });
    const idle = net.connect(port, '127.0.0.1');
    await once(idle, 'connect');
    const closing = endOf(client);
    const ended = once(program, 'exit');
    program.kill('SIGTERM');
    t.same(await closing, [1012, '']);
    t.same(await ended, [0, null]);
    t.same(closed, [1012]);
  });
}
