'use strict';

// WebSockets over HTTP/2 (RFC 8441): real sessions, over TCP and TLS.

const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const t = require('tap');
const ws = require('ws');
const { Decoder, Encoder, acceptHttp2, acceptUpgrade, offerUpgrade, overHttp2 } = require('../index');
const framemaskWs = require('../ws');
const certificate = require('./support/certificate');

const { WebSocket, WebSocketServer } = framemaskWs;
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
if (!isNode) {
  t.plan(0, { skip: 'node:http2 of other runtimes lacks extended CONNECT' });
  process.exit();
}

const HOST = '127.0.0.1';
const RST_STREAM = 3;
const CANCEL = 8;
const TRANSPORTS = {
  TCP: { scheme: 'http', create: (options) => http2.createServer(options) },
  TLS: {
    scheme: 'https',
    create: (options) => http2.createSecureServer({ ...certificate, allowHTTP1: true, ...options })
  }
};

/** A server that takes WebSockets over HTTP/2, with a WebSocketServer unless `listen` attaches something. */
async function startServer(t, { transport = 'TCP', library = framemaskWs, options = {}, settings, attach } = {}) {
  const { scheme, create } = TRANSPORTS[transport];
  const server = acceptHttp2(create(settings === undefined ? {} : { settings }));
  const sessions = new Set();
  server.on('session', (session) => sessions.add(session));
  server.on('secureConnection', (socket) => t.teardown(() => socket.destroy()));
  const wss = attach === undefined ? new library.WebSocketServer({ server, ...options }) : attach(server);
  server.listen(0, HOST);
  await once(server, 'listening');
  t.teardown(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const { port } = server.address();
  return {
    server,
    wss,
    sessions,
    port,
    origin: `${scheme}://${HOST}:${port}`,
    url: `${scheme.replace('http', 'ws')}://${HOST}:${port}`
  };
}

const echoes = (wss) =>
  wss.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })));

/** A raw session whose server has announced extended CONNECT. */
async function openSession(t, origin) {
  const session = http2.connect(origin, { rejectUnauthorized: false });
  session.on('error', () => {});
  // Node.js 20 hangs if it is destroyed in the turn in which a stream was reset.
  t.teardown(async () => {
    await new Promise(setImmediate);
    session.destroy();
  });
  await once(session, 'remoteSettings');
  return session;
}

const CONNECT = {
  ':method': 'CONNECT',
  ':protocol': 'websocket',
  ':scheme': 'http',
  ':path': '/',
  ':authority': 'localhost',
  'sec-websocket-version': '13'
};

/** @returns {Promise<[object, import('node:http2').ClientHttp2Stream]>} the answer to a request */
async function request(session, headers = {}) {
  const fields = Object.fromEntries(
    Object.entries({ ...CONNECT, ...headers }).filter(([, value]) => value !== undefined)
  );
  const stream = session.request(fields, { endStream: false });
  stream.on('error', () => {});
  const [answer] = await once(stream, 'response');
  return [answer, stream];
}

async function closeOf(socket) {
  const [code, reason] = await once(socket, 'close');
  return [code, reason.toString()];
}

for (const transport of Object.keys(TRANSPORTS)) {
  for (const [name, library] of [
    ['framemask/ws', framemaskWs],
    ['ws', ws]
  ]) {
    t.test(`${name} over ${transport}: 16 WebSockets on one session echo messages of all kinds`, async (t) => {
      const { wss, sessions, url } = await startServer(t, { transport, library, options: { perMessageDeflate: true } });
      echoes(wss);
      const options = { rejectUnauthorized: false, perMessageDeflate: true };
      Object.assign(options, library === ws ? { createConnection: overHttp2() } : { http2: true });
      const messages = ['', 'text', 'é'.repeat(10_000), Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(300_000, 'ab')];
      await Promise.all(
        Array.from({ length: 16 }, async () => {
          const socket = new library.WebSocket(`${url}/chat?a=b`, ['x', 'y'], options);
          const received = [];
          socket.on('message', (data, isBinary) => {
            received.push(isBinary ? data : data.toString());
            if (received.length === messages.length) socket.close(4000, 'bye');
          });
          await once(socket, 'open');
          t.equal(socket.protocol, 'x');
          t.equal(socket.extensions, 'permessage-deflate');
          for (const message of messages) socket.send(message);
          t.same(await closeOf(socket), [4000, 'bye']);
          t.same(received, messages);
        })
      );
      t.equal(sessions.size, 1);
    });
  }
}

t.test('HTTP/1.1 upgrades, requests and WebSockets over HTTP/2 share a port', async (t) => {
  const { server, wss, url, origin } = await startServer(t, { transport: 'TLS' });
  echoes(wss);
  server.on('request', (request, response) => response.end(`${request.httpVersion} ${request.method}`));
  for (const option of [false, true]) {
    const socket = new WebSocket(url, { rejectUnauthorized: false, http2: option });
    const [[, request]] = await Promise.all([once(wss, 'connection'), once(socket, 'open')]);
    t.equal(request.httpVersion, option ? '2.0' : '1.1');
    t.match(request, { method: 'GET', url: '/', headers: { host: url.slice(6), upgrade: 'websocket' } });
    t.equal(request.socket.encrypted, true);
    t.equal(request.socket.remoteAddress, HOST);
    socket.send('x');
    await once(socket, 'message');
    socket.close();
    await once(socket, 'close');
  }
  const session = await openSession(t, origin);
  const page = session.request({ ':path': '/' });
  t.equal(Buffer.concat(await page.toArray()).toString(), '2.0 GET');
  const [{ ':status': status }] = await request(session, {
    ':protocol': undefined,
    ':scheme': undefined,
    ':path': undefined
  });
  t.equal(status, 405, 'a CONNECT that is not a WebSocket');
  const response = await new Promise((resolve) => https.get(origin, { rejectUnauthorized: false }, resolve));
  t.equal(Buffer.concat(await response.toArray()).toString(), '1.1 GET');
});

t.test("a program's own listener of 'connect' answers CONNECT", async (t) => {
  const { server, origin } = await startServer(t);
  server.on('request', () => {});
  server.on('connect', (request, response) => {
    if (request.headers[':protocol'] === undefined) response.stream.respond({ ':status': 418 }, { endStream: true });
  });
  const session = await openSession(t, origin);
  const [answer] = await request(session, { ':protocol': undefined, ':scheme': undefined, ':path': undefined });
  t.equal(answer[':status'], 418);
});

t.test('requests that are refused', async (t) => {
  const verifyClient = ({ req, secure }, done) => {
    t.equal(secure, false);
    if (req.url === '/later') setImmediate(done, false, 403, 'No', { 'X-Why': 'because', Connection: 'close' });
    else done(req.url === '/');
  };
  const { wss, origin } = await startServer(t, { options: { verifyClient } });
  const session = await openSession(t, origin);
  for (const [headers, expected] of [
    [{ ':protocol': 'connect-udp' }, { ':status': 501 }],
    [{ 'sec-websocket-version': '8' }, { ':status': 400, 'sec-websocket-version': '13' }],
    [{ 'sec-websocket-version': undefined }, { ':status': 400, 'sec-websocket-version': '13' }],
    [{ 'sec-websocket-protocol': 'a, a' }, { ':status': 400 }],
    [{ ':path': '/now' }, { ':status': 401 }],
    [{ ':path': '/later' }, { ':status': 403, 'x-why': 'because', connection: undefined }]
  ]) {
    const [answer, stream] = await request(session, headers);
    t.match(answer, expected, JSON.stringify(headers));
    stream.end('dropped');
    if (!stream.closed) await once(stream.resume(), 'close');
    t.equal(stream.rstCode, 0);
  }
  const [answer, stream] = await request(session, { 'sec-websocket-key': 'anything' });
  t.equal(answer[':status'], 200);
  t.equal(answer['sec-websocket-accept'], undefined);
  wss.close();
  t.equal((await request(session))[0][':status'], 503, 'after WebSocketServer.close()');
  t.equal(stream.closed, false);
});

t.test("'headers', handleProtocols, noServer, and an answer of 426", async (t) => {
  let written;
  const isWritten = new Promise((resolve) => {
    written = resolve;
  });
  const wss = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered].at(-1) });
  wss.on('headers', (headers) => headers.push('Set-Cookie: a=1', 'Set-Cookie: b=2', 'X-More: yes'));
  const attach = (server) => {
    server.on('upgrade', (request, socket, head) => {
      if (request.url === '/old') socket.end('HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\n\r\nno', () => {});
      else if (request.url === '/nothing') socket.end();
      else if (request.url === '/gone') socket.destroy().end('HTTP/1.1 400 Bad Request\r\n\r\n');
      else if (request.url === '/frame')
        socket.write('HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n\r\nmore', () => written());
      else if (request.url === '/wrong') {
        t.throws(() => socket.write('hello'), /one head of HTTP\/1.1/);
        socket.destroy();
      } else wss.handleUpgrade(request, socket, head, (websocket) => websocket.send('hello'));
    });
    return wss;
  };
  const { origin } = await startServer(t, { attach });
  const session = await openSession(t, origin);
  const [answer, stream] = await request(session, { 'sec-websocket-protocol': 'a, b' });
  t.match(answer, { ':status': 200, 'sec-websocket-protocol': 'b', 'set-cookie': ['a=1', 'b=2'], 'x-more': 'yes' });
  const [frame] = await once(stream, 'data');
  t.same(frame, Buffer.from('\x81\x05hello', 'latin1'));
  const [old, body] = await request(session, { ':path': '/old' });
  t.equal(old[':status'], 400);
  t.equal(Buffer.concat(await body.toArray()).toString(), 'no');
  t.equal((await request(session, { ':path': '/nothing' }))[0][':status'], 500);
  const gone = session.request({ ...CONNECT, ':path': '/gone' }, { endStream: false });
  gone.on('error', () => {});
  await once(gone, 'close');
  t.equal(gone.rstCode, CANCEL);
  const [, more] = await request(session, { ':path': '/frame' });
  t.equal(String((await once(more, 'data'))[0]), 'more');
  await isWritten;
  const wrong = session.request({ ...CONNECT, ':path': '/wrong' }, { endStream: false });
  wrong.on('error', () => {});
  await once(wrong, 'close');
  t.equal(wrong.rstCode, CANCEL);
});

t.test('the codec: acceptUpgrade and offerUpgrade', async (t) => {
  const attach = (server) =>
    server.on('upgrade', (request, socket, head) => {
      const upgrade = acceptUpgrade(request, socket, head, { protocol: 'chat', deflate: true });
      const encoder = new Encoder({ role: 'server', deflate: upgrade.deflate, writable: socket });
      const decoder = new Decoder({
        role: 'server',
        deflate: upgrade.deflate,
        onMessage: (data) => encoder.text(data),
        onClose: (code) => {
          encoder.close(code);
          encoder.flush();
          socket.end();
        }
      });
      socket.on('data', (chunk) => decoder.write(chunk));
    });
  const { origin } = await startServer(t, { attach });
  const offer = offerUpgrade({ protocols: ['chat'], deflate: true });
  const sent = http.get(origin, { headers: offer.headers, createConnection: overHttp2() });
  const [response, socket] = await once(sent, 'upgrade');
  const { deflate, protocol } = offer.readAnswer(response);
  t.equal(protocol, 'chat');
  const encoder = new Encoder({ role: 'client', deflate, writable: socket });
  const seen = [];
  const decoder = new Decoder({
    role: 'client',
    deflate,
    onMessage(data) {
      seen.push(data);
      encoder.close(1000);
    },
    onClose: (code) => {
      seen.push(code);
      socket.end();
    }
  });
  socket.on('data', (chunk) => decoder.write(chunk));
  encoder.text('x'.repeat(10_000));
  await once(socket, 'close');
  t.same(seen, ['x'.repeat(10_000), 1000]);
});

/** A proxy that counts the RST_STREAM frames of both sides. */
async function countResets(t, port) {
  const resets = [];
  const watch = (from, to, preface) => {
    let bytes = Buffer.alloc(0);
    let skip = preface;
    from.on('data', (chunk) => {
      to.write(chunk);
      bytes = Buffer.concat([bytes, chunk]);
      if (skip > 0 && bytes.length >= skip) {
        bytes = bytes.subarray(skip);
        skip = 0;
      }
      while (skip === 0 && bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
        if (bytes[3] === RST_STREAM) resets.push(bytes.readUInt32BE(9));
        bytes = bytes.subarray(9 + bytes.readUIntBE(0, 3));
      }
    });
    from.on('close', () => to.destroy()).on('error', () => {});
  };
  const proxy = net.createServer((client) => {
    const server = net.connect(port, HOST);
    watch(client, server, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length);
    watch(server, client, 0);
  });
  proxy.listen(0, HOST);
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  return { url: `ws://${HOST}:${proxy.address().port}`, resets };
}

t.test('closing: END_STREAM after both Close frames, CANCEL without', async (t) => {
  const { wss, port } = await startServer(t);
  const { url, resets } = await countResets(t, port);
  const open = async () => {
    const client = new WebSocket(url, { http2: true });
    client.on('error', () => {});
    const [[server]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
    server.on('error', () => {});
    return { client, server };
  };
  for (const closer of ['client', 'server']) {
    const both = await open();
    const closed = [closeOf(both.client), closeOf(both.server)];
    both[closer].close(4001, 'end');
    t.same(await Promise.all(closed), Array(2).fill([4001, 'end']), closer);
  }
  t.same(resets, [], 'no stream is reset');
  const sibling = await open();
  for (const closer of ['client', 'server']) {
    const both = await open();
    const closed = [closeOf(both.client), closeOf(both.server)];
    both[closer].terminate();
    t.same(
      (await Promise.all(closed)).map(([code]) => code),
      [1006, 1006],
      closer
    );
  }
  t.ok(resets.length >= 2 && resets.every((code) => code === CANCEL), `reset with ${resets}`);
  sibling.client.send('still there');
  t.equal((await once(sibling.server, 'message'))[0].toString(), 'still there');
  const ended = [closeOf(sibling.client), closeOf(sibling.server)];
  sibling.server._socket.session.destroy();
  t.same(
    (await Promise.all(ended)).map(([code]) => code),
    [1006, 1006],
    'the session has ended'
  );
});

/** A frame (RFC 9113 section 4.1). */
function h2Frame(type, flags, stream, payload) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Fields as literals without indexing (RFC 7541 section 6.2.2), all shorter than 127 bytes. */
const literals = (fields) =>
  Buffer.concat(
    Object.entries(fields).map(([name, value]) =>
      Buffer.from(`\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`, 'latin1')
    )
  );

t.test('streams that are reset at once make no WebSocket (CVE-2023-44487)', async (t) => {
  const { server, wss, port, origin } = await startServer(t);
  let streams = 0;
  let upgrades = 0;
  server.on('stream', () => streams++).on('upgrade', () => upgrades++);
  const [HEADERS, SETTINGS, END_HEADERS] = [1, 4, 4];
  const burst = [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), h2Frame(SETTINGS, 0, 0, Buffer.alloc(0))];
  for (let i = 0; i < 50; i++) {
    burst.push(h2Frame(HEADERS, END_HEADERS, 2 * i + 1, literals(CONNECT)));
    burst.push(h2Frame(RST_STREAM, 0, 2 * i + 1, Buffer.from([0, 0, 0, CANCEL])));
  }
  const raw = net.connect(port, HOST).on('error', () => {});
  t.teardown(() => raw.destroy());
  raw.write(Buffer.concat(burst));
  while (streams < 50) await once(server, 'stream');
  const session = await openSession(t, origin);
  const [answer] = await request(session);
  t.equal(answer[':status'], 200);
  t.equal(upgrades, 1);
  t.equal(wss.clients.size, 1);
});

t.test('a client that is gone when verifyClient decides', async (t) => {
  let decide;
  const verifyClient = (_info, done) => {
    decide = done;
  };
  const { wss, server, origin } = await startServer(t, { options: { verifyClient } });
  const session = await openSession(t, origin);
  for (const accepts of [true, false]) {
    const stream = session.request(CONNECT, { endStream: false });
    stream.on('error', () => {});
    const [, socket] = await once(server, 'upgrade');
    const closed = new Promise((resolve) => socket.on('close', resolve));
    const [INTERNAL_ERROR] = [2];
    stream.close(INTERNAL_ERROR);
    await closed;
    decide(accepts);
    t.equal(wss.clients.size, 0);
  }
});

t.test('a paused WebSocket stalls no other one of its session', async (t) => {
  const { wss, url } = await startServer(t);
  const open = async () => {
    const client = new WebSocket(url, { http2: true });
    const [[server]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
    return { client, server };
  };
  const one = await open();
  const two = await open();
  one.server.pause();
  const sent = 200;
  for (let i = 0; i < sent; i++) one.client.send(Buffer.alloc(50_000));
  await new Promise((resolve) => {
    two.server.on('message', () => two.server.send('answer'));
    let left = 20;
    two.client.on('message', () => (--left === 0 ? resolve() : two.client.send('next')));
    two.client.send('first');
  });
  t.ok(one.client.bufferedAmount > 5_000_000, `${one.client.bufferedAmount} bytes wait`);
  let received = 0;
  const all = new Promise((resolve) => one.server.on('message', () => ++received === sent && resolve()));
  one.server.resume();
  await all;
  t.equal(one.client.bufferedAmount, 0);
  // The other way: the client reads no more than it is asked for.
  two.client._socket.setTimeout(60_000);
  two.client.pause();
  for (let i = 0; i < sent; i++) two.server.send(Buffer.alloc(50_000));
  one.server.send('past it');
  await once(one.client, 'message');
  t.ok(two.server.bufferedAmount > 5_000_000, `${two.server.bufferedAmount} bytes wait`);
  received = 0;
  const back = new Promise((resolve) => two.client.on('message', () => ++received === sent && resolve()));
  two.client.resume();
  await back;
  one.client.terminate();
  two.client.terminate();
});

t.test("a client shares a session up to the server's limit, and until GOAWAY", async (t) => {
  const { wss, sessions, url } = await startServer(t, { settings: { maxConcurrentStreams: 2 } });
  echoes(wss);
  const open = async () => {
    const socket = new WebSocket(url, { http2: true });
    await once(socket, 'open');
    return socket;
  };
  const sockets = [await open(), await open(), await open()];
  t.equal(sessions.size, 2);
  const goaway = once(sockets[2]._socket._session, 'goaway');
  [...sessions][1].goaway();
  await goaway;
  sockets.push(await open());
  t.equal(sessions.size, 3);
  for (const socket of sockets) {
    socket.send('still');
    t.equal((await once(socket, 'message'))[0].toString(), 'still');
    socket.close();
    await once(socket, 'close');
  }
});

t.test('a session of the program: it stays open', async (t) => {
  const { wss, origin, url } = await startServer(t);
  echoes(wss);
  const session = await openSession(t, origin);
  for (let i = 0; i < 2; i++) {
    const socket = new WebSocket(url, [], { http2: session });
    await once(socket, 'open');
    socket.close();
    await once(socket, 'close');
  }
  t.equal(session.closed, false);
  session.destroy();
  const dead = http2.connect(origin);
  dead.destroy();
  const [reason] = await once(new WebSocket(url, { http2: dead }), 'error');
  t.match(reason, { message: /has ended the session/ });
  const late = new WebSocket(url, { http2: session });
  const [error] = await once(late, 'error');
  t.match(error, { code: 'ERR_HTTP2_INVALID_SESSION' });
  t.throws(() => overHttp2({}), { code: 'ERR_INVALID_ARG_TYPE', message: /"session"/ });
  t.throws(() => acceptHttp2(http.createServer()), { code: 'ERR_INVALID_ARG_TYPE', message: /"server"/ });
});

t.test('servers that can not: the error says why', async (t) => {
  const silent = net.createServer(() => {});
  const servers = {
    'does not offer WebSockets over HTTP/2': http2.createServer(),
    'does not speak HTTP/2': http.createServer(),
    'timed out': silent
  };
  for (const [message, server] of Object.entries(servers)) {
    const sockets = new Set();
    server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
    server.listen(0, HOST);
    await once(server, 'listening');
    const options = { http2: true, handshakeTimeout: message === 'timed out' ? 100 : undefined };
    const socket = new WebSocket(`ws://${HOST}:${server.address().port}`, options);
    const closed = new Promise((resolve) => socket.on('close', resolve));
    const [error] = await once(socket, 'error');
    t.match(error.message, message);
    await closed;
    for (const each of sockets) each.destroy();
    server.close();
  }
  const refused = new WebSocket('ws://127.0.0.1:1', { http2: true });
  t.match((await once(refused, 'error'))[0], { code: 'ECONNREFUSED' });
  await once(new WebSocket('ws://[::1]:1', { http2: true }), 'error');
});

t.test("http2: 'preferred' falls back to HTTP/1.1", async (t) => {
  const tls = { ...certificate, allowHTTP1: true };
  const servers = {
    'a server of HTTP/1.1': ['ws', http.createServer()],
    'with TLS': ['wss', https.createServer(certificate)],
    'one of HTTP/2 that does not offer it': ['wss', http2.createSecureServer(tls)],
    'one that does': ['wss', acceptHttp2(http2.createSecureServer(tls))]
  };
  for (const [name, [scheme, server]] of Object.entries(servers)) {
    const sockets = new Set();
    server.on('connection', (socket) => sockets.add(socket));
    server.on('secureConnection', (socket) => sockets.add(socket));
    const wss = new WebSocketServer({ server });
    server.listen(0, HOST);
    await once(server, 'listening');
    const host = scheme === 'ws' ? HOST : 'localhost';
    const address = `${scheme}://${host}:${server.address().port}`;
    const open = async (options) => {
      const socket = new WebSocket(address, { http2: 'preferred', rejectUnauthorized: false, ...options });
      const [[end, request]] = await Promise.all([once(wss, 'connection'), once(socket, 'open')]);
      t.equal(request.httpVersion, name === 'one that does' ? '2.0' : '1.1', name);
      return { socket, end };
    };
    const { socket, end } = await open();
    const bytes = Buffer.alloc(1_000_000, 1);
    socket.send(bytes);
    const [received] = await once(end, 'message');
    t.ok(bytes.equals(received));
    end.send(bytes);
    t.ok(bytes.equals((await once(socket, 'message'))[0]));
    end.close(4000);
    t.equal((await once(socket, 'close'))[0], 4000);
    const other = await open({ servername: 'localhost' });
    other.socket.terminate();
    t.equal((await once(other.end, 'close'))[0], 1006);
    for (const each of sockets) each.destroy();
    server.close();
  }
  const refused = new WebSocket('wss://127.0.0.1:1', { http2: 'preferred' });
  t.match((await once(refused, 'error'))[0], { code: 'ECONNREFUSED' });
  const left = new WebSocket('ws://127.0.0.1:1', { http2: 'preferred' });
  const closed = new Promise((resolve) => left.on('error', () => {}).on('close', resolve));
  left.terminate();
  await closed;
});

t.test('a socket that is ended or destroyed before there is a stream', async (t) => {
  const { origin } = await startServer(t);
  const session = await openSession(t, origin);
  const create = overHttp2(session);
  for (const end of ['end', 'destroy']) {
    const socket = create({});
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nSec-WebSocket-Key: x\r\n\r\n');
    socket[end]();
    if (end === 'end') await once(socket.resume(), 'end');
    else await once(socket, 'close');
  }
  const silent = create({});
  silent.end();
  await once(silent, 'finish');
  silent.destroy();
});

t.test("a refusal is 'unexpected-response', with its body", async (t) => {
  const { url } = await startServer(t, { options: { path: '/right' } });
  const socket = new WebSocket(`${url}/wrong`, { http2: true });
  const [, response] = await once(socket, 'unexpected-response');
  t.equal(response.statusCode, 400);
  t.match(Buffer.concat(await response.toArray()).toString(), /Bad Request/);
  socket.on('error', () => {});
  socket.terminate();
});

t.test('twice is once', async (t) => {
  const { server, wss, url } = await startServer(t);
  t.equal(acceptHttp2(server), server);
  let connections = 0;
  wss.on('connection', () => connections++);
  const socket = new WebSocket(url, { http2: true });
  await once(socket, 'open');
  t.equal(connections, 1);
  socket.terminate();
  await once(socket, 'close');
});
