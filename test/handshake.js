'use strict';

const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const t = require('tap');
const undici = require('undici');
const ws = require('ws');
const { Decoder, Encoder, acceptUpgrade, offerUpgrade, refuseUpgrade } = require('..');

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

async function listen(t, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return server.address().port;
}

/** Sends a request line and headers. @returns {Promise<string>} the answer's head */
async function ask(port, headers, line = 'GET / HTTP/1.1') {
  const socket = net.connect(port, '127.0.0.1');
  const fields = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  socket.write(`${[line, ...fields].join('\r\n')}\r\n\r\n`);
  let answer = '';
  for await (const chunk of socket) {
    answer += chunk;
    if (answer.includes('\r\n\r\n')) break;
  }
  socket.destroy();
  return answer;
}

/** Sends each message back. `accept` makes the Upgrade. */
function serveEcho(accept) {
  return http.createServer().on('upgrade', (request, socket, head) => {
    const upgrade = accept(request, socket, head);
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
  const server = serveEcho((...args) => acceptUpgrade(...args));
  server.on('request', (_request, response) => response.writeHead(200).end());
  const port = await listen(t, server);
  const answer = await ask(port, HEADERS);
  t.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
  t.match(answer, `Sec-WebSocket-Accept: ${ACCEPT}\r\n`);
  t.notMatch(answer, /Sec-WebSocket-(Protocol|Extensions)/);
  for (const [changed, status, more, line] of [
    [{ 'Sec-WebSocket-Version': undefined }, 426, 'Sec-WebSocket-Version: 13\r\n'],
    [{ 'Sec-WebSocket-Version': '8' }, 426, 'Sec-WebSocket-Version: 13\r\n'],
    [{ 'Sec-WebSocket-Version': '13, 8' }, 426, 'Sec-WebSocket-Version: 13\r\n'],
    [{ 'Sec-WebSocket-Key': undefined }, 400],
    [{ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZQ==' }, 400],
    [{ 'Sec-WebSocket-Key': `${KEY}=` }, 400],
    [{ 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZR==' }, 400],
    [{ Upgrade: 'h2c' }, 426, 'Upgrade: websocket\r\n'],
    [{ Upgrade: 'websockets' }, 426, 'Upgrade: websocket\r\n'],
    [{ 'Sec-WebSocket-Protocol': 'a b' }, 400],
    [{ 'Sec-WebSocket-Protocol': 'a,,b' }, 400],
    [{ 'Sec-WebSocket-Protocol': 'a, a' }, 400],
    [{}, 405, 'Allow: GET\r\n', 'POST / HTTP/1.1'],
    [{}, 400, '', 'GET / HTTP/1.0'],
    // The event 'upgrade' wants both; a program may call with others.
    [{ Upgrade: 'h2c, WebSocket', Connection: 'keep-alive, upgrade' }, 101]
  ]) {
    const answer = await ask(port, { ...HEADERS, ...changed }, line);
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`), `${JSON.stringify(changed)} ${line ?? ''}`);
    t.ok(answer.includes(more ?? ''), more);
  }
  const written = [];
  const socket = { on() {}, once() {}, end: (bytes) => written.push(String(bytes)) };
  const headers = Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name.toLowerCase(), value]));
  for (const missing of ['host', 'connection', 'upgrade']) {
    const request = { method: 'GET', httpVersion: '1.1', headers: { ...headers, [missing]: undefined } };
    t.equal(acceptUpgrade(request, socket, Buffer.alloc(0)), null);
  }
  t.same(
    written.map((answer) => Number(answer.slice(9, 12))),
    [400, 400, 426]
  );
});

t.test('subprotocols, headers, and a refusal of the program', async (t) => {
  const seen = [];
  const server = http.createServer().on('upgrade', (request, socket, head) => {
    try {
      if (request.url === '/secret') refuseUpgrade(socket, 401, { 'WWW-Authenticate': 'Basic' });
      else if (request.url === '/teapot') refuseUpgrade(socket, 418);
      else if (request.url === '/default') refuseUpgrade(socket);
      else if (request.url === '/fixed') acceptUpgrade(request, socket, head, { protocol: 'b' });
      else if (request.url === '/wrong') acceptUpgrade(request, socket, head, { protocol: () => 'x' });
      else if (request.url === '/split') acceptUpgrade(request, socket, head, { headers: { 'X-A': 'b\r\nX-C: d' } });
      else {
        const protocol = (offered) => seen.push(offered) && offered[1];
        acceptUpgrade(request, socket, head, { protocol, headers: { 'X-Server': 'framemask', 'X-None': undefined } });
      }
    } catch (error) {
      refuseUpgrade(socket, 503, { 'X-Error': error.code });
    }
  });
  const port = await listen(t, server);
  const get = (path, protocols) =>
    ask(port, { ...HEADERS, 'Sec-WebSocket-Protocol': protocols }, `GET ${path} HTTP/1.1`);
  t.match(await get('/', 'a, b'), /101 [\s\S]*Sec-WebSocket-Protocol: b\r\nX-Server: framemask\r\n\r\n/);
  t.notMatch(await get('/', 'a'), 'Sec-WebSocket-Protocol');
  t.match(await get('/fixed', 'a,b'), 'Sec-WebSocket-Protocol: b\r\n');
  t.notMatch(await get('/fixed', 'a'), 'Sec-WebSocket-Protocol');
  t.same(seen, [['a', 'b'], ['a']]);
  t.match(
    await get('/secret'),
    /^HTTP\/1\.1 401 Unauthorized\r\nConnection: close\r\n[\s\S]*WWW-Authenticate: Basic\r\n/
  );
  t.match(await get('/teapot'), /^HTTP\/1\.1 418 \r\n/);
  t.match(await get('/default'), /^HTTP\/1\.1 400 Bad Request\r\n/);
  for (const path of ['/wrong', '/split']) t.match(await get(path, 'a'), 'X-Error: ERR_INVALID_ARG_TYPE');
});

t.test('4.1: answers, and the errors for them', (t) => {
  const offer = offerUpgrade({ protocols: ['a', 'b'] });
  const accept = require('node:crypto')
    .createHash('sha1')
    .update(`${offer.headers['Sec-WebSocket-Key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
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
    t.throws(() => offer.readAnswer(response), {
      ...expected,
      message: `The server's answer to the handshake: ${message}`
    });
  }
  const compressing = offerUpgrade({ deflate: { contextTakeover: true } });
  t.match(compressing.headers['Sec-WebSocket-Extensions'], /^permessage-deflate/);
  t.throws(() => offerUpgrade({ protocols: ['a b'] }), TypeError);
  t.end();
});

const MESSAGES = ['short', 'long '.repeat(1000)];

for (const [name, WebSocket] of [
  ['ws', ws.WebSocket],
  ['undici', undici.WebSocket]
]) {
  t.test(`clients of ${name}`, async (t) => {
    for (const deflate of [undefined, true, { contextTakeover: true }]) {
      const port = await listen(
        t,
        serveEcho((...args) => acceptUpgrade(...args, { protocol: 'chat', deflate }))
      );
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
  const port = await listen(
    t,
    serveEcho((...args) => acceptUpgrade(...args))
  );
  const socket = net.connect(port, '127.0.0.1');
  const encoder = new Encoder({ role: 'client' });
  encoder.text('early');
  const lines = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`);
  const request = Buffer.from(['GET / HTTP/1.1', ...lines, '', ''].join('\r\n'));
  socket.write(Buffer.concat([request, ...encoder.take()]));
  let answer = '';
  for await (const chunk of socket) {
    answer += chunk.toString('latin1');
    if (answer.endsWith('early')) break;
  }
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
