'use strict';

// The inspector as a program: its page, and the requests that it refuses.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { WebSocket } = require('ws');
const { RECORD, connectLive, startInspector, until } = require('./support/programs');

const CLI = path.join(__dirname, '../cli.js');
const PAGE = path.join(__dirname, '../page');
const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': 13,
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='
};

/**
 * @returns {Promise<{ status: number, headers: object, body: string }>} the answer to a GET, or to
 *   a POST of `sent`
 */
async function get(port, target, headers = {}, sent = undefined) {
  const method = sent === undefined ? 'GET' : 'POST';
  const request = http.request({ host: '127.0.0.1', port, path: target, agent: false, method, headers }).end(sent);
  const [response, socket] = await Promise.race([once(request, 'response'), once(request, 'upgrade')]);
  if (response.statusCode === 101) socket.destroy();
  const body = response.statusCode === 101 ? '' : (await response.toArray()).join('');
  return { status: response.statusCode, headers: response.headers, body };
}

/** A page's connection, which keeps the messages that come, and its requests. */
async function connect(t, { port, hash }) {
  const token = hash.slice(1);
  const origin = `http://127.0.0.1:${port}`;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/page?token=${token}`, { origin });
  const messages = [];
  socket.on('message', (data) => messages.push(JSON.parse(data)));
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const find = async (type) => {
    for (;;) {
      const at = messages.findIndex((message) => message.type === type);
      if (at !== -1) return messages.splice(at, 1)[0];
      await once(socket, 'message');
    }
  };
  const ask = async (request, sent = '') => {
    const lines = `${JSON.stringify(request)}\n${sent}`;
    return JSON.parse((await get(port, `/page?token=${token}`, { Origin: origin }, lines)).body);
  };
  return { find, ask };
}

test('every file of the page, and no other, with a policy that runs nothing else', async (t) => {
  const { port } = (await startInspector(t)).url;
  for (const name of ['', ...fs.readdirSync(PAGE)]) {
    const { status, headers, body } = await get(port, `/${name}`);
    assert.equal(status, 200, name);
    assert.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';.*trusted-types 'none'/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.doesNotMatch(body, /https?:\/\/(?!www\.w3\.org\/2000\/svg)/, name);
    assert.doesNotMatch(body, /innerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/, name);
  }
  for (const name of ['/package.json', '/../cli.js', '/%2e%2e/cli.js', '//etc/passwd', '/page']) {
    assert.equal((await get(port, name)).status, 404, name);
  }
});

test('other hosts, origins and tokens are refused', async (t) => {
  const { inspector, url } = await startInspector(t);
  const { host: Host, port, hash } = url;
  const token = hash.slice(1);
  const Origin = `http://${Host}`;
  const page = `/page?token=${token}`;
  const live = inspector.liveUrl.replace(/^ws:\/\/[^/]*/, '');
  for (const [status, target, headers] of [
    [200, '/', { Host: `localhost:${port}` }],
    [421, '/', { Host: 'evil.example' }],
    [421, '/', { Host: `evil.example:${port}` }],
    [421, '/main.mjs', { Host: '127.0.0.1' }],
    [421, '/', { Host: '127.0.0.1:1' }],
    [101, page, { ...UPGRADE, Host, Origin }],
    [421, page, { ...UPGRADE, Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` }],
    [403, page, { ...UPGRADE, Host, Origin: 'http://evil.example' }],
    [403, page, { ...UPGRADE, Host, Origin: `http://localhost:${port}` }],
    [403, page, { ...UPGRADE, Host }],
    [403, '/page?token=wrong', { ...UPGRADE, Host, Origin }],
    [403, '/page?token=', { ...UPGRADE, Host, Origin }],
    [403, '/page', { ...UPGRADE, Host, Origin }],
    [101, live, { ...UPGRADE, Host }],
    [403, live, { ...UPGRADE, Host, Origin }],
    [403, `/live?token=${token}`, { ...UPGRADE, Host }]
  ]) {
    assert.equal((await get(port, target, headers)).status, status, `${target} ${JSON.stringify(headers)}`);
  }
  for (const [status, target, headers] of [
    [200, page, { Host, Origin }],
    [421, page, { Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` }],
    [403, page, { Host, Origin: 'http://evil.example' }],
    [403, page, { Host, Origin: 'null' }],
    [403, page, { Host }],
    [403, '/page?token=wrong', { Host, Origin }],
    [405, live, { Host }],
    [404, '/', { Host, Origin }]
  ]) {
    assert.equal(
      (await get(port, target, headers, '{"type":"clear"}\n')).status,
      status,
      `POST ${target} ${JSON.stringify(headers)}`
    );
  }
});

test('a page opens a source of a limited size', async (t) => {
  const { inspector, url } = await startInspector(t, { maxSize: 1000 });
  const { find, ask } = await connect(t, url);
  assert.deepEqual(await ask({ type: 'open', name: 'x' }, '810161 8900'), {});
  const { rows } = await find('frames');
  const firstColumns = rows.map(([index, [connection, server, sequence]]) =>
    [index, connection, server, sequence].join()
  );
  assert.deepEqual(firstColumns, ['0,0,1,1', '1,0,1,2']);
  for (const [request, sent, message] of [
    [{ type: 'open' }, ' '.repeat(1001), /larger than 1000 bytes/],
    [{ type: 'open' }, '?', /neither hex nor base64/],
    [{ type: 'toString' }, '', /unknown request/],
    [{ type: 'export', format: 'exe' }, '[]', /no such export/],
    [{ type: 'copy', index: 9 }, '', /no such frame/],
    [null, '', /unknown request/]
  ]) {
    assert.match((await ask(request, sent)).error, message);
  }
  assert.equal(inspector.session.frames.length, 2, 'refused sources leave the list');
});

test('a program goes on sending records after a source that was refused', async (t) => {
  const { inspector } = await startInspector(t);
  const live = await connectLive(inspector);
  t.after(() => live.terminate());
  const closed = once(live, 'close').then(([code]) => `closed with ${code}`);
  const send = (sequence, isDone) => {
    live.sendRecords([{ ...RECORD, sequence }]);
    return until(isDone);
  };
  const { session } = inspector;
  await send(1, () => session.frames.length === 1);
  await assert.rejects(inspector.open({ data: Buffer.from('?'), name: 'x' }), /neither hex/);
  assert.equal(await Promise.race([send(2, () => session.frames.length === 2), closed]), undefined);
  await inspector.open({ data: Buffer.from('8100'), name: 'x' });
  const noted = send(3, () => session.notes.length > 0).then(() => session.notes[0]);
  assert.match(await Promise.race([noted, closed]), /Clear the list/);
});

test('of a program that sends anything else, nothing more is taken', async (t) => {
  const { inspector } = await startInspector(t);
  const live = await connectLive(inspector);
  live.send('{}');
  live.sendRecords([{ ...RECORD, sequence: 1 }]);
  assert.equal((await once(live, 'close')).join(' '), '1011 These are no records');
  assert.equal(inspector.session.frames.length, 0);
});

test('a program that ends closes its own connections of the list', async (t) => {
  const { inspector } = await startInspector(t);
  const { session } = inspector;
  const live = await connectLive(inspector);
  live.sendRecords([{ ...RECORD, sequence: 1 }]);
  await until(() => session.frames.length === 1);
  inspector.clear();
  const line = JSON.stringify({ ...RECORD, connection: 'of the file', sequence: 1 });
  await inspector.open({ data: Buffer.from(line), name: 'x' });
  live.sendRecords([{ ...RECORD, connection: 'of the program', sequence: 1 }]);
  await until(() => session.frames.length === 2);
  live.close();
  await until(() => !session.connections[1].isOpen);
  assert.equal(session.connections[0].isOpen, true);
});

test('the program prints its page, opens files, and says which argument is wrong', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-inspector-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'some.txt');
  fs.writeFileSync(file, '810161 8900');
  const child = spawn(process.execPath, [CLI, '--port', '0', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = new URL(/http:\S+/.exec(line)[0]);
  assert.match((await get(url.port, '/')).body, /<title>Frames/);
  const { find } = await connect(t, url);
  assert.equal((await find('frames')).rows.length, 2);
  for (const [args, message] of [
    [['--port', url.port], /in use/],
    [['--port', '70000'], /up to 65535/],
    [['--port', '0', 'no-such-file'], /no such file/]
  ]) {
    const refused = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [said, [code]] = await Promise.all([refused.stderr.toArray(), once(refused, 'exit')]);
    assert.match(said.join(''), message);
    assert.equal(code, 1);
  }
});
