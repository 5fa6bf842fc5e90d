'use strict';

// The inspector as a program: its page, and who is refused.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const t = require('tap');
const { WebSocket } = require('ws');
const { Inspector } = require('../../inspector/lib/inspector');

const CLI = path.join(__dirname, '../../inspector/cli.js');

/** @returns {Promise<{ status: number, headers: object, body: string }>} */
async function get(port, target, headers = {}) {
  const request = http.get({ host: '127.0.0.1', port, path: target, agent: false, headers });
  const [response] = await once(request, 'response');
  response.setEncoding('utf8');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

async function start(t) {
  const inspector = new Inspector({ maxSize: 1000 });
  const url = new URL(await inspector.listen(0));
  t.teardown(() => inspector.close());
  return { inspector, port: Number(url.port), token: url.hash.slice(1) };
}

/** A page's connection: sends objects, and keeps what comes. */
async function connect(t, port, token, origin = `http://127.0.0.1:${port}`) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/page?token=${token}`, { origin });
  const messages = [];
  socket.on('message', (data) => messages.push(JSON.parse(data)));
  t.teardown(() => socket.terminate());
  await once(socket, 'open');
  const find = async (type) => {
    for (;;) {
      const at = messages.findIndex((message) => message.type === type);
      if (at !== -1) return messages.splice(at, 1)[0];
      await once(socket, 'message');
    }
  };
  return { socket, find, send: (message) => socket.send(JSON.stringify(message)) };
}

t.test('every file of the page, and no other, with a policy that runs nothing else', async (t) => {
  const { port } = await start(t);
  const names = fs.readdirSync(path.join(__dirname, '../../inspector/page'));
  for (const name of ['', ...names]) {
    const { status, headers } = await get(port, `/${name}`);
    t.equal(status, 200, name);
    t.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';/);
    t.match(headers['content-security-policy'], /trusted-types 'none'/);
    t.equal(headers['x-content-type-options'], 'nosniff');
  }
  for (const name of ['/package.json', '/../package.json', '/%2e%2e/package.json', '//etc/passwd', '/page']) {
    t.equal((await get(port, name)).status, 404, name);
  }
});

t.test('the page names nothing outside of it', async (t) => {
  const folder = path.join(__dirname, '../../inspector/page');
  for (const name of fs.readdirSync(folder)) {
    const text = fs.readFileSync(path.join(folder, name), 'utf8').replace('http://www.w3.org/2000/svg', '');
    t.notMatch(text, /https?:\/\//, name);
    t.notMatch(text, /innerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/, name);
  }
});

t.test('a request for another host is refused', async (t) => {
  const { port } = await start(t);
  for (const host of ['example.org', `example.org:${port}`, '127.0.0.1', '127.0.0.1:1']) {
    t.equal((await get(port, '/', { Host: host })).status, 421, host);
  }
  t.equal((await get(port, '/', { Host: `localhost:${port}` })).status, 200);
});

t.test('a connection needs the token and the page as its origin', async (t) => {
  const { port, token } = await start(t);
  await t.rejects(connect(t, port, 'wrong'), /403/);
  await t.rejects(connect(t, port, ''), /403/);
  await t.rejects(connect(t, port, token, 'http://example.org'), /403/);
  await t.rejects(connect(t, port, token, `http://localhost:${port}`), /403/, 'its own name, as another');
  const { find } = await connect(t, port, token);
  t.match(await find('hello'), { maxSize: 1000 });
});

t.test('a page opens a source in parts, and asks for details', async (t) => {
  const { port, token } = await start(t);
  const { find, send, socket } = await connect(t, port, token);
  send({ type: 'open', name: 'x', size: 11 });
  socket.send(Buffer.from('8101'));
  socket.send(Buffer.from('61 8900'));
  await find('opened');
  t.match(await find('frames'), {
    from: 0,
    rows: [
      [0, 1, 1],
      [0, 1, 2]
    ]
  });
  send({ type: 'detail', index: 0, count: 10 });
  t.match((await find('detail')).detail, { name: 'text', verdict: { word: 'good' } });
  send({ type: 'search', query: 'a', number: 1 });
  t.same((await find('found')).found, [0]);
  send({ type: 'open', name: 'x', size: 1001 });
  t.match((await find('error')).text, /larger than 1000 bytes/);
  send({ type: 'open', name: 'x', size: 1 });
  socket.send(Buffer.from('?'));
  t.match((await find('error')).text, /neither hex nor base64/);
  send({ type: 'nonsense' });
  const [code] = await once(socket, 'close');
  t.equal(code, 1011);
});

t.test('a program goes on sending records after a source that was refused', async (t) => {
  const { inspector } = await start(t);
  const live = new WebSocket(inspector.liveUrl);
  t.teardown(() => live.terminate());
  await once(live, 'open');
  const closed = once(live, 'close').then(([code]) => `closed with ${code}`);
  const record = { connection: 'x', from: 'client', role: 'client', direction: 'sent', opcode: 1, rsv: 0, length: 1 };
  const sent = async (sequence, isDone) => {
    live.send(JSON.stringify({ records: [{ ...record, sequence }] }));
    while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await sent(1, () => inspector.session.frames.length === 1);
  await t.rejects(inspector.open({ data: Buffer.from('?'), name: 'x' }), /neither hex/);
  const result = sent(2, () => inspector.session.notes.length > 0).then(() => inspector.session.notes[0]);
  t.match(await Promise.race([result, closed]), /Clear the list/);
});

t.test('the program prints its page, opens files, and says what is wrong with arguments', async (t) => {
  const file = path.join(t.testdir({ 'some.txt': '810161 8900' }), 'some.txt');
  const child = spawn(process.execPath, [CLI, '--port', '0', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill());
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = new URL(/http:\S+/.exec(line)[0]);
  t.match((await get(url.port, '/')).body, /<title>Frames/);
  const { find } = await connect(t, Number(url.port), url.hash.slice(1));
  t.equal((await find('frames')).rows.length, 2);
  for (const [args, message] of [
    [['--port', url.port], /in use/],
    [['--port', '70000'], /up to 65535/],
    [['--port', '0', 'no-such-file'], /no such file/]
  ]) {
    const refused = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [[said], [code]] = await Promise.all([
      once(refused.stderr.setEncoding('utf8'), 'data'),
      once(refused, 'exit')
    ]);
    t.match(said, message);
    t.equal(code, 1);
  }
});
