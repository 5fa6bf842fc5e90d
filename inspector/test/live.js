'use strict';

// Records that a running program sends to the inspector.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Decoder, Encoder, prepare } = require('framemask');
const { startLive } = require('../lib/live');
const { LIVE, run, startInspector, until } = require('./support/programs');

const PAYLOAD = 6;

/** Sends the records of `work` from this process, in which the inspector runs, too. */
async function trace(t, payload, work, count) {
  const { inspector } = await startInspector(t);
  const stop = startLive({ url: new URL(inspector.liveUrl), payload });
  t.after(stop);
  work();
  const { session } = inspector;
  await until(() => session.frames.length >= count);
  return session;
}

const textsOf = ({ frames }) => frames.map(({ beginning }) => beginning?.toString() ?? null);

test('records come without payloads, and none of the connections of the inspector', async (t) => {
  const work = () => {
    const encoder = new Encoder({ role: 'server', trace: { id: 'mine' } });
    encoder.text('Hello');
    const decoder = new Decoder({ role: 'client', trace: { id: 'mine' }, onError: () => {} });
    for (const chunk of encoder.take()) decoder.write(Buffer.from(chunk));
    decoder.write(Buffer.from('8300', 'hex'));
  };
  const session = await trace(t, 0, work, 2);
  // Records of the records that were sent would come before these.
  new Encoder({ role: 'server', trace: { id: 'last' } }).text('x');
  await until(() => session.frames.length > 2);
  assert.deepEqual(textsOf(session), [null, null, null]);
  const names = session.connections.map(({ name }) => name);
  assert.deepEqual(names, ['mine', 'last']);
  const [{ ends }, { fault }] = session.frames;
  assert.deepEqual([ends.sent.role, ends.received.role], ['server', 'client']);
  assert.equal(fault.code, 'FRAMEMASK_ERR_OPCODE');
  assert.match(fault.message, /reserved opcode 3/);
});

test('where payloads are asked for, each way of sending has its first bytes', async (t) => {
  const work = () => {
    const client = new Encoder({ role: 'client', trace: { id: 'client' } });
    client.text('Wörld', { fin: false });
    client.continuation('more than six');
    client.binary(Buffer.alloc(100_000, 'large payload'), { owned: true });
    client.ping('a ping');
    client.close(1000, 'the end');
    const bytes = Buffer.concat(client.take());
    const server = new Encoder({ role: 'server', trace: { id: 'server' } });
    server.addPrepared(prepare('prepared'));
    server.addFramed([Buffer.from('8a0378797a', 'hex')]);
    server.text('x'.repeat(50_000));
    const decoder = new Decoder({ role: 'server', trace: { id: 'client' } });
    // In pieces, so that frames are cut.
    for (let at = 0; at < bytes.length; at += 1000) decoder.write(Buffer.from(bytes.subarray(at, at + 1000)));
  };
  const session = await trace(t, PAYLOAD, work, 8);
  const texts = ['Wörld', 'more t', 'large ', 'a ping', '\x03\ufffdthe ', 'prepar', 'xyz', 'xxxxxx'];
  assert.deepEqual(textsOf(session), texts);
  for (const { ends } of session.frames.slice(0, 5)) assert.ok(ends.sent !== null && ends.received !== null);
});

test('the payloads of many frames at once are more than one message', async (t) => {
  const work = () => {
    const encoder = new Encoder({ role: 'server', trace: { id: 'server' } });
    for (let i = 0; i < 100; i++) encoder.binary(Buffer.alloc(64 * 1024));
  };
  const session = await trace(t, 64 * 1024, work, 100);
  assert.equal(session.frames.at(-1).beginning.length, 64 * 1024);
});

test('compressed messages of a program are inflated, its connection has an address, and is closed', async (t) => {
  const { inspector } = await startInspector(t);
  const program = `
    const { WebSocketServer, WebSocket } = require('framemask/ws');
    const perMessageDeflate = { threshold: 0 };
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate }, () => {
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port + '/room?x=1', { perMessageDeflate });
      client.on('open', () => { for (const id of [1, 2]) client.send(JSON.stringify({ user: 'Ada', id })); });
      client.on('close', () => server.close());
    });
    server.on('connection', (socket) => socket.on('message', (data) => { if (/2/.test(data)) socket.close(1000); }));`;
  const env = { FRAMEMASK_INSPECTOR: inspector.liveUrl, FRAMEMASK_INSPECTOR_PAYLOAD: '100' };
  await run(program, env, '--require', LIVE);
  const { session } = inspector;
  await until(() => session.connections[0]?.isOpen === false);
  const texts = session.frames.map(({ message }) => message?.inflated?.toString());
  assert.deepEqual(texts, ['{"user":"Ada","id":1}', '{"user":"Ada","id":2}', undefined, undefined]);
  assert.ok(session.frames[1].length < 10, 'the second refers to the first');
  assert.match(session.connections[0].name, /^127\.0\.0\.1:\d+ → 127\.0\.0\.1:\d+ \/room\?x=1$/);
});

test('a program runs as ever where there is no inspector, or none that knows it', async (t) => {
  const { inspector } = await startInspector(t);
  for (const [address, message] of [
    [inspector.liveUrl.replace(/token=.*/, 'token=wrong'), /the inspector answered 403/],
    ['ws://127.0.0.1:1/live', /no records are sent/],
    ['ws://example.org/live', /not an address of this machine/]
  ]) {
    const program = 'setTimeout(() => console.log("ended"), 500)';
    const { stdout, stderr } = await run(program, { FRAMEMASK_INSPECTOR: address }, '--require', LIVE);
    assert.equal(stdout, 'ended\n', address);
    assert.match(stderr, message, address);
  }
});
