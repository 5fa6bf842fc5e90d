'use strict';

const t = require('tap');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { setImmediate } = require('node:timers/promises');
const { promisify } = require('node:util');
const { MessageChannel } = require('node:worker_threads');
const { Encoder } = require('../../index.js');
const { canBatch, describeRounds } = require('../../lib/sockets/rounds');
const { WebSocket, WebSocketServer, report } = require('../../ws.js');
const { isNode } = require('../support/socket-pairs');
const { connectPair, connectRaw } = require('../support/websockets');

const implementation = { WebSocket, WebSocketServer };

/** @returns {Buffer} masked binary frames */
function framesOf(...payloads) {
  const encoder = new Encoder({ role: 'client' });
  for (const payload of payloads) encoder.binary(payload);
  return Buffer.concat(encoder.take());
}

/** @returns {Promise<Buffer[]>} the next messages */
async function messagesOf(websocket, count) {
  const messages = [];
  const done = new Promise((resolve) => {
    websocket.on('message', (data) => messages.push(data) === count && resolve());
  });
  await done;
  return messages;
}

t.test('a message has memory of its own, and stays when others are read', async (t) => {
  const { server, socket } = await connectRaw(t, implementation);
  const first = once(server, 'message');
  socket.write(framesOf(Buffer.alloc(3000, 1)));
  const [kept] = await first;
  t.equal(kept.buffer.byteLength, 3000, 'nothing else lies in its memory');
  const second = once(server, 'message');
  socket.write(framesOf(Buffer.alloc(3000, 2)));
  await second;
  t.ok(kept.equals(Buffer.alloc(3000, 1)));
});

t.test('a short message that is kept keeps at most 8 KiB', async (t) => {
  const { server, socket } = await connectRaw(t, implementation);
  const first = once(server, 'message');
  socket.write(framesOf(Buffer.alloc(1)));
  await first;
  const received = messagesOf(server, 250);
  socket.write(framesOf(...Array(250).fill(Buffer.alloc(240))));
  t.ok(Math.max(...(await received).map(({ buffer }) => buffer.byteLength)) <= 8192);
});

t.test('with sharedReads: false a socket is read into memory of its own', async (t) => {
  const { server, socket } = await connectRaw(t, implementation, { sharedReads: false });
  const first = once(server, 'message');
  socket.write(framesOf(Buffer.alloc(3000, 1)));
  const [kept] = await first;
  t.ok(kept.buffer.byteLength > 3000, 'it is a view of the chunk');
});

t.test('chunks that wait for a message in the thread pool are copied', async (t) => {
  const deflate = { perMessageDeflate: { threshold: 0 } };
  const { server, client } = await connectPair(t, implementation, { server: deflate, client: deflate });
  // What other connections read meanwhile goes into the same memory.
  const other = await connectPair(t, implementation);
  const noise = setInterval(() => other.client.send(Buffer.alloc(5000, 0xee)), 1);
  t.teardown(() => clearInterval(noise));
  // The first inflates in the thread pool; the others arrive meanwhile.
  const payloads = Array.from({ length: 40 }, (_, i) => Buffer.alloc(i === 0 ? 2 ** 23 : 2000 + i, i));
  const received = messagesOf(server, payloads.length);
  await promisify(client.send.bind(client))(payloads[0], { compress: true });
  for (const payload of payloads.slice(1)) {
    client.send(payload, { compress: false });
    await setImmediate();
  }
  const messages = await received;
  for (let i = 0; i < payloads.length; i++) {
    if (!messages[i].equals(payloads[i])) t.fail(`message ${i} differs`);
  }
  t.equal(messages.length, payloads.length);
});

t.test('who listens for the data of a socket gets copies that stay', async (t) => {
  const { server, socket } = await connectRaw(t, implementation);
  const chunks = [];
  server._socket.on('data', (chunk) => chunks.push(chunk));
  const received = messagesOf(server, 2);
  const sent = [framesOf(Buffer.alloc(1000, 1)), framesOf(Buffer.alloc(1000, 2))];
  socket.write(sent[0]);
  await once(server, 'message');
  socket.write(sent[1]);
  await received;
  t.equal(new Set(chunks.map(({ buffer }) => buffer)).size, chunks.length, 'each has memory of its own');
  t.equal(Buffer.concat(chunks).length, Buffer.concat(sent).length);
});

t.test('a socket that others listened to before reads as ever', async (t) => {
  const { createServer } = require('node:http');
  const wss = new WebSocketServer({ noServer: true });
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.teardown(() => http.close());
  http.on('upgrade', (request, socket, head) => {
    socket.on('data', () => {});
    wss.handleUpgrade(request, socket, head, (websocket) => {
      websocket.on('message', (data) => websocket.send(data.buffer.byteLength > 3000 ? 'a view' : 'a copy'));
    });
  });
  const client = new WebSocket(`ws://127.0.0.1:${http.address().port}`);
  await once(client, 'open');
  client.send(Buffer.alloc(3000));
  const [answer] = await once(client, 'message');
  t.equal(String(answer), 'a view');
  client.close();
  await once(client, 'close');
});

t.test('an ArrayBuffer has the bytes of its message only', async (t) => {
  const { server, socket } = await connectRaw(t, implementation);
  server.binaryType = 'arraybuffer';
  const received = messagesOf(server, 3);
  // The first chunk of a socket is a copy; neighbours share theirs.
  socket.write(framesOf(Buffer.alloc(100, 1)));
  await once(server, 'message');
  socket.write(framesOf(Buffer.alloc(100, 2), Buffer.alloc(100, 3)));
  const messages = await received;
  t.same(
    messages.map((data) => Buffer.from(data)),
    [1, 2, 3].map((byte) => Buffer.alloc(100, byte))
  );
});

t.test('a listener may transfer each message, and all of a read are delivered', async (t) => {
  for (const binaryType of ['arraybuffer', 'nodebuffer']) {
    const { server, client } = await connectPair(t, implementation);
    server.binaryType = binaryType;
    const { port1, port2 } = new MessageChannel();
    t.teardown(() => port1.close());
    const seen = [];
    server.on('message', (data) => {
      seen.push(Buffer.from(data).toString('latin1'));
      const memory = binaryType === 'arraybuffer' ? data : data.buffer;
      port1.postMessage(memory, [memory]);
      t.equal(memory.byteLength, 0, 'it is transferred');
    });
    const transferred = new Promise((resolve) => {
      let count = 0;
      port2.on('message', () => ++count === 11 && resolve());
    });
    const messages = [3, 3000, 3000, 5000, 2048, 100, 100, 2047, 10, 3000, 1].map((size, i) =>
      `${i % 10}`.repeat(size)
    );
    // The first chunk of a socket is a copy. The others come in one.
    await promisify(client.send.bind(client))(Buffer.from(messages[0]));
    if (seen.length === 0) await once(server, 'message');
    for (const message of messages.slice(1)) client.send(Buffer.from(message));
    await transferred;
    t.same(seen, messages, binaryType);
  }
});

t.test(
  'with batchedReads: true the replies of all connections come, and the report counts them',
  { skip: !isNode },
  async (t) => {
    const pairs = [];
    for (let i = 0; i < 20; i++) pairs.push(await connectPair(t, implementation, { server: { batchedReads: true } }));
    const expected = [];
    for (const [i, { server, client }] of pairs.entries()) {
      server.on('message', (data, isBinary) => server.send(data, { binary: isBinary }));
      expected.push(Array.from({ length: 50 }, (_, k) => `${i} ${k}`));
      client.received = [];
      client.on('message', (data) => client.received.push(String(data)));
    }
    for (let k = 0; k < 50; k++) {
      for (const [i, { client }] of pairs.entries()) client.send(expected[i][k]);
      await setImmediate();
    }
    for (const { client } of pairs) {
      while (client.received.length < 50) await once(client, 'message');
    }
    t.same(
      pairs.map(({ client }) => client.received),
      expected
    );
    const { batchError, connections } = report();
    t.equal(connections.batched, canBatch() ? pairs.length : 0);
    t.equal(batchError, canBatch() ? null : describeRounds().fault.message);
  }
);

for (const [title, reads, before, shown] of [
  ['events', 'events', '', 'events null'],
  ['batched', 'batched', '', isNode ? (canBatch() ? 'batched null' : null) : 'events null'],
  [
    'batched, without the addon',
    'batched',
    `require('fs').existsSync = () => false;`,
    isNode && process.platform === 'linux' ? `shared No addon for batched reads on linux-${process.arch}` : null
  ]
]) {
  t.test(`FRAMEMASK_READS counts for all sockets: ${title}`, { skip: shown === null }, async (t) => {
    const code = `
    ${before}
    const { WebSocket, WebSocketServer, report } = require('./ws.js');
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      server.on('connection', (websocket) => websocket.on('message', (data) => websocket.send(data)));
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
      client.on('open', () => client.send('hello'));
      client.on('message', (data) => {
        console.log(report().reads, report().batchError, String(data));
        client.close();
        server.close();
      });
    });
  `;
    const child = spawn(process.execPath, ['-e', code], {
      cwd: path.join(__dirname, '../..'),
      env: { ...process.env, FRAMEMASK_READS: reads },
      stdio: ['ignore', 'pipe', 'inherit']
    });
    t.equal(await text(child.stdout), `${shown} hello\n`);
  });
}
