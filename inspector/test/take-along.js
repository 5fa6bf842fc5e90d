'use strict';

// Frames that are copied and exported: the command sends the message again, the records show the
// same frames.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const { test } = require('node:test');
const { promisify } = require('node:util');
const { WebSocketServer } = require('ws');
const { copyOf } = require('../lib/copy');
const { exportFrames } = require('../lib/export');
const { Session } = require('../lib/session');
const { open, openSample } = require('../lib/sources');
const { encode } = require('./support/frames');
const { RECORD } = require('./support/programs');

const HOSTILE = `it's "$(touch /tmp/x)" \`id\` \\ \u202e\u0007\n😀 ${'x'.repeat(200)}`;

/** @returns {Promise<Session>} a session with frames of a client, that has connected to `url` */
async function openMessages(url, fill) {
  const { host, pathname } = new URL(url);
  const head = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\n\r\n`;
  const session = new Session();
  await open(session, { data: Buffer.concat([Buffer.from(head), encode('client', fill)]), name: 'x', from: 'client' });
  return session;
}

test('the command sends the same message to the same address, and nothing else', async (t) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  await once(server, 'listening');
  const received = [];
  server.on('connection', (socket, { url }) => {
    socket.on('message', (data, isBinary) => {
      received.push([url, isBinary ? data.toString('hex') : data.toString()]);
      socket.send(`heard ${data.length}`, () => socket.close(1000));
    });
  });
  const session = await openMessages(`ws://127.0.0.1:${server.address().port}/it's`, (encoder) => {
    encoder.text(HOSTILE.slice(0, 50), { fin: false });
    encoder.continuation(HOSTILE.slice(50));
    encoder.binary(Buffer.from([0, 255]));
  });
  for (const index of [0, 1, 2]) {
    const command = copyOf(session, index, 'command');
    assert.match(command, /^[\x20-\x7e]+$/);
    const { stdout } = await promisify(execFile)('sh', ['-c', command]);
    assert.match(stdout, /^heard \d+\nclosed 1000/);
  }
  const wanted = ["/it's", HOSTILE];
  assert.deepEqual(received, [wanted, wanted, ["/it's", '00ff']]);
});

test('a payload that is not known is not copied', async () => {
  const session = await openMessages('ws://127.0.0.1/', (encoder) => {
    encoder.ping('a ping');
    encoder.text('x'.repeat(200_000));
    encoder.text('begun', { fin: false });
  });
  assert.equal(copyOf(session, 0, 'payload'), 'a ping');
  assert.equal(copyOf(session, 1, 'payload').length, 200_000);
  assert.match(copyOf(session, 0, 'frame'), /^8986[\da-f]{20}$/);
  for (const index of [0, 1, 2]) assert.throws(() => copyOf(session, index, 'command'), /message/);
  assert.throws(() => copyOf(session, 9, 'payload'), /no such frame/);
  await open(session, { data: Buffer.from(JSON.stringify({ ...RECORD, sequence: 1 })), name: 'x' });
  assert.throws(() => copyOf(session, 0, 'frame'), /Records do not have/);
});

test('exported records show the same frames and messages again', async () => {
  const session = new Session();
  await openSample(session);
  const all = session.frames.map(({ index }) => index);
  const lines = [...exportFrames(session, 'jsonl', [...all, 1e6, 'x', null])];
  assert.equal(lines.length, all.length);
  const again = new Session();
  await open(again, { data: Buffer.from(lines.join('')), name: 'again' });
  const said = ({ frames, connections }) =>
    frames.map(({ connection, from, time, opcode, fin, rsv, length, message, fault }) => {
      return [
        connections[connection].name,
        from,
        time,
        opcode,
        fin,
        rsv,
        length,
        message?.inflated?.toString(),
        fault?.code
      ];
    });
  assert.deepEqual(said(again), said(session));
  const texts = lines.map((line) => JSON.parse(line).text).filter((text) => text !== undefined);
  assert.ok(texts.includes('Once upon a time, a message was so long that it came in three frames.'));
  assert.ok(texts.includes('{"type":"accepted","id":1}'));
  for (const [format, indexes] of [
    ['exe', []],
    ['__proto__', []],
    ['jsonl', 7]
  ]) {
    assert.throws(() => exportFrames(session, format, indexes), TypeError);
  }
});
