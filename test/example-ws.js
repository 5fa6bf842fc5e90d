'use strict';

// examples/ws.js: its server and client together, with ws, with a client that breaks the rules, and
// as processes.

const { spawn } = require('node:child_process');
const { EventEmitter, on, once } = require('node:events');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const { text } = require('node:stream/consumers');
const t = require('tap');
const { WebSocket } = require('ws');
const { chat, serve, shutDown } = require('../examples/ws');

const EXAMPLE = path.join(__dirname, '../examples/ws.js');

async function startServer(t) {
  const server = serve(0);
  await once(server, 'listening');
  t.teardown(() => shutDown(server));
  return { server, url: `ws://127.0.0.1:${server.address().port}` };
}

/** A client of the example, whose printed lines can be awaited one by one. */
async function join(url, name) {
  const input = new PassThrough();
  const printer = new EventEmitter();
  const lines = on(printer, 'line');
  const socket = chat(url, name, input, (line) => printer.emit('line', line));
  await once(socket, 'open');
  return { input, next: async () => (await lines.next()).value[0] };
}

/** Starts the example as a program. */
function start(args, port) {
  return spawn(process.execPath, [EXAMPLE, ...args], { env: { ...process.env, PORT: String(port) } });
}

t.test('everybody gets what somebody says', async (t) => {
  const { server, url } = await startServer(t);
  const [ada, grace] = [await join(url, 'Ada'), await join(url, 'Grace')];
  const theirs = new WebSocket(url);
  await once(theirs, 'open');
  const heard = once(theirs, 'message');
  ada.input.write('Καλημέρα\n');
  t.equal(await ada.next(), 'Ada: Καλημέρα');
  t.equal(await grace.next(), 'Ada: Καλημέρα');
  t.equal(String((await heard)[0]), 'Ada: Καλημέρα', 'a client of ws');
  theirs.close();
  await once(theirs, 'close');

  grace.input.end();
  t.equal(await grace.next(), 'closed 1000');
  shutDown(server);
  t.equal(await ada.next(), 'closed 1001 The server is going away');
});

t.test('a client that breaks the rules is closed, and the server goes on', async (t) => {
  const { url } = await startServer(t);
  const errors = t.capture(console, 'error', () => {});
  const wrong = new WebSocket(url);
  await once(wrong, 'open');
  const closed = once(wrong, 'close');
  wrong.send(Buffer.alloc(65_537));
  t.equal((await closed)[0], 1009);
  t.same(
    errors().map(({ args }) => args),
    [['Max payload size exceeded']]
  );
  const ada = await join(url, 'Ada');
  ada.input.write('still there?\n');
  t.equal(await ada.next(), 'Ada: still there?');
});

t.test('a client prints why it has no server', async (t) => {
  const printed = [];
  const socket = chat('ws://127.0.0.1:1', 'Ada', new PassThrough(), (line) => printed.push(line));
  await new Promise((resolve) => socket.on('close', resolve));
  t.match(printed, [/ECONNREFUSED/, 'closed 1006']);
});

t.test('as programs', async (t) => {
  const server = start(['server'], 0);
  const [line] = await once(server.stdout, 'data');
  const [, port] = /:(\d+)\n$/.exec(String(line));
  const client = start(['client', 'Ada'], port);
  const printed = text(client.stdout);
  client.stdin.end('Hello\n');
  await once(client, 'exit');
  t.equal(await printed, 'Ada: Hello\nclosed 1000\n');
  server.kill('SIGTERM');
  t.same(await once(server, 'exit'), [0, null]);

  const wrong = start([], 0);
  const usage = text(wrong.stderr);
  t.same(await once(wrong, 'exit'), [2, null]);
  t.match(await usage, /^usage: node examples\/ws\.js/);
});
