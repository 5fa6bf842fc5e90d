'use strict';

const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const t = require('tap');
const undici = require('undici');
const ws = require('ws');
const { Decoder, Encoder, acceptUpgrade, offerUpgrade, refuseUpgrade } = require('..');
const { listen } = require('./support/connections');
const { framesFor, head, upgradeAnswer } = require('./support/frames');

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
/** The answer to that key (RFC 6455 section 1.3). */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
const HEADERS = {
  Host: 'example.org',
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': KEY
};

/** Sends a request line, headers and bytes. @returns {Promise<string>} the answer, up to `end` */
async function ask(port, headers, line = 'GET / HTTP/1.1', bytes = '', end = '\r\n\r\n') {
  const socket = net.connect(port, '127.0.0.1');
  const fields = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  socket.write(Buffer.concat([Buffer.from(head(line, ...fields)), Buffer.from(bytes)]));
  let answer = '';
  // Leaving the loop destroys the socket.
  for await (const chunk of socket.setEncoding('latin1')) {
    answer += chunk;
    if (answer.includes(end)) break;
  }
  return answer;
}

/** A request, and a socket that records its answers. */
function exchange(protocols, fields) {
  const written = [];
  const note = (bytes) => written.push(String(bytes));
  const socket = { on() {}, once() {}, write: note, end: note, ...fields };
  const lowerCase = Object.entries(HEADERS).map(([name, value]) => [name.toLowerCase(), value]);
  const headers = { ...Object.fromEntries(lowerCase), 'sec-websocket-protocol': protocols };
  return { request: { method: 'GET', httpVersion: '1.1', headers }, socket, written };
}

/** Sends each message back. The options are those of acceptUpgrade. */
function serveEcho(options) {
  return http.createServer().on('upgrade', (request, socket, head) => {
    const upgrade = acceptUpgrade(request, socket, head, options);
    if (upgrade === null) return;
    const encoder = new Encoder({ role: 'server', writable: socket, deflate: upgrade.deflate });
    const decoder = new Decoder({
      role: 'server',
      deflate: upgrade.deflate,
      onMessage: (data, isBinary) => (isBinary ? encoder.binary(data) : encoder.text(data)),
      onClose: () => encoder.close()
    });
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      decoder.write(chunk);
      if (decoder.closed) setImmediate(() => socket.end());
    });
  });
}

t.test('4.2: requests, and the status that answers each', async (t) => {
  const server = serveEcho();
  server.on('request', (_request, response) => response.writeHead(200).end());
  const { port } = await listen(t, server);
  const answer = await ask(port, HEADERS);
  t.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
  t.match(answer, `Sec-WebSocket-Accept: ${ACCEPT}\r\n`);
  t.notMatch(answer, /Sec-WebSocket-(Protocol|Extensions)/);
  for (const [changed, status, more, line] of [
    [{ 'Sec-WebSocket-Version': undefined }, 426, 'Sec-WebSocket-Version: 13\r\n'],
    [{ 'Sec-WebSocket-Version': '7' }, 426, 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n'],
    [{ 'Content-Length': 5 }, 400],
    [{ 'Transfer-Encoding': 'chunked' }, 400],
    [{ 'Sec-WebSocket-Version': '8' }, 426, 'Sec-WebSocket-Version: 13\r\n'],
    [{ 'Sec-WebSocket-Version': '13, 8' }, 426, 'Sec-WebSocket-Version: 13\r\n'],
    [{ 'Sec-WebSocket-Key': undefined }, 400],
    [{ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZQ==' }, 400],
    [{ 'Sec-WebSocket-Key': `${KEY}=` }, 400],
    [{ 'Sec-WebSocket-Key': `A${KEY}` }, 400],
    [{ 'Sec-WebSocket-Key': KEY.slice(1) }, 400],
    [{ 'Sec-WebSocket-Key': KEY.replace('h', '-') }, 400],
    [{ Upgrade: 'h2c' }, 426, 'Upgrade: websocket\r\n'],
    [{ Upgrade: 'websockets' }, 426, 'Upgrade: websocket\r\n'],
    [{ 'Sec-WebSocket-Protocol': 'a b' }, 400],
    [{ 'Sec-WebSocket-Protocol': 'a;b' }, 400],
    [{ 'Sec-WebSocket-Protocol': ',' }, 400],
    [{ 'Sec-WebSocket-Protocol': 'a, a' }, 400],
    [{}, 405, 'Allow: GET\r\n', 'POST / HTTP/1.1'],
    [{}, 400, '', 'GET / HTTP/1.0'],
    [{ 'Sec-WebSocket-Protocol': 'a,, b,' }, 101],
    [{ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZR==' }, 101],
    [{ 'Content-Length': 0 }, 101],
    // The event 'upgrade' wants both; a program may call with others.
    [{ Upgrade: 'h2c, WebSocket', Connection: 'keep-alive, upgrade' }, 101]
  ]) {
    const answer = await ask(port, { ...HEADERS, ...changed }, line);
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`), `${JSON.stringify(changed)} ${line ?? ''}`);
    t.ok(answer.includes(more ?? ''), more);
  }
  const { request, socket, written } = exchange();
  for (const missing of ['host', 'connection', 'upgrade']) {
    const headers = { ...request.headers, [missing]: undefined };
    t.equal(acceptUpgrade({ ...request, headers }, socket, Buffer.alloc(0)), null);
  }
  const codes = written.map((answer) => Number(answer.slice(9, 12)));
  t.same(codes, [400, 400, 426]);
});

t.test('subprotocols, headers, and a refusal of the program', async (t) => {
  const seen = [];
  const protocol = (offered) => seen.push(offered) && offered[1];
  const refusals = {
    '/secret': [401, { 'WWW-Authenticate': 'Basic' }],
    '/unknown': [499],
    '/later': [503, { connection: 'Close', 'content-LENGTH': 0 }],
    '/default': []
  };
  const options = {
    '/': { protocol, headers: { 'X-Server': 'framemask', 'X-None': undefined } },
    '/fixed': { protocol: 'b' },
    '/wrong': { protocol: () => 'x' },
    '/split': { headers: { 'X-A': 'b\r\nX-C: d' } }
  };
  const server = http.createServer().on('upgrade', (request, socket, head) => {
    const { url } = request;
    try {
      if (url in refusals) refuseUpgrade(socket, ...refusals[url]);
      else acceptUpgrade(request, socket, head, options[url]);
    } catch (error) {
      refuseUpgrade(socket, 503, { 'X-Error': error.code });
    }
  });
  const { port } = await listen(t, server);
  const get = (path, protocols) =>
    ask(port, { ...HEADERS, 'Sec-WebSocket-Protocol': protocols }, `GET ${path} HTTP/1.1`);
  t.match(await get('/', 'a, b'), /101 [\s\S]*Sec-WebSocket-Protocol: b\r\nX-Server: framemask\r\n\r\n/);
  t.notMatch(await get('/', 'a'), 'Sec-WebSocket-Protocol');
  t.match(await get('/fixed', 'a,b'), 'Sec-WebSocket-Protocol: b\r\n');
  t.notMatch(await get('/fixed', 'a'), 'Sec-WebSocket-Protocol');
  t.same(seen, [['a', 'b'], ['a']]);
  const unauthorized = /^HTTP\/1\.1 401 Unauthorized\r\nConnection: close\r\n[\s\S]*WWW-Authenticate: Basic\r\n/;
  t.match(await get('/secret'), unauthorized);
  t.match(await get('/unknown'), /^HTTP\/1\.1 499 \r\n/);
  const [, ...ownFields] = (await get('/later')).trim().split('\r\n');
  t.same(ownFields, ['connection: Close', 'content-LENGTH: 0'], 'whatever the case of a name');
  t.match(await get('/default'), /^HTTP\/1\.1 400 Bad Request\r\n/);
  for (const path of ['/wrong', '/split']) t.match(await get(path, 'a'), 'X-Error: ERR_INVALID_ARG_TYPE');
});

t.test('a function that chooses may change the list of offers, but chooses one of them', async (t) => {
  const { request, socket, written } = exchange('a, b');
  const accept = (protocol) => acceptUpgrade(request, socket, Buffer.alloc(0), { protocol });
  t.equal(accept((offered) => offered.pop()).protocol, 'b');
  t.throws(() => accept((offered) => offered.push('x') && 'x'), { code: 'ERR_INVALID_ARG_TYPE' });
  t.equal(written.length, 1);
});

t.test('a socket that was destroyed before the answer, or whose peer has left', async (t) => {
  for (const state of [{ destroyed: true, readable: false }, { readable: false }, { writable: false }]) {
    let ended = 0;
    const { request, socket, written } = exchange('a', { ...state, destroy: () => ended++ });
    t.equal(acceptUpgrade(request, socket, Buffer.alloc(0)), null);
    t.same([ended, ...written], [1]);
  }
});

t.test('header fields: a line for each value of a list, a Headers, a flat list; undefined is left out', async (t) => {
  const both = new Headers({ 'X-A': '1' });
  both.append('Set-Cookie', 'a=1');
  both.append('Set-Cookie', 'b=2');
  for (const headers of [
    { 'X-A': 1, 'Set-Cookie': ['a=1', undefined, 'b=2'], 'X-B': undefined },
    both,
    ['X-A', '1', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2']
  ]) {
    const accepted = exchange('a');
    acceptUpgrade(accepted.request, accepted.socket, Buffer.alloc(0), { headers });
    const refused = exchange('a');
    refuseUpgrade(refused.socket, 401, headers);
    for (const { written } of [accepted, refused]) {
      const lines = written.join('').toLowerCase().split('\r\n');
      t.same(lines.filter((line) => /^(set-cookie|x-)/.test(line)).sort(), [
        'set-cookie: a=1',
        'set-cookie: b=2',
        'x-a: 1'
      ]);
    }
  }
});

t.test('arguments of a wrong type are refused before anything is written', async (t) => {
  const { request, socket, written } = exchange('a');
  const head = Buffer.alloc(0);
  const offer = offerUpgrade();
  for (const wrong of [undefined, null, 1, 'x', Symbol('s'), true, {}, { method: 'GET' }, { headers: 'x' }]) {
    const calls = [() => acceptUpgrade(wrong, socket, head), () => acceptUpgrade(request, wrong, head)];
    calls.push(
      () => refuseUpgrade(wrong),
      () => offer.readAnswer(wrong)
    );
    if (typeof wrong !== 'object' && wrong !== undefined) {
      calls.push(
        () => offerUpgrade(wrong),
        () => acceptUpgrade(request, socket, head, wrong)
      );
      calls.push(() => refuseUpgrade(socket, 400, wrong));
    }
    for (const call of calls) t.throws(call, { code: 'ERR_INVALID_ARG_TYPE' }, `${String(call)} ${String(wrong)}`);
  }
  for (const call of [
    () => acceptUpgrade(request, socket, undefined),
    () => acceptUpgrade(request, socket, head, { protocol: ['a'] }),
    () => acceptUpgrade(request, socket, head, { headers: new Map([['Set-Cookie', 'a=1']]) }),
    () => acceptUpgrade(request, socket, head, { headers: [['Set-Cookie', 'a=1']] }),
    () => acceptUpgrade(request, socket, head, { headers: ['Set-Cookie'] }),
    () => acceptUpgrade(request, socket, head, { headers: { 'Set-Cookie': ['a=1', 'b\r\nX: y'] } }),
    () => acceptUpgrade(request, socket, head, { headers: { 'X-A': null } }),
    () => refuseUpgrade(socket, '400 No\r\nX-A: b'),
    () => refuseUpgrade(socket, 101),
    () => offerUpgrade({ protocols: [null] })
  ]) {
    t.throws(call, { code: 'ERR_INVALID_ARG_TYPE' }, String(call));
  }
  t.same(written, []);
});

t.test('4.1: answers, and the errors for them', async (t) => {
  const offer = offerUpgrade({ protocols: ['a', 'b'] });
  const [, accept] = /Accept: (\S+)/.exec(upgradeAnswer(offer.headers['Sec-WebSocket-Key']));
  const right = { upgrade: 'WebSocket', connection: 'upgrade', 'sec-websocket-accept': accept };
  const answer = (headers, statusCode = 101) => ({ statusCode, headers: { ...right, ...headers } });
  t.same(offer.readAnswer(answer()), { protocol: '', deflate: null });
  t.same(offer.readAnswer(answer({ 'sec-websocket-protocol': 'b' })), { protocol: 'b', deflate: null });
  t.match(offer.headers, { 'Sec-WebSocket-Protocol': 'a, b', 'Sec-WebSocket-Version': '13', Upgrade: 'websocket' });
  t.not(offerUpgrade().headers['Sec-WebSocket-Key'], offer.headers['Sec-WebSocket-Key']);
  for (const [response, message] of [
    [answer({}, 200), 'its status is 200, not 101'],
    [answer({ upgrade: undefined }), 'its header Upgrade is not websocket'],
    [answer({ upgrade: 'h2c' }), 'its header Upgrade is not websocket'],
    [answer({ connection: 'close' }), 'its header Connection lacks upgrade'],
    [answer({ 'sec-websocket-accept': undefined }), 'its Sec-WebSocket-Accept is wrong'],
    [answer({ 'sec-websocket-accept': ACCEPT }), 'its Sec-WebSocket-Accept is wrong'],
    [answer({ 'sec-websocket-protocol': 'c' }), 'its subprotocol was not offered'],
    [answer({ 'sec-websocket-extensions': 'permessage-deflate' }), 'it has extensions that were not offered']
  ]) {
    const expected = { code: 'FRAMEMASK_ERR_HANDSHAKE', closeCode: 1002 };
    expected.message = `The server's answer to the handshake: ${message}`;
    t.throws(() => offer.readAnswer(response), expected);
  }
  const compressing = offerUpgrade({ deflate: { contextTakeover: true } });
  t.match(compressing.headers['Sec-WebSocket-Extensions'], /^permessage-deflate/);
  t.throws(() => offerUpgrade({ protocols: ['a b'] }), TypeError);
  for (const protocols of [['a', 'b', 'a'], 'chat', null]) {
    t.throws(() => offerUpgrade({ protocols }), { name: 'TypeError', message: /must be an array without duplicates/ });
  }
});

const MESSAGES = ['short', 'long '.repeat(1000)];

for (const [name, { WebSocket }] of Object.entries({ ws, undici })) {
  t.test(`clients of ${name}`, async (t) => {
    for (const deflate of [undefined, true, { contextTakeover: true }]) {
      const { port } = await listen(t, serveEcho({ protocol: 'chat', deflate }));
      const client = new WebSocket(`ws://127.0.0.1:${port}`, ['other', 'chat']);
      const received = [];
      await new Promise((resolve) => {
        client.onopen = () => {
          for (const message of MESSAGES) client.send(message);
        };
        client.onmessage = ({ data }) => received.push(data) === MESSAGES.length && resolve();
      });
      t.same(received, MESSAGES);
      t.equal(client.protocol, 'chat');
      t.equal(client.extensions.startsWith('permessage-deflate'), deflate !== undefined);
      client.close();
      await new Promise((resolve) => {
        client.onclose = resolve;
      });
    }
  });
}

t.test('frames that come with the request', async (t) => {
  const { port } = await listen(t, serveEcho());
  const answer = await ask(port, HEADERS, undefined, framesFor('server').text('early'), 'early');
  t.ok(answer.endsWith('\r\n\r\n\x81\x05early'));
});

t.test('servers of ws, and frames that come with the answer', async (t) => {
  for (const deflate of [false, true]) {
    const wss = new ws.WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: deflate });
    await once(wss, 'listening');
    wss.on('connection', (socket) => {
      socket.send('hello');
      socket.on('message', (data, binary) => socket.send(data, { binary }));
    });
    const offer = offerUpgrade({ protocols: ['chat'], deflate: true });
    const request = http.get({ port: wss.address().port, host: '127.0.0.1', headers: offer.headers });
    const [response, socket, head] = await once(request, 'upgrade');
    const upgrade = offer.readAnswer(response);
    t.equal(upgrade.protocol, 'chat');
    t.equal(upgrade.deflate !== null, deflate);
    const encoder = new Encoder({ role: 'client', writable: socket, deflate: upgrade.deflate });
    for (const message of MESSAGES) encoder.text(message);
    const received = await new Promise((resolve) => {
      const all = [];
      const onMessage = (data) => all.push(data) === MESSAGES.length + 1 && resolve(all);
      const decoder = new Decoder({ role: 'client', deflate: upgrade.deflate, onMessage });
      if (head.length > 0) socket.unshift(head);
      socket.on('data', (chunk) => decoder.write(chunk));
    });
    t.same(received, ['hello', ...MESSAGES]);
    socket.destroy();
    wss.close();
  }
});
