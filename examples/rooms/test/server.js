'use strict';

// The server on both kinds of connections, with its own client, which the page uses, too.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { test } = require('node:test');
const { WebSocket } = require('ws');
const { Encoder } = require('framemask');
const { HANDSHAKE, head } = require('../../../test/support/frames');
const { until } = require('../../../test/support/promises');
const { MemoryBus } = require('../bus-memory');
const { History, compareIds } = require('../history');
const { Presence } = require('../presence');
const { RateLimit } = require('../rate-limit');
const { RoomsServer } = require('../server');
const { get } = require('./support/processes');

const SESSION = 'a session of 16 characters or more';
const REQUEST = head('GET /chat HTTP/1.1', ...HANDSHAKE.slice(1));

async function startServer(t, { limits, ...options } = {}) {
  const server = new RoomsServer({ limits: { shutDownTime: 300, ...limits }, ...options });
  const port = await server.listen();
  t.after(() => server.shutDown());
  return { server, port, url: `ws://127.0.0.1:${port}/chat` };
}

/** The client of the page, which remembers what it was told. */
async function join(t, url, name, room) {
  const { ChatClient } = await import('../page/client.mjs');
  const heard = [];
  const told = { statuses: [], joined: [], members: [] };
  const client = new ChatClient({
    urls: [url],
    name,
    WebSocket,
    onMessage: (message) => heard.push(`${message.name}: ${message.text}`),
    onStatus: (status, reason) => told.statuses.push(`${status} ${reason}`.trim()),
    onJoined: (_room, complete) => told.joined.push(complete),
    onMembers: (_room, count, members) => told.members.push(`${count}: ${members.map((member) => member.name).join()}`)
  });
  t.after(() => client.close());
  client.join(room);
  await until(() => told.joined.length === 1);
  return { client, heard, told };
}

/** Sends messages. @returns {Promise<string>} the code and reason with which the server closes */
async function talk(url, messages) {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const closed = once(socket, 'close');
  for (const message of messages) socket.send(message);
  return (await closed).join(' ');
}

const hello = JSON.stringify({ type: 'hello', name: 'Ada', session: SESSION });

for (const connections of ['ws', 'codec']) {
  test(`${connections}: a room hears what its members say, in order, and no other room does`, async (t) => {
    const { url } = await startServer(t, { connections });
    const ada = await join(t, url, 'Ada', 'tea');
    const bob = await join(t, url, 'Bob', 'tea');
    const eve = await join(t, url, 'Eve', 'coffee');
    for (let i = 1; i <= 30; i++) ada.client.say('tea', `message ${i}`);
    const expected = Array.from({ length: 30 }, (_, i) => `Ada: message ${i + 1}`);
    await until(() => bob.heard.length >= 30 && ada.heard.length >= 30);
    assert.deepEqual(ada.heard, expected);
    assert.deepEqual(bob.heard, expected);
    assert.deepEqual(eve.heard, []);
  });

  test(`${connections}: who comes back gets what it has missed, once`, async (t) => {
    const { server, url } = await startServer(t, { connections });
    const ada = await join(t, url, 'Ada', 'tea');
    const bob = await join(t, url, 'Bob', 'tea');
    ada.client.say('tea', 'one');
    await until(() => bob.heard.length === 1);
    for (const { name, connection } of server.chat.members) if (name === 'Bob') connection.terminate();
    ada.client.say('tea', 'two');
    await until(() => bob.told.joined.length === 2);
    ada.client.say('tea', 'three');
    await until(() => bob.heard.length >= 3);
    assert.deepEqual(bob.heard, ['Ada: one', 'Ada: two', 'Ada: three']);
    assert.deepEqual(bob.told.statuses, ['connected', 'waiting', 'connected']);
    assert.deepEqual(bob.told.joined, [true, true]);
  });

  test(`${connections}: a client that is closed hears nothing any more`, async (t) => {
    const { server, url } = await startServer(t, { connections });
    const bob = await join(t, url, 'Bob', 'tea');
    bob.client.close();
    const body = JSON.stringify({ room: 'tea', from: 'Ada', name: 'Ada', n: 1, text: 'too late' });
    await server.bus.publish({ from: 'Ada', n: 1, room: 'tea', body });
    assert.equal(server.chat.counts.delivered, 1, 'before the server knows that it is closed');
    await until(() => bob.told.statuses.includes('closed'));
    assert.deepEqual(bob.heard, []);
  });

  test(`${connections}: a room is left although not all that was said in it is sent`, async (t) => {
    const { url } = await startServer(t, { connections });
    const ada = await join(t, url, 'Ada', 'tea');
    for (let i = 1; i <= 20; i++) ada.client.say('tea', `message ${i}`);
    ada.client.leave('tea');
    ada.client.join('coffee');
    ada.client.say('coffee', 'elsewhere');
    await until(() => ada.heard.at(-1) === 'Ada: elsewhere' || ada.told.statuses.length > 1);
    assert.deepEqual(ada.told.statuses, ['connected']);
  });

  test(`${connections}: a client that does not read is dropped, and the others hear all`, async (t) => {
    const { server, port, url } = await startServer(t, {
      connections,
      limits: { maxPending: 64 * 1024, burst: 20_000, perSecond: 20_000 }
    });
    const ada = await join(t, url, 'Ada', 'tea');
    const slow = await openRaw(port);
    slow.encoder.text(hello);
    slow.encoder.text(JSON.stringify({ type: 'join', room: 'tea' }));
    slow.encoder.flush(slow.socket);
    slow.socket.pause();
    await until(() => server.chat.rooms.get('tea')?.size === 2);
    const text = 'x'.repeat(4000);
    for (let i = 0; server.chat.counts.tooSlow === 0; i++) {
      ada.client.say('tea', text);
      if (i % 50 === 0) await until(() => ada.heard.length > i - 50);
    }
    const said = ada.client.say('tea', 'the last one');
    await until(() => ada.heard.at(-1) === 'Ada: the last one');
    assert.equal(ada.heard.length, said);
    assert.equal(server.chat.members.size, 1);
    slow.socket.destroy();
  });

  test(`${connections}: limits end the connection with the reason`, async (t) => {
    const { url } = await startServer(t, { connections, limits: { maxPayload: 1000, burst: 5, perSecond: 1 } });
    assert.match(await talk(url, ['x'.repeat(1001)]), /^1009/);
    assert.equal(await talk(url, [Buffer.from('{}')]), '1003 Text only');
    for (const messages of [
      ['not JSON'],
      ['{ "type": "join", "room": "tea" }'],
      [hello, '{ "type": "join", "room": "" }'],
      [hello, '{ "type": "join", "room": "tea", "since": "yesterday" }'],
      [hello, '{ "type": "leave", "room": "tea" }'],
      [hello, '{ "type": "say", "room": "tea", "n": 1, "text": "from outside" }'],
      [hello, '{ "type": "sing" }'],
      [hello, 'null']
    ]) {
      assert.equal(await talk(url, messages), '1008 Not a message of this chat', messages.at(-1));
    }
    const rooms = [1, 2, 3, 4, 5, 6].map((i) => `{ "type": "join", "room": "room ${i}" }`);
    assert.equal(await talk(url, [hello, ...rooms]), '1008 Too many messages');
  });

  test(`${connections}: who does not answer a Ping is dropped`, async (t) => {
    const { server, port } = await startServer(t, { connections, limits: { heartbeat: 300 } });
    const silent = await openRaw(port);
    const closed = once(silent.socket.resume(), 'close');
    const answers = new WebSocket(`ws://127.0.0.1:${port}/chat`);
    await once(answers, 'open');
    await closed;
    await until(() => server.chat.members.size === 1);
    assert.equal(server.chat.counts.silent, 1);
    assert.equal(answers.readyState, WebSocket.OPEN);
    answers.terminate();
  });

  test(`${connections}: a server that ends sends 1012, and drops who does not answer`, async () => {
    const server = new RoomsServer({ connections, limits: { shutDownTime: 2000 } });
    const port = await server.listen();
    const bob = new WebSocket(`ws://127.0.0.1:${port}/chat`);
    await once(bob, 'open');
    const silent = await openRaw(port);
    silent.socket.resume();
    const late = net.connect(port, '127.0.0.1').setEncoding('utf8');
    late.on('error', () => {});
    await until(() => server.http._connections === 3);
    const closed = once(bob, 'close');
    const ended = server.shutDown();
    late.write(REQUEST);
    // Node.js 26 closes a connection without a request as soon as the server ends.
    const answer = once(late, 'data').then(([text]) => text);
    const closedEarly = once(late, 'close').then(() => 'closed');
    assert.match(await Promise.race([answer, closedEarly]), /^HTTP\/1\.1 503 |^closed$/, 'who comes too late');
    await ended;
    assert.equal((await closed).join(' '), '1012 The server restarts');
    await until(() => server.chat.members.size === 0);
  });

  test(`${connections}: a page of another site, another path, and clients without the token are refused`, async (t) => {
    const { port, url } = await startServer(t, { connections, token: 'a secret' });
    const ours = `http://127.0.0.1:${port}`;
    for (const [status, path, origin] of [
      [403, '/chat?token=a%20secret', 'https://elsewhere.example'],
      [403, '/chat?token=a%20secret', 'null'],
      [404, '/?token=a%20secret', ours],
      [404, '//', ours],
      [401, '/chat'],
      [401, '/chat?token='],
      [401, '/chat?token=another', ours],
      [401, '/chat?token=a%20secret?', ours],
      [101, '/chat?token=a%20secret', ours],
      [101, '/chat?token=a%20secret']
    ]) {
      const socket = new WebSocket(url.replace('/chat', path), { origin }).on('error', () => {});
      t.after(() => socket.terminate());
      const answers = [once(socket, 'upgrade'), once(socket, 'unexpected-response').then(([, response]) => [response])];
      const [{ statusCode }] = await Promise.race(answers);
      assert.equal(statusCode, status, `${path} of ${origin}`);
    }
  });

  test(`${connections}: /metrics counts frames by the tracing channels`, async (t) => {
    const { port, url } = await startServer(t, { connections });
    const ada = await join(t, url, 'Ada', 'tea');
    ada.client.say('tea', 'one');
    await until(() => ada.heard.length === 1);
    await talk(url, [Buffer.alloc(1)]);
    // The server's socket closes last.
    let { status, body } = await get(port, '/metrics');
    while (!/^framemask_closes_total/m.test(body)) ({ status, body } = await get(port, '/metrics'));
    assert.equal(status, 200);
    assert.match(body, /^framemask_closes_total\{code="1003"\} 1$/m);
    assert.ok(body.includes('framemask_frames_total{direction="received",opcode="text"} 3\n'), body);
    assert.match(
      body,
      /^framemask_frames_total\{direction="sent",opcode="text"\} [45]$/m,
      'with or without the members'
    );
    assert.ok(body.includes('framemask_frames_total{direction="sent",opcode="close"} 1\n'), body);
    assert.match(body, /^# TYPE rooms_connections gauge\nrooms_connections 1$/m);
    assert.ok(body.includes('rooms_published_total 1\n'), body);
  });
}

/** A connection that sends what its Encoder has, and answers nothing. */
async function openRaw(port) {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(REQUEST);
  await once(socket, 'data');
  return { socket, encoder: new Encoder({ role: 'client' }) };
}

test('the page has no other sources than its server', async (t) => {
  const { port } = await startServer(t);
  const files = {
    '': 'html',
    'page.mjs': 'javascript',
    'client.mjs': 'javascript',
    'style.css': 'css',
    'icon.svg': 'svg'
  };
  for (const [path, type] of Object.entries(files)) {
    const { status, headers, body } = await get(port, `/${path}`);
    assert.equal(status, 200);
    assert.ok(headers['content-type'].includes(type));
    assert.match(headers['content-security-policy'], /^default-src 'none'/);
    const text = body.replace('http://www.w3.org/2000/svg', '');
    assert.doesNotMatch(text, /https?:\/\/|innerHTML|outerHTML|insertAdjacentHTML|\beval\b/);
  }
  assert.equal((await get(port, '/server.js')).status, 404);
  assert.equal((await get(port, '/health')).body, 'ok\n');
});

test('a message that is sent again is published once', async () => {
  const bus = new MemoryBus();
  const published = [];
  await bus.start((entry) => published.push(entry));
  for (const [from, n, body, isNew] of [
    ['Ada', 1, '1', true],
    ['Ada', 2, '2', true],
    ['Ada', 1, '1', false],
    ['Ada', 2, '2', false],
    ['Bob', 1, '3', true]
  ]) {
    assert.equal(await bus.publish({ from, n, room: 'tea', body }), isNew);
  }
  const ids = published.map(({ id }) => id);
  assert.deepEqual(ids, [...ids].sort(compareIds));
  assert.equal(published.map(({ body }) => body).join(), '1,2,3');
});

test('history keeps the newest, and says when older ones are gone', async () => {
  const entry = (id, room) => ({ id: `1-${id}`, room, message: { length: 100 } });
  const expect = (room, since, ids, complete, message) => {
    const after = history.after(room, since);
    assert.deepEqual([after.entries.map(({ id }) => id), after.complete], [ids, complete], message);
  };
  const history = new History({ maxRoomHistory: 900, maxHistory: 1500 });
  expect('tea', '0-0', [], true);
  for (const id of [1, 2, 3]) history.add(entry(id, 'tea'));
  expect('tea', '1-1', ['1-2', '1-3'], true);
  expect('tea', '0-0', ['1-1', '1-2', '1-3'], true);
  history.add(entry(10, 'tea'));
  expect('tea', '1-1', ['1-2', '1-3', '1-10'], true);
  expect('tea', '0-0', ['1-2', '1-3', '1-10'], false, 'its room is full');
  for (const id of [11, 12, 13]) history.add(entry(id, 'coffee'));
  assert.equal(history.length, 5);
  expect('tea', '1-1', ['1-3', '1-10'], false, 'all rooms are full');
  for (const id of [14, 15, 16]) history.add(entry(id, 'milk'));
  expect('tea', '1-3', [], false, 'its room is gone');
  assert.equal(history.latest('coffee', 1)[0].id, '1-13');
});

test('members of several processes are merged, and those of a silent one are forgotten', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval', 'setTimeout'] });
  const heard = [];
  const hearing = [];
  const announce = (text) => {
    for (const presence of hearing) presence.receive(text);
  };
  const start = (names) => {
    const members = names.map((name) => ({ from: name, name }));
    const onChange = (...change) => heard.push([names[0], ...change.slice(0, 2), change[2].map(({ name }) => name)]);
    return new Presence({ announce }, () => members, onChange);
  };
  const one = start(['Ada']);
  const other = start(['Bob', 'Eve']);
  hearing.push(one, other);
  one.change('tea');
  other.change('tea');
  t.mock.timers.tick(500);
  const heardBy = (name) => heard.filter(([hearer]) => hearer === name).map((said) => said.slice(1).join(' '));
  assert.deepEqual(heardBy('Ada'), ['tea 1 Ada', 'tea 3 Ada,Bob,Eve']);
  other.stop();
  for (let i = 0; i < 5; i++) t.mock.timers.tick(10_000);
  assert.deepEqual(heardBy('Ada').slice(2), ['tea 1 Ada']);
  one.stop();
});

test('a rate limit allows a burst, and then so many a second', () => {
  const rate = new RateLimit({ burst: 3, perSecond: 10 }, 0);
  const allowed = [0, 0, 0, 0, 100, 100, 10_000, 10_000, 10_000, 10_000].map((now) => Number(rate.take(now)));
  assert.equal(allowed.join(''), '1110101110');
});
