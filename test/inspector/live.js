'use strict';

// Records that a running program sends to the inspector.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { promisify } = require('node:util');
const t = require('tap');
const { Decoder, Encoder, prepare } = require('../../index.js');
const { Inspector } = require('../../inspector/lib/inspector');
const { startLive } = require('../../inspector/lib/live');

const LIVE = path.join(__dirname, '../../inspector/live.js');
const PAYLOAD = 6;

/** @returns {Promise<Inspector>} */
async function start(t) {
  const inspector = new Inspector();
  await inspector.listen(0);
  t.teardown(() => inspector.close());
  return inspector;
}

/** Runs a program that preloads live.js. */
const run = (url) =>
  promisify(execFile)(process.execPath, ['--require', LIVE, '-e', 'setTimeout(() => console.log("ended"), 500)'], {
    env: { ...process.env, FRAMEMASK_INSPECTOR: url }
  });

/** Waits until the inspector has so many frames. */
async function frames(inspector, count) {
  for (let i = 0; i < 500 && inspector.session.frames.length < count; i++) await delay(10);
  return inspector.session.frames;
}

t.test('records come without payloads, and none of the connections of the inspector', async (t) => {
  const inspector = await start(t);
  // The inspector runs in this process, too.
  const stop = startLive({ url: new URL(inspector.liveUrl), payload: 0 });
  const encoder = new Encoder({ role: 'server', connectionId: 'mine' });
  encoder.text('Hello');
  const decoder = new Decoder({ role: 'client', connectionId: 'mine', onError: () => {} });
  for (const chunk of encoder.take()) decoder.write(Buffer.from(chunk));
  decoder.write(Buffer.from('8300', 'hex'));
  const found = await frames(inspector, 2);
  await delay(100);
  stop();
  t.equal(found.length, 2);
  t.same(
    inspector.session.connections.map(({ name }) => name),
    ['mine']
  );
  t.match(found[0], { beginning: null, ends: { sent: { role: 'server' }, received: { role: 'client' } } });
  t.match(found[1].fault, { code: 'FRAMEMASK_ERR_OPCODE', message: /reserved opcode 3/ });
});

t.test('where payloads are asked for, each way of sending has its first bytes', async (t) => {
  const inspector = await start(t);
  const stop = startLive({ url: new URL(inspector.liveUrl), payload: PAYLOAD });
  const large = Buffer.alloc(100_000, 'large payload');
  const client = new Encoder({ role: 'client', connectionId: 'client' });
  client.text('Wörld', { fin: false });
  client.continuation('more than six');
  client.binary(Buffer.from(large), { owned: true });
  client.ping('a ping');
  client.close(1000, 'the end');
  const bytes = Buffer.concat(client.take());
  const server = new Encoder({ role: 'server', connectionId: 'server' });
  server.prepared(prepare('prepared'));
  server.framed([Buffer.from('8a0378797a', 'hex')]);
  server.text('x'.repeat(50_000));
  const decoder = new Decoder({ role: 'server', connectionId: 'client' });
  // In pieces, so that frames are cut.
  for (let at = 0; at < bytes.length; at += 1000) decoder.write(Buffer.from(bytes.subarray(at, at + 1000)));
  const found = await frames(inspector, 8);
  stop();
  const texts = found.map(({ beginning }) => beginning.toString());
  t.same(texts, ['Wörld', 'more t', 'large ', 'a ping', '\x03\ufffdthe ', 'prepar', 'xyz', 'xxxxxx']);
  t.ok(
    found.slice(0, 5).every(({ ends }) => ends.sent !== null && ends.received !== null),
    'of both ends'
  );
});

t.test('where payloads are asked for, received frames have their first bytes', async (t) => {
  const inspector = await start(t);
  const stop = startLive({ url: new URL(inspector.liveUrl), payload: PAYLOAD });
  const decoder = new Decoder({ role: 'server', connectionId: 'alone', onMessage() {} });
  decoder.write(Buffer.from('818500000000776f726c648983000000006162638182000000006869', 'hex'));
  const found = await frames(inspector, 3);
  stop();
  t.same(
    found.map(({ beginning }) => beginning.toString()),
    ['world', 'abc', 'hi']
  );
});

t.test('a program runs as ever where there is no inspector, or none that knows it', async (t) => {
  const inspector = await start(t);
  const url = new URL(inspector.liveUrl);
  url.searchParams.set('token', 'wrong');
  for (const [address, message] of [
    [url.href, /the inspector answered 403/],
    ['ws://127.0.0.1:1/live', /no records are sent/],
    ['ws://example.org/live', /not an address of this machine/]
  ]) {
    const { stdout, stderr } = await run(address);
    t.equal(stdout, 'ended\n', address);
    t.match(stderr, message, address);
  }
});
