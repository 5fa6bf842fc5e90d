'use strict';

// WebSockets over HTTP/2 (RFC 8441): real sessions, over TCP and TLS.

const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');
const { text } = require('node:stream/consumers');
const t = require('tap');
const ws = require('ws');
const { Connection, Decoder, Encoder, acceptHttp2, acceptUpgrade, offerUpgrade, overHttp2 } = require('../index');
const { SharedSessions } = require('../lib/http2/shared-sessions');
const framemaskWs = require('../ws');
const certificate = require('./support/certificate');
const { listen } = require('./support/connections');
const { framesFor, head } = require('./support/frames');
const { pipePath } = require('./support/pipe-path');
const { withResolvers } = require('./support/promises');
const { deliver } = require('./support/websockets');

const { WebSocket, WebSocketServer } = framemaskWs;
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
if (!isNode) {
  t.plan(0, { skip: 'node:http2 of other runtimes lacks extended CONNECT' });
  process.exit();
}

const HOST = '127.0.0.1';
/** Error codes (RFC 9113 section 7). */
const INTERNAL_ERROR = 2;
const REFUSED_STREAM = 7;
const CANCEL = 8;
const ENHANCE_YOUR_CALM = 11;
const HTTP_1_1_REQUIRED = 13;
/**
 * Types and flags of frames, a setting (RFC 9113 section 6, RFC 8441 section 3) and a client's
 * first bytes.
 */
const [DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY] = [0, 1, 3, 4, 5, 6, 7];
const [ACK, END_HEADERS] = [1, 4];
const ENABLE_CONNECT_PROTOCOL = 8;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TRANSPORTS = {
  TCP: { scheme: 'http', create: (options) => http2.createServer(options) },
  TLS: {
    scheme: 'https',
    create: (options) => http2.createSecureServer({ ...certificate, allowHTTP1: true, ...options })
  }
};

/** A server for WebSockets over HTTP/2, with a WebSocketServer unless `attach` is given. */
async function startServer(t, { transport = 'TCP', library = framemaskWs, options = {}, settings, attach } = {}) {
  const { scheme, create } = TRANSPORTS[transport];
  // Twice is once.
  const server = acceptHttp2(acceptHttp2(create(settings === undefined ? {} : { settings })));
  const sessions = new Set();
  server.on('session', (session) => sessions.add(session));
  const wss = attach === undefined ? new library.WebSocketServer({ server, ...options }) : attach(server);
  const host = `${HOST}:${(await listen(t, server)).port}`;
  const url = `${scheme.replace('http', 'ws')}://${host}`;
  /** Both ends of a WebSocket over HTTP/2. */
  const open = async (clientOptions) => {
    const client = new WebSocket(url, { http2: true, ...clientOptions });
    const [[end, request]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
    for (const each of [client, end]) each.on('error', () => {});
    t.teardown(() => client.terminate());
    return { client, end, request };
  };
  return { server, wss, sessions, origin: `${scheme}://${host}`, url, open };
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

/** A raw request; `undefined` leaves a header out. */
function send(session, headers = {}) {
  const fields = Object.entries({ ...CONNECT, ...headers }).filter(([, value]) => value !== undefined);
  return session.request(Object.fromEntries(fields), { endStream: false }).on('error', () => {});
}

/** @returns {Promise<[object, import('node:http2').ClientHttp2Stream]>} the answer to a request */
async function request(session, headers) {
  const stream = send(session, headers);
  const [answer] = await once(stream, 'response');
  return [answer, stream];
}

const PAGE = { ':method': 'GET', ':scheme': 'http', ':path': '/' };
const NOT_WEBSOCKET = { ':protocol': undefined, ':scheme': undefined, ':path': undefined };

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
function literals(fields) {
  const prefixed = (string) => String.fromCharCode(string.length) + string;
  const each = Object.entries(fields).map(([name, value]) => `\0${prefixed(name)}${prefixed(value)}`);
  return Buffer.from(each.join(''), 'latin1');
}

/** The frames that come from a socket until its end, after the first bytes of a client. */
async function* framesOf(socket, from = 0) {
  let bytes = Buffer.alloc(0);
  let at = from;
  try {
    for await (const chunk of socket) {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= at + 9 && bytes.length >= at + 9 + bytes.readUIntBE(at, 3)) {
        const payload = at + 9;
        const end = payload + bytes.readUIntBE(at, 3);
        yield { type: bytes[at + 3], stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(payload, end) };
        at = end;
      }
    }
  } catch (error) {
    if (!socket.destroyed) throw error;
  }
}

/** Waits for a type of frame, on a stream or any. @returns {object} empty if the session ended */
async function frameOf(frames, type, stream) {
  for (;;) {
    const { value: frame, done } = await frames.next();
    if (done) return {};
    if (frame.type === type && (stream ?? frame.stream) === frame.stream) return frame;
  }
}

/**
 * A server that offers WebSockets, and does not acknowledge SETTINGS. `serve` reads and writes its
 * frames after those of `first`; `http1` takes connections of HTTP/1.1.
 */
function rawServer(t, serve, { first = Buffer.alloc(0), http1 } = {}) {
  const onConnection = async (socket) => {
    await once(
      socket.on('error', () => {}),
      'readable'
    );
    const start = socket.read();
    socket.unshift(start);
    if (!start.toString('latin1').startsWith('PRI')) {
      http1.emit('connection', socket);
      return;
    }
    const settings = h2Frame(SETTINGS, 0, 0, Buffer.from([0, ENABLE_CONNECT_PROTOCOL, 0, 0, 0, 1]));
    socket.write(Buffer.concat([settings, first]));
    const frames = framesOf(socket, PREFACE.length);
    const { payload } = await frameOf(frames, PING);
    socket.write(h2Frame(PING, ACK, 0, payload));
    await serve(frames, socket);
  };
  return listen(t, net.createServer(onConnection));
}

/** A client that writes frames itself. */
function rawClient(server) {
  const raw = net.connect(server.address().port, HOST).on('error', () => {});
  raw.write(Buffer.concat([PREFACE, h2Frame(SETTINGS, 0, 0, Buffer.alloc(0))]));
  return raw;
}

const closeOf = async (socket) =>
  (await once(socket, 'close')).map((value) => (Buffer.isBuffer(value) ? `${value}` : value));

for (const transport of Object.keys(TRANSPORTS)) {
  for (const [name, library] of Object.entries({ 'framemask/ws': framemaskWs, ws })) {
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
  const { server, wss, url, origin, open } = await startServer(t, { transport: 'TLS' });
  echoes(wss);
  server.on('request', (request, response) => response.end(`${request.httpVersion} ${request.method}`));
  for (const http2 of [false, true]) {
    const own = { constructor: 'one', 'x-many': ['two', 'three'] };
    const { client, request } = await open({ http2, rejectUnauthorized: false, headers: own });
    t.match(request, { httpVersion: http2 ? '2.0' : '1.1', method: 'GET', url: '/' });
    t.equal(request.headers.constructor, 'one');
    t.equal(request.headers['x-many'], 'two, three');
    t.equal(request.socket.remoteAddress, HOST);
    t.equal(request.socket.encrypted, true);
    t.match(request.headers, { host: url.slice(6), upgrade: 'websocket' });
    client.send('x');
    await once(client, 'message');
  }
  const session = await openSession(t, origin);
  const page = session.request({ ':path': '/' });
  t.equal(await text(page), '2.0 GET');
  const response = await new Promise((resolve) => https.get(origin, { rejectUnauthorized: false }, resolve));
  t.equal(await text(response), '1.1 GET');
  t.equal((await request(session, NOT_WEBSOCKET))[0][':status'], 405, 'a CONNECT that is not a WebSocket');
  server.on('connect', (request, response) => {
    if (request.headers[':protocol'] === undefined) response.stream.respond({ ':status': 418 }, { endStream: true });
  });
  t.equal((await request(session, NOT_WEBSOCKET))[0][':status'], 418, "a program's own listener answers it");
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

t.test('streams that are not WebSockets are answered, and a reset of one ends no server', async (t) => {
  const { server, origin } = await startServer(t);
  const session = await openSession(t, origin);
  for (const [headers, status] of [
    [PAGE, 404],
    [{ ...PAGE, ':method': 'HEAD' }, 404],
    [{ ...PAGE, ':method': 'POST' }, 404],
    [{ ':method': 'CONNECT' }, 501]
  ]) {
    const name = headers[':method'];
    const [answer] = await request(session, { ...NOT_WEBSOCKET, ...headers });
    t.equal(answer[':status'], status, name);
    const raw = rawClient(server);
    const frames = framesOf(raw);
    const open = (id) => h2Frame(HEADERS, END_HEADERS, id, literals({ ...headers, ':authority': 'localhost' }));
    const reset = (id) => h2Frame(RST_STREAM, 0, id, Buffer.from([0, 0, 0, INTERNAL_ERROR]));
    raw.write(Buffer.concat([open(1), reset(1), open(3)]));
    await frameOf(frames, HEADERS, 3);
    // Its answer has ended the second stream in one direction.
    raw.write(Buffer.concat([reset(3), h2Frame(PING, 0, 0, Buffer.alloc(8))]));
    await frameOf(frames, PING, 0);
    raw.destroy();
  }
});

t.test('streams of a program that listens for them are left to it, and a reset of one ends no server', async (t) => {
  for (const emitterOf of [(server) => server, async (server) => (await once(server, 'session'))[0]]) {
    const { server, origin } = await startServer(t);
    const listening = Promise.resolve(emitterOf(server)).then((emitter) => once(emitter, 'stream'));
    const session = await openSession(t, origin);
    const page = session.request({ ':path': '/' }).on('error', () => {});
    const [stream] = await listening;
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    stream.respond({ ':status': 299 });
    t.equal((await once(page, 'response'))[0][':status'], 299);
    const closed = new Promise((resolve) => stream.on('close', resolve));
    page.close(INTERNAL_ERROR);
    await closed;
  }
});

t.test("'headers', handleProtocols and noServer", async (t) => {
  const wss = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered].at(-1) });
  wss.on('headers', (headers) => headers.push('Set-Cookie: a=1', 'Set-Cookie: b=2', 'X-More: yes'));
  const attach = (server) =>
    server.on('upgrade', (...upgrade) => wss.handleUpgrade(...upgrade, (websocket) => websocket.send('hello')));
  const { origin } = await startServer(t, { attach });
  const [answer, stream] = await request(await openSession(t, origin), { 'sec-websocket-protocol': 'a, b' });
  t.match(answer, { ':status': 200, 'sec-websocket-protocol': 'b', 'set-cookie': ['a=1', 'b=2'], 'x-more': 'yes' });
  t.same((await once(stream, 'data'))[0], Buffer.from('\x81\x05hello', 'latin1'));
});

t.test("the empty head of an 'upgrade' is the program's, which may transfer it", async (t) => {
  const attach = (server) =>
    server.on('upgrade', (_request, socket, head) => {
      structuredClone(head.buffer, { transfer: [head.buffer] });
      socket.write('HTTP/1.1 101 Yes\r\n\r\n');
      const encoder = new Encoder({ role: 'server', writable: socket });
      encoder.ping();
      encoder.flush();
    });
  const { origin } = await startServer(t, { attach });
  const [, stream] = await request(await openSession(t, origin));
  t.same((await once(stream, 'data'))[0], Buffer.from([0x89, 0]));
});

t.test("answers of a listener of 'upgrade'", async (t) => {
  const answers = {};
  const attach = (server) => server.on('upgrade', ({ url }, socket) => answers[url](socket));
  const { origin } = await startServer(t, { attach });
  const session = await openSession(t, origin);

  const called = new Promise((resolve) => {
    answers['/old'] = (socket) =>
      socket.end(`${head('HTTP/1.1 426 Upgrade Required', 'Connection: close')}no`, resolve);
  });
  const [old, body] = await request(session, { ':path': '/old' });
  t.equal(old[':status'], 400);
  t.equal(await text(body), 'no');
  await called;

  answers['/nothing'] = (socket) => socket.end();
  t.equal((await request(session, { ':path': '/nothing' }))[0][':status'], 500);

  const written = new Promise((resolve) => {
    answers['/frame'] = (socket) => socket.write(`${head('HTTP/1.1 101 Yes', 'Upgrade: websocket')}more`, resolve);
  });
  const [, more] = await request(session, { ':path': '/frame' });
  t.equal(String((await once(more, 'data'))[0]), 'more');
  await written;

  answers['/latin1'] = (socket) => socket.end(`${head('HTTP/1.1 403 No')}\xe9`, 'latin1');
  const [, latin1] = await request(session, { ':path': '/latin1' });
  t.same((await once(latin1, 'data'))[0], Buffer.from([0xe9]));

  answers['/bytes'] = (socket) => socket.end(new Uint8Array(Buffer.from(head('HTTP/1.1 403 No', 'X-Name:\t é à '))));
  const [bytes] = await request(session, { ':path': '/bytes' });
  t.same([bytes[':status'], Buffer.from(bytes['x-name'], 'latin1').toString()], [403, 'é à']);

  answers['/gone'] = (socket) => socket.destroy().end(head('HTTP/1.1 400 Bad Request'));
  answers['/wrong'] = (socket) => {
    t.throws(() => socket.write('hello'), /one head of HTTP\/1.1/);
    socket.destroy();
  };
  for (const path of ['/gone', '/wrong']) {
    const stream = send(session, { ':path': path });
    await once(stream, 'close');
    t.equal(stream.rstCode, CANCEL, path);
  }
});

for (const transport of Object.keys(TRANSPORTS)) {
  t.test(`${transport}: request.socket is the stream, with the properties of a socket`, async (t) => {
    const { wss, sessions, open } = await startServer(t, { transport });
    const [[, request], { client, end }] = await Promise.all([
      once(wss, 'connection'),
      open({ rejectUnauthorized: false })
    ]);
    const { socket } = request;
    const [{ socket: own }] = sessions;
    t.equal(socket, end._socket);
    t.same([socket.remoteAddress, socket.remotePort], [HOST, own.remotePort]);
    t.equal(socket.encrypted, transport === 'TLS' ? true : undefined);
    if (transport === 'TLS') t.equal(socket.getProtocol(), own.getProtocol());
    for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref']) t.equal(socket[name](true), socket, name);
    const closed = once(end, 'close');
    [...sessions][0].destroy();
    await Promise.all([closed, once(client, 'close')]);
    t.equal(socket.remoteAddress, undefined, 'after the end of the session, as over HTTP/1.1');
  });
}

t.test("a listener of 'upgrade' that destroys the request, or its socket, ends that WebSocket alone", async (t) => {
  const ends = { '/request': (request) => request.destroy(), '/socket': ({ socket }) => socket.destroy() };
  const wss = new WebSocketServer({ noServer: true });
  const attach = (server) => {
    server.on('upgrade', (request, ...rest) => {
      if (ends[request.url] !== undefined) ends[request.url](request);
      else wss.handleUpgrade(request, ...rest, (socket) => wss.emit('connection', socket, request));
    });
    return wss;
  };
  const { url, open } = await startServer(t, { attach });
  const { client, end } = await open();
  for (const path of Object.keys(ends)) {
    const [error] = await once(new WebSocket(url + path, { http2: true }), 'error');
    t.equal(error.message, 'socket hang up', path);
  }
  await deliver(client, end, 'still open');
});

t.test("a listener of 'stream' or 'connect' that has begun an answer keeps its stream", async (t) => {
  const { server, origin } = await startServer(t);
  server.on('stream', (stream) => stream.respond({ ':status': 299 }));
  const [answer] = await request(await openSession(t, origin));
  t.equal(answer[':status'], 299);
});

t.test('CONNECT of HTTP/1.1 on the same port: the connection is destroyed, as without a listener', async (t) => {
  const { server } = await startServer(t, { transport: 'TLS' });
  const { port } = server.address();
  const socket = tls.connect({
    port,
    host: HOST,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    allowHalfOpen: true
  });
  socket.on('error', () => {});
  socket.write('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n');
  const [own] = await once(server, 'secureConnection');
  await once(own, 'close');
  socket.destroy();
});

/** An endpoint that echoes Close frames. @returns {Encoder} */
function speak(socket, role, deflate, onMessage) {
  const encoder = new Encoder({ role, deflate, writable: socket });
  const onClose = (code) => {
    encoder.close(code);
    encoder.flush();
    socket.end();
  };
  const decoder = new Decoder({ role, deflate, onMessage: (data) => onMessage(data, encoder), onClose });
  socket.on('data', (chunk) => decoder.write(chunk));
  return encoder;
}

t.test('the codec: acceptUpgrade and offerUpgrade', async (t) => {
  const attach = (server) =>
    server.on('upgrade', (request, socket, head) => {
      const { deflate } = acceptUpgrade(request, socket, head, { protocol: 'chat', deflate: true });
      // Memory that nothing else lies in.
      structuredClone(head.buffer, { transfer: [head.buffer] });
      speak(socket, 'server', deflate, (data, encoder) => encoder.text(data));
    });
  const { origin } = await startServer(t, { attach });
  const offer = offerUpgrade({ protocols: ['chat'], deflate: true });
  const sent = http.get(origin, { headers: offer.headers, createConnection: overHttp2() });
  const [response, socket, rest] = await once(sent, 'upgrade');
  t.equal(rest.length, 0);
  t.not(rest.buffer, Buffer.from('x').buffer, "the program's memory, not that of all Buffers");
  const { deflate, protocol } = offer.readAnswer(response);
  t.equal(protocol, 'chat');
  const sentText = 'x'.repeat(10_000);
  const echoed = new Promise((resolve) => {
    speak(socket, 'client', deflate, (data, encoder) => {
      resolve(data);
      encoder.close(1000);
    }).text(sentText);
  });
  await once(socket, 'close');
  t.equal(await echoed, sentText);
});

t.test("a request's methods of its socket, and those of the socket", async (t) => {
  const { origin } = await startServer(t);
  const fallback = http.createServer().on('upgrade', (_request, socket) => {
    socket.end(head('HTTP/1.1 101 Yes', 'Connection: Upgrade', 'Upgrade: websocket'));
  });
  const { port } = await listen(t, fallback);
  const calls = ['setNoDelay', 'setKeepAlive', 'ref', 'unref'].map((name) => [
    name,
    t.capture(net.Socket.prototype, name, net.Socket.prototype[name])
  ]);
  for (const [url, expected] of [
    [origin, 0],
    [`http://${HOST}:${port}`, 2]
  ]) {
    const createConnection = overHttp2(null, { fallback: true });
    const sent = http.get(url, { headers: offerUpgrade().headers, createConnection });
    sent.setNoDelay(true);
    sent.setSocketKeepAlive(true, 12_345);
    sent.setTimeout(60_000);
    const [socket] = await once(sent, 'socket');
    t.equal(socket.ref().unref(), socket);
    await once(sent, 'upgrade');
    socket.setNoDelay(true).setKeepAlive(true, 12_345).ref().unref();
    const timedOut = new Promise((resolve) => socket.setTimeout(1, resolve));
    await timedOut;
    const onTimeout = () => t.fail('the timeout was taken back');
    socket.setTimeout(60_000, onTimeout).setTimeout(0, onTimeout);
    t.equal(socket.listenerCount('timeout'), 0);
    socket.destroy();
    for (const [name, capture] of calls) {
      const seen = capture().filter(({ receiver }) => receiver === socket._stream);
      t.equal(seen.length, expected, name);
    }
  }
});

t.test('https.get with overHttp2 uses TLS', async (t) => {
  const { origin } = await startServer(t, { transport: 'TLS' });
  const { headers } = offerUpgrade();
  const sent = https.get(origin, { headers, rejectUnauthorized: false, createConnection: overHttp2() });
  const [response, socket] = await once(sent, 'upgrade');
  t.equal(response.statusCode, 101);
  socket.destroy();
});

t.test('a handshake that a program writes itself: with bytes after it, and in pieces', async (t) => {
  const { wss, origin } = await startServer(t);
  const { hostname: host, port, host: authority } = new URL(origin);
  const connect = () => overHttp2()({ host, port, defaultPort: 80 });
  const headers = { ...offerUpgrade().headers, Host: authority };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = Buffer.from(head('GET / HTTP/1.1', ...lines));

  const message = new Promise((resolve) => wss.on('connection', (end) => end.on('message', resolve)));
  const socket = connect();
  t.teardown(() => socket.destroy());
  socket.write(Buffer.concat([request, framesFor('server').binary('hi')]));
  t.equal(String(await message), 'hi');

  const inPieces = connect();
  const failed = once(inPieces, 'error');
  inPieces.write(request.subarray(0, 20));
  t.match((await failed)[0], { message: 'The request must be written in one piece' });
});

t.test('closing: END_STREAM after both Close frames, CANCEL without', async (t) => {
  const { open } = await startServer(t);
  const sibling = await open();
  for (const [how, codes, state] of [
    ['close', [4001, 'end'], { rstCode: 0, aborted: false }],
    ['terminate', [1006, ''], { rstCode: CANCEL }]
  ]) {
    for (const closer of ['client', 'end']) {
      const both = await open();
      const streams = [both.client._socket._stream, both.end._socket];
      const closed = [both.client, both.end].map(closeOf);
      both[closer][how](4001, 'end');
      t.same(await Promise.all(closed), [codes, codes], `${how} of the ${closer}`);
      for (const stream of streams) {
        if (!stream.destroyed) await once(stream, 'close');
        t.match(stream, state, `${how} of the ${closer}: how streams end`);
      }
    }
  }
  t.equal(String((await deliver(sibling.client, sibling.end, 'still there'))[0]), 'still there');
  const ended = [sibling.client, sibling.end].map(closeOf);
  sibling.end._socket.session.destroy();
  for (const [code] of await Promise.all(ended)) t.equal(code, 1006, 'the session has ended');
});

t.test('streams that are reset at once make no WebSocket (CVE-2023-44487)', async (t) => {
  const { server, wss, origin } = await startServer(t);
  let streams = 0;
  let upgrades = 0;
  server.on('stream', () => streams++).on('upgrade', () => upgrades++);
  const burst = [];
  for (let i = 0; i < 50; i++) {
    burst.push(h2Frame(HEADERS, END_HEADERS, 2 * i + 1, literals(CONNECT)));
    burst.push(h2Frame(RST_STREAM, 0, 2 * i + 1, Buffer.from([0, 0, 0, CANCEL])));
  }
  rawClient(server).write(Buffer.concat(burst));
  while (streams < 50) await once(server, 'stream');
  t.equal((await request(await openSession(t, origin)))[0][':status'], 200);
  t.equal(upgrades, 1);
  t.equal(wss.clients.size, 1);
});

for (const accepts of [true, false]) {
  t.test(`a client that is gone when verifyClient decides ${accepts}`, async (t) => {
    const { promise: decided, resolve } = withResolvers();
    const verifyClient = (_info, done) => resolve(done);
    const { wss, server, origin } = await startServer(t, { options: { verifyClient } });
    const stream = send(await openSession(t, origin));
    const [, socket] = await once(server, 'upgrade');
    const closed = new Promise((resolve) => socket.on('close', resolve));
    stream.close(INTERNAL_ERROR);
    await closed;
    (await decided)(accepts);
    t.equal(wss.clients.size, 0);
  });
}

t.test('a paused WebSocket stalls no other one of its session', async (t) => {
  const { open } = await startServer(t);
  const [one, two] = [await open(), await open()];
  // The client reads no more than it is asked for, either.
  two.client._socket.setTimeout(60_000);
  for (const [from, to, other] of [
    [one.client, one.end, two],
    [two.end, two.client, one]
  ]) {
    to.pause();
    const sent = 200;
    for (let i = 0; i < sent; i++) from.send(Buffer.alloc(50_000));
    for (let i = 0; i < 20; i++) {
      await deliver(other.client, other.end, 'ping');
      await deliver(other.end, other.client, 'pong');
    }
    t.ok(from.bufferedAmount > 5_000_000, `${from.bufferedAmount} bytes wait`);
    let received = 0;
    const all = new Promise((resolve) => to.on('message', () => ++received === sent && resolve()));
    to.resume();
    await all;
    t.equal(from.bufferedAmount, 0);
  }
});

for (const reader of ['client', 'end']) {
  for (const closer of ['client', 'end']) {
    t.test(`${closer} closes while ${reader} has not read everything: stream and session end`, async (t) => {
      const { sessions, open } = await startServer(t);
      // With so many bytes there is room for both ends of the stream, or for one of them, or for
      // none.
      for (const length of [60_000, 100_000, 1_000_000]) {
        const both = await open();
        const [session] = [...sessions].filter(({ destroyed }) => !destroyed);
        const ended = once(session, 'close');
        const closed = [both.client, both.end].map((socket) => new Promise((resolve) => socket.on('close', resolve)));
        const other = both[reader === 'client' ? 'end' : 'client'];
        both[reader].pause();
        for (let sent = 0; sent < length; sent += 1000) other.send(Buffer.alloc(1000));
        // These Pings pass the messages by: they show that the peer has got all that it takes.
        for (let i = 0; i < 3; i++) await new Promise((resolve) => session.ping(resolve));
        both[closer].close();
        for (let i = 0; i < 3; i++) await new Promise((resolve) => session.ping(resolve));
        both[closer].terminate();
        if (closer !== reader) both[reader].resume();
        await Promise.all([...closed, ended]);
      }
    });
  }
}

t.test('a fake clock stops no WebSocket, and a test can advance it to the timeout', async (t) => {
  const { sessions, open } = await startServer(t);
  const advanced = [];
  t.intercept(globalThis, 'setImmediate', { value: () => ({}) });
  t.intercept(globalThis, 'setTimeout', {
    value(callback) {
      advanced.push(callback);
      return 1;
    }
  });
  const { client } = await open();
  const ended = once([...sessions][0], 'close');
  client.terminate();
  await ended;
  advanced.length = 0;
  const silent = net.createServer();
  const accepted = once(silent, 'connection');
  const failed = once(new WebSocket((await listen(t, silent)).url, { http2: true, handshakeTimeout: 10 }), 'error');
  await accepted;
  for (const callback of advanced) callback();
  t.equal((await failed)[0].message, 'Opening handshake has timed out');
});

t.test('wss: uses TLS, whatever the default port', async (t) => {
  const { server, open } = await startServer(t, { transport: 'TLS' });
  const { request } = await open({ rejectUnauthorized: false, defaultPort: server.address().port });
  t.equal(request.socket.encrypted, true);
});

t.test("a client shares a session up to the server's limit, and until GOAWAY", async (t) => {
  const { wss, sessions, open } = await startServer(t, { settings: { maxConcurrentStreams: 2 } });
  echoes(wss);
  const pairs = [await open(), await open(), await open()];
  t.equal(sessions.size, 2);
  const goaway = once(pairs[2].client._socket._share.session, 'goaway');
  [...sessions][1].goaway();
  await goaway;
  pairs.push(await open());
  t.equal(sessions.size, 3);
  for (const { client } of pairs) {
    client.send('still');
    t.equal(String((await once(client, 'message'))[0]), 'still');
    client.close();
    await once(client, 'close');
  }
});

t.test('a client takes no pushes, also of a server that ignores its settings', async (t) => {
  const { sessions, open } = await startServer(t, { settings: { maxConcurrentStreams: 1 } });
  await open({ settings: { enablePush: true, initialWindowSize: 100_000 } });
  t.match([...sessions][0].remoteSettings, { enablePush: false, initialWindowSize: 100_000 });

  const refused = withResolvers();
  const { url } = await rawServer(t, async (frames, socket) => {
    const { stream } = await frameOf(frames, HEADERS);
    const promise = Buffer.concat([Buffer.from([0, 0, 0, 2]), literals({ ...PAGE, ':authority': 'localhost' })]);
    socket.write(h2Frame(PUSH_PROMISE, END_HEADERS, stream, promise));
    socket.write(h2Frame(HEADERS, END_HEADERS, 2, literals({ ':status': '200' })));
    socket.write(h2Frame(DATA, 0, 2, Buffer.alloc(10_000)));
    refused.resolve(await frameOf(frames, RST_STREAM, 2));
    socket.write(h2Frame(HEADERS, END_HEADERS, stream, literals({ ':status': '200' })));
  });
  const client = new WebSocket(url, { http2: true });
  t.teardown(() => client.terminate());
  await once(client, 'open');
  t.equal((await refused.promise).payload.readUInt32BE(), CANCEL);
});

t.test('a client that is told of more and more origins ends the session', async (t) => {
  const { sessions, open } = await startServer(t, { transport: 'TLS' });
  const { client, end } = await open({ rejectUnauthorized: false });
  const [session] = sessions;
  session.origin('https://one.example');
  await new Promise((resolve) => session.ping(resolve));
  await deliver(client, end, 'still open');
  const closed = closeOf(client);
  for (let i = 0; i < 1100; i++) session.origin(`https://${i}.example`);
  t.same(await closed, [1006, '']);
});

/** A server behind a proxy of TCP, which can leave its present connections without a word. */
async function startProxied(t) {
  const started = await startServer(t);
  const pairs = [];
  const proxy = net.createServer((socket) => {
    const way = net.connect(started.server.address().port, HOST).on('error', () => {});
    socket.pipe(way).pipe(socket);
    pairs.push([socket, way]);
  });
  const { url } = await listen(t, proxy);
  const stall = () => {
    for (const [socket, way] of pairs.splice(0)) {
      socket.unpipe(way);
      way.unpipe(socket);
      t.teardown(() => way.destroy());
    }
  };
  const open = async (options) => {
    const client = new WebSocket(url, { http2: true, ...options }).on('error', () => {});
    t.teardown(() => client.terminate());
    await once(client, 'open');
    return client;
  };
  return { ...started, url, open, stall };
}

const entryOf = (client) => client._socket._share._entry;

t.test('a silent session is joined only if its peer answers a Ping', async (t) => {
  const { sessions, open, stall } = await startProxied(t);
  const first = await open();
  entryOf(first).answeredAt = Number.NEGATIVE_INFINITY;
  stall();
  const others = await Promise.all([open(), open()]);
  t.equal(sessions.size, 2, 'both wait for one Ping, and share the next session');
  entryOf(others[0]).answeredAt = Number.NEGATIVE_INFINITY;
  await Promise.all([open(), open()]);
  t.equal(sessions.size, 2, 'its peer answers');
  const { session } = entryOf(first);
  first.terminate();
  await once(session, 'close');
});

t.test('a session is set aside after a handshake that timed out', async (t) => {
  const { sessions, url, open, stall } = await startProxied(t);
  const first = await open();
  stall();
  const [error] = await once(new WebSocket(url, { http2: true, handshakeTimeout: 50 }), 'error');
  t.equal(error.message, 'Opening handshake has timed out');
  await open();
  t.equal(sessions.size, 2);
  const { session } = entryOf(first);
  first.terminate();
  await once(session, 'close');
});

t.test('a session whose server does not end its side ends after closeTimeout', async (t) => {
  const { url } = await rawServer(t, async (frames, socket) => {
    const { stream } = await frameOf(frames, HEADERS);
    socket.write(h2Frame(HEADERS, END_HEADERS, stream, literals({ ':status': '200' })));
  });
  const client = new WebSocket(url, { http2: true, closeTimeout: 10 });
  await once(client, 'open');
  const { socket } = entryOf(client);
  client.terminate();
  await once(socket, 'close');
});

t.test("clients that open at once keep to the server's limit", async (t) => {
  const { sessions, open } = await startServer(t, { settings: { maxConcurrentStreams: 2 } });
  const pairs = await Promise.all(Array.from({ length: 5 }, () => open({ handshakeTimeout: 20_000 })));
  t.equal(sessions.size, 3);
  const last = once([...sessions][0], 'close');
  for (const { client } of pairs) client.close();
  await last;
});

t.test('clients share a session only if their options of TLS are the same', async (t) => {
  const { sessions, open } = await startServer(t, { transport: 'TLS' });
  const pins = [() => undefined, () => undefined];
  const options = (more) => ({ rejectUnauthorized: false, ...more });
  await open(options({ checkServerIdentity: pins[0] }));
  for (const more of [
    { checkServerIdentity: pins[1] },
    { pskCallback: () => null },
    { secureContext: tls.createSecureContext() },
    { minVersion: 'TLSv1.3' },
    { ca: [Buffer.from(certificate.cert)] }
  ]) {
    const { size } = sessions;
    await open(options(more));
    t.equal(sessions.size, size + 1, Object.keys(more)[0]);
  }
  const { size } = sessions;
  await open(options({ checkServerIdentity: pins[0] }));
  await open(options({ ca: [Buffer.from(certificate.cert)] }));
  t.equal(sessions.size, size, 'the same options');
});

t.test('clients share a session only if they agree in all that tells connections of https.Agent apart', async (t) => {
  const { server } = await startServer(t);
  const options = { host: HOST, port: server.address().port };
  const namesIn = (agent) => {
    const names = new Set();
    agent.getName(new Proxy({}, { get: (_, name) => void names.add(name) }));
    return [...names].filter((name) => typeof name === 'string');
  };
  const ofTcp = namesIn(new http.Agent());
  const shared = new SharedSessions();
  const entries = [shared.join('http', options)];
  for (const name of [...namesIn(new https.Agent()), 'session', 'socket'].filter((each) => !ofTcp.includes(each))) {
    const entry = shared.join('http', { ...options, [name]: 'one' });
    t.notOk(entries.includes(entry), name);
    entries.push(entry);
  }
  t.equal(shared.join('http', options), entries[0]);
  for (const { session } of entries) session.destroy();
});

t.test('the option http2: wrong values, and options that exclude it', async (t) => {
  const url = 'ws://127.0.0.1:1';
  for (const http2 of ['yes', '', 0, 1, {}, () => {}]) {
    const expected = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message: /"options\.http2" argument must be/ };
    t.throws(() => new WebSocket(url, { http2 }), expected, String(http2));
  }
  for (const more of [
    { agent: new http.Agent() },
    { agent: false },
    { createConnection: () => net.connect(1, HOST) }
  ]) {
    const [name] = Object.keys(more);
    const expected = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE', message: `http2 and ${name} exclude` };
    for (const http2 of [true, 'preferred', { request() {} }]) {
      t.throws(() => new WebSocket(url, { http2, ...more }), expected, name);
      t.throws(() => new WebSocket(url, [], { http2, ...more }), expected, name);
    }
  }
  for (const without of [
    { http2: false },
    { http2: null },
    { http2: true, agent: undefined, createConnection: null }
  ]) {
    const [error] = await once(new WebSocket(url, without), 'error');
    t.equal(error.code, 'ECONNREFUSED');
  }
});

t.test('a session of the program: it stays open', async (t) => {
  const { origin, url, open } = await startServer(t);
  const session = await openSession(t, origin);
  for (let i = 0; i < 2; i++) {
    const { client } = await open({ http2: session });
    client.close();
    await once(client, 'close');
  }
  t.equal(session.closed, false);
  session.destroy();
  const dead = http2.connect(origin);
  dead.destroy();
  const leaving = await openSession(t, origin);
  await request(leaving);
  leaving.close();
  for (const [http2, error] of [
    [dead, { message: /The session has ended/ }],
    [leaving, { message: /The session has ended/ }],
    [session, { code: 'ERR_HTTP2_INVALID_SESSION' }]
  ]) {
    t.match((await once(new WebSocket(url, { http2 }), 'error'))[0], error);
  }
  t.throws(() => overHttp2({}), { code: 'ERR_INVALID_ARG_TYPE', message: /"session"/ });
  t.throws(() => overHttp2(null, { fallback: 'yes' }), { code: 'ERR_INVALID_ARG_TYPE', message: /"options.fallback"/ });
  t.throws(() => acceptHttp2(http.createServer()), { code: 'ERR_INVALID_ARG_TYPE', message: /"server"/ });
});

t.test('a redirect to another origin leaves a session of the program, and nothing is sent there', async (t) => {
  const requests = [];
  const attach = (server) =>
    server.on('upgrade', ({ url, headers }, socket) => {
      requests.push([headers.host, url]);
      const location = url.startsWith('/to/') ? `Location: ${decodeURIComponent(url.slice(4))}` : 'X-No: redirect';
      socket.end(head('HTTP/1.1 302 Found', location));
    });
  const { origin, url, server } = await startServer(t, { attach });
  const other = new WebSocketServer({ server: http.createServer() });
  const { url: otherUrl } = await listen(t, other.options.server);
  const { port } = server.address();
  const session = await openSession(t, origin);
  const connect = (target, create) => new WebSocket(target, { followRedirects: true, ...create });
  const to = (target) => `${url}/to/${encodeURIComponent(target)}`;

  for (const target of ['ws://bank.example/', otherUrl, `ws://localhost:${port}`, `wss://${HOST}:${port}/`]) {
    for (const create of [{ http2: session }, { createConnection: overHttp2(session) }]) {
      const client = connect(to(target), create);
      client.on('redirect', (_url, request) => request.setHeader('Authorization', 'Bearer token'));
      const [error] = await once(client, 'error');
      t.match(error, { code: 'ERR_INVALID_ARG_VALUE', message: 'The session is not one for ' }, target);
    }
  }
  const [error] = await once(connect(`wss://${HOST}:${port}/`, { http2: session }), 'error');
  t.match(error, { code: 'ERR_INVALID_ARG_VALUE' }, 'TLS is asked for, and the session is in clear text');
  t.equal(requests.length, 8);

  const same = connect(to('/same'), { http2: session });
  t.match((await once(same, 'error'))[0], { message: 'Unexpected server response: 302' });
  t.same(requests.at(-1), [`${HOST}:${port}`, '/same'], 'the same origin, on the session');
  const left = connect(to(otherUrl), { createConnection: overHttp2(session, { fallback: true }) });
  const [[, { httpVersion }]] = await Promise.all([once(other, 'connection'), once(left, 'open')]);
  t.equal(httpVersion, '1.1', 'the fallback connects to the other origin');
  left.terminate();
});

t.test('a session of the program whose server offers WebSockets later: no listeners stay', async (t) => {
  const warnings = [];
  const onWarning = ({ name }) => warnings.push(name);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  const server = http2.createServer();
  const serverSession = once(server, 'session');
  const { port, url } = await listen(t, server);
  const session = await openSession(t, `http://${HOST}:${port}`);
  const listeners = () => session.eventNames().map((name) => [name, session.listenerCount(name)]);
  const before = listeners();
  for (let i = 0; i < 50; i++) {
    const [error] = await once(new WebSocket(url, { http2: session }), 'error');
    t.equal(error.message, 'The server does not offer WebSockets over HTTP/2');
  }
  t.same(listeners(), before, 'after failures');

  const wss = new WebSocketServer({ server: acceptHttp2(server) });
  (await serverSession)[0].settings({ enableConnectProtocol: true });
  await once(session, 'remoteSettings');
  const clients = Array.from({ length: 50 }, () => new WebSocket(url, { http2: session }));
  await Promise.all(clients.map((client) => once(client, 'open')));
  t.equal(wss.clients.size, 50);
  t.same(listeners(), before, 'with 50 open WebSockets');
  for (const client of clients) client.close();
  await Promise.all(clients.map((client) => once(client, 'close')));
  t.same(listeners(), before, 'after they have closed');
  t.same(warnings, []);
});

t.test('a session of the program that takes no more Pings for now', async (t) => {
  const { origin, url } = await startServer(t);
  const session = http2.connect(origin, { maxOutstandingPings: 1 });
  t.teardown(() => session.destroy());
  const known = once(session, 'remoteSettings');
  session.once('connect', () => session.ping(() => {}));
  const [error] = await once(new WebSocket(url, { http2: session }), 'error');
  t.equal(error.cause.code, 'ERR_HTTP2_PING_CANCEL');
  await known;
  const client = new WebSocket(url, { http2: session });
  session.ping(() => {});
  await once(client, 'open');
  client.close();
  await once(client, 'close');
});

t.test('a session that ends while it connects', async (t) => {
  const { origin, url } = await startServer(t, { transport: 'TLS' });
  const client = new WebSocket(url, { http2: true, rejectUnauthorized: false });
  const failed = once(client, 'error');
  await new Promise(setImmediate);
  const sharedEnded = once(client._req.socket._share.session, 'close');
  client.close();
  t.match((await failed)[0], { message: 'WebSocket was closed before the connection was established' });
  await sharedEnded;
  const session = http2.connect(origin, { rejectUnauthorized: false });
  const ended = once(session, 'close');
  session.socket.prependOnceListener('secureConnect', () => session.destroy());
  t.match((await once(new WebSocket(url, { http2: session }), 'error'))[0], { message: /The session has ended/ });
  await ended;
});

for (const [message, server, handshakeTimeout] of [
  ['does not offer WebSockets over HTTP/2', http2.createServer()],
  ['does not speak HTTP/2', http.createServer()],
  ['timed out', net.createServer(), 100]
]) {
  t.test(`a server that can not: ${message}`, async (t) => {
    const { url } = await listen(t, server);
    const socket = new WebSocket(url, { http2: true, handshakeTimeout });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    t.match((await once(socket, 'error'))[0].message, message);
    await closed;
  });
}

t.test('a server that is not there', async (t) => {
  for (const [url, option] of [
    ['ws://127.0.0.1:1', true],
    ['ws://[::1]:1', true],
    ['wss://127.0.0.1:1', 'preferred']
  ]) {
    const [error] = await once(new WebSocket(url, { http2: option }), 'error');
    // Not each machine has the address of IPv6.
    t.match(error, { code: url.includes('[') ? /^E(CONNREFUSED|ADDRNOTAVAIL)$/ : 'ECONNREFUSED' }, url);
  }
  const left = new WebSocket('ws://127.0.0.1:1', { http2: 'preferred' });
  const closed = new Promise((resolve) => left.on('error', () => {}).on('close', resolve));
  left.terminate();
  await closed;
});

const secure = { ...certificate, allowHTTP1: true };
for (const [title, scheme, server, version] of [
  ['a server of HTTP/1.1', 'ws', http.createServer(), '1.1'],
  ['one with TLS', 'wss', https.createServer(certificate), '1.1'],
  ['one of HTTP/2 that does not offer it', 'wss', http2.createSecureServer(secure), '1.1'],
  ['one that does', 'wss', acceptHttp2(http2.createSecureServer(secure)), '2.0']
]) {
  t.test(`http2: 'preferred' with ${title} uses HTTP/${version}`, async (t) => {
    const wss = new WebSocketServer({ server });
    const { port } = await listen(t, server);
    const open = async (options) => {
      const address = `${scheme}://${scheme === 'ws' ? HOST : 'localhost'}:${port}`;
      const socket = new WebSocket(address, { http2: 'preferred', rejectUnauthorized: false, ...options });
      const [[end, request]] = await Promise.all([once(wss, 'connection'), once(socket, 'open')]);
      t.equal(request.httpVersion, version);
      return { socket, end };
    };
    const { socket, end } = await open();
    const bytes = Buffer.alloc(1_000_000, 1);
    for (const from of [socket, end]) {
      t.ok(bytes.equals((await deliver(from, from === socket ? end : socket, bytes))[0]));
    }
    end.close(4000);
    t.equal((await once(socket, 'close'))[0], 4000);
    const other = await open({ servername: 'localhost' });
    other.socket.terminate();
    t.equal((await once(other.end, 'close'))[0], 1006);
  });
}

const codeOf = (code) => Buffer.from([0, 0, 0, code]);
/** GOAWAY with the last stream that was processed (RFC 9113 section 6.8). */
const goaway = (last, code) => h2Frame(GOAWAY, 0, 0, Buffer.concat([codeOf(last), codeOf(code)]));
for (const [name, first, answer] of [
  ['GOAWAY with SETTINGS', goaway(0, 0), () => Buffer.alloc(0)],
  ['GOAWAY(ENHANCE_YOUR_CALM) with SETTINGS', goaway(0, ENHANCE_YOUR_CALM), () => Buffer.alloc(0)],
  ...[
    ['GOAWAY', () => goaway(0, 0)],
    ['GOAWAY(HTTP_1_1_REQUIRED)', () => goaway(0, HTTP_1_1_REQUIRED)],
    ['HTTP_1_1_REQUIRED', (stream) => h2Frame(RST_STREAM, 0, stream, codeOf(HTTP_1_1_REQUIRED))],
    ['REFUSED_STREAM', (stream) => h2Frame(RST_STREAM, 0, stream, codeOf(REFUSED_STREAM))],
    ['CANCEL', (stream) => h2Frame(RST_STREAM, 0, stream, codeOf(CANCEL))],
    ['RST_STREAM(NO_ERROR)', (stream) => h2Frame(RST_STREAM, 0, stream, codeOf(0))],
    ['the end of the connection', () => null]
  ].map(([name, answer]) => [`${name} in place of an answer`, Buffer.alloc(0), answer])
]) {
  t.test(`http2: 'preferred' after ${name} uses HTTP/1.1`, async (t) => {
    const wss = new WebSocketServer({ server: http.createServer() });
    let requests = 0;
    const serve = async (frames, socket) => {
      for (;;) {
        const { stream } = await frameOf(frames, HEADERS);
        if (stream === undefined) return;
        requests++;
        const bytes = answer(stream);
        if (bytes === null) socket.destroy();
        else socket.write(bytes);
      }
    };
    const { url } = await rawServer(t, serve, { first, http1: wss.options.server });
    echoes(wss);
    const client = new WebSocket(url, ['a'], { http2: 'preferred' });
    const [[, request]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
    t.match(request, { httpVersion: '1.1', headers: { 'sec-websocket-protocol': 'a' } });
    client.send('after');
    t.equal(String((await once(client, 'message'))[0]), 'after');
    client.terminate();
    const [error] = await once(new WebSocket(url, { http2: true }), 'error');
    t.type(error, Error, error.message);
    t.equal(requests, first.length > 0 ? 0 : 2);
  });
}

/** A message that is answered, a Close frame, and the reset of a stream that has been in use. */
const leave = (stream, f) =>
  Buffer.concat([
    h2Frame(DATA, 0, stream, Buffer.concat([f.text('echo'), f.close(1000, 'bye')])),
    h2Frame(RST_STREAM, 0, stream, codeOf(0))
  ]);
const FOREVER = { closeTimeout: 2 ** 31 - 1 };
/** A handler of both doors: `settle` gets the close code. */
const echoAndTell = (settle) => ({
  onMessage(data) {
    this.send(data);
  },
  onClose: settle
});

for (const door of ['Connection', 'framemask/ws']) {
  t.test(`the peer resets a stream with NO_ERROR after its Close frame: ${door}`, async (t) => {
    const ofServer = withResolvers();
    const server = acceptHttp2(http2.createServer());
    const options = { ...echoAndTell(ofServer.resolve), ...FOREVER };
    if (door === 'Connection') server.on('upgrade', (...upgrade) => Connection.accept(...upgrade, options));
    else
      echoes(new WebSocketServer({ server, ...FOREVER })).on('connection', (end) => end.on('close', ofServer.resolve));
    await listen(t, server);
    const raw = rawClient(server);
    t.teardown(() => raw.destroy());
    const frames = framesOf(raw);
    raw.write(h2Frame(HEADERS, END_HEADERS, 1, literals({ ...CONNECT, ':authority': 'localhost' })));
    await frameOf(frames, HEADERS, 1);
    raw.write(leave(1, framesFor('server')));
    t.equal(await ofServer.promise, 1000);

    const ofClient = withResolvers();
    const { url } = await rawServer(t, async (frames, socket) => {
      const { stream } = await frameOf(frames, HEADERS);
      socket.write(h2Frame(HEADERS, END_HEADERS, stream, literals({ ':status': '200' })));
      await opened;
      socket.write(leave(stream, framesFor('client')));
    });
    const open = async () => {
      if (door === 'Connection') {
        await Connection.connect(url, { ...echoAndTell(ofClient.resolve), ...FOREVER, createConnection: overHttp2() });
      } else {
        const client = new WebSocket(url, { http2: true, ...FOREVER }).on('close', ofClient.resolve);
        client.on('message', (data) => client.send(data));
        await once(client, 'open');
      }
    };
    const opened = open();
    t.equal(await ofClient.promise, 1000);
  });
}

t.test('ws+unix: connects to the path over HTTP/2, or over HTTP/1.1', async (t) => {
  const open = async (name, server, option) => {
    const wss = new WebSocketServer({ server });
    wss.on('connection', (end, { httpVersion, url }) => end.send(`${name}: ${url} over ${httpVersion}`));
    const path = pipePath(t);
    t.teardown(() => server.close());
    await once(server.listen(path), 'listening');
    const client = new WebSocket(`ws+unix:${path}:/chat`, { http2: option });
    t.teardown(() => client.terminate());
    return String((await once(client, 'message'))[0]);
  };
  t.equal(await open('first', acceptHttp2(http2.createServer()), true), 'first: /chat over 2.0');
  t.equal(await open('second', acceptHttp2(http2.createServer()), 'preferred'), 'second: /chat over 2.0');
  t.equal(await open('third', http.createServer(), 'preferred'), 'third: /chat over 1.1');
});

t.test('a socket that is ended or destroyed before there is a stream', async (t) => {
  const { origin } = await startServer(t);
  const session = await openSession(t, origin);
  const create = overHttp2(session);
  for (const end of ['end', 'destroy']) {
    const socket = create({});
    socket.write(head('GET / HTTP/1.1', 'Host: localhost', 'Sec-WebSocket-Key: x'));
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
  t.match(await text(response), /Bad Request/);
  socket.on('error', () => {});
  socket.terminate();
  const verifyClient = (_info, done) => done(false, 403, 'é €');
  const other = await startServer(t, { options: { verifyClient } });
  const refused = new WebSocket(other.url, { http2: true }).on('error', () => {});
  const [, answer] = await once(refused, 'unexpected-response');
  t.equal(await text(answer), 'é €');
  refused.terminate();
});
