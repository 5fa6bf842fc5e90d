'use strict';

const t = require('tap');
const { once } = require('node:events');
const { setImmediate } = require('node:timers/promises');
const { promisify } = require('node:util');
const { MessageChannel } = require('node:worker_threads');
const framemask = require('../../ws.js');
const { frame } = require('../support/frames');
const { frames } = require('../support/socket-pairs');
const { connectPair, connectRaw, connectRawServer, receive, runSource } = require('../support/websockets');

const BINARY = 2;

/** Each end, the socket of its peer, and what that one sends. */
const ENDS = {
  async server(t, options) {
    const { server, socket } = await connectRaw(t, framemask, options);
    return { websocket: server, write: (...messages) => socket.write(frames(...messages)) };
  },
  async client(t, options) {
    const { client, socket } = await connectRawServer(t, framemask, { perMessageDeflate: false, ...options });
    const unmasked = (message) => frame(BINARY, message);
    return { websocket: client, write: (...messages) => socket.write(Buffer.concat(messages.map(unmasked))) };
  }
};

for (const [role, connect] of Object.entries(ENDS)) {
  t.test(`${role}: a message has memory of its own, and stays when others are read`, async (t) => {
    const { websocket, write } = await connect(t);
    const first = once(websocket, 'message');
    write(Buffer.alloc(3000, 1));
    const [kept] = await first;
    t.equal(kept.buffer.byteLength, 3000, 'nothing else lies in its memory');
    const second = once(websocket, 'message');
    write(Buffer.alloc(3000, 2));
    await second;
    t.ok(kept.equals(Buffer.alloc(3000, 1)));
  });

  t.test(`${role}: a short message that is kept keeps at most 8 KiB`, async (t) => {
    const { websocket, write } = await connect(t);
    const first = once(websocket, 'message');
    write(Buffer.alloc(1));
    await first;
    const received = receive(websocket, 250);
    write(...Array(250).fill(Buffer.alloc(240)));
    t.ok(Math.max(...(await received).map(({ buffer }) => buffer.byteLength)) <= 8192);
  });

  t.test(`${role}: with sharedReads: false a socket is read into memory of its own`, async (t) => {
    const { websocket, write } = await connect(t, { sharedReads: false });
    const first = once(websocket, 'message');
    write(Buffer.alloc(3000, 1));
    const [kept] = await first;
    t.ok(kept.buffer.byteLength > 3000, 'it is a view of the chunk');
  });
}

t.test('chunks that wait for a message in the thread pool are copied', async (t) => {
  const deflate = { perMessageDeflate: { threshold: 0 } };
  const { server, client } = await connectPair(t, framemask, { server: deflate, client: deflate });
  // What other connections read meanwhile goes into the same memory.
  const other = await connectPair(t, framemask);
  const noise = setInterval(() => other.client.send(Buffer.alloc(5000, 0xee)), 1);
  t.teardown(() => clearInterval(noise));
  // The first inflates in the thread pool; the others arrive meanwhile.
  const payloads = Array.from({ length: 40 }, (_, i) => Buffer.alloc(i === 0 ? 2 ** 23 : 2000 + i, i));
  const received = receive(server, payloads.length);
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
  const { server, socket } = await connectRaw(t, framemask);
  const chunks = [];
  server._socket.on('data', (chunk) => chunks.push(chunk));
  const received = receive(server, 2);
  const sent = [frames(Buffer.alloc(1000, 1)), frames(Buffer.alloc(1000, 2))];
  socket.write(sent[0]);
  await once(server, 'message');
  socket.write(sent[1]);
  await received;
  t.equal(new Set(chunks.map(({ buffer }) => buffer)).size, chunks.length, 'each has memory of its own');
  t.equal(Buffer.concat(chunks).length, Buffer.concat(sent).length);
});

t.test('a socket that others listened to before reads as ever', async (t) => {
  const verifyClient = ({ req: { socket } }) => socket.on('data', () => {});
  const { server, client } = await connectPair(t, framemask, { server: { verifyClient } });
  const received = once(server, 'message');
  client.send(Buffer.alloc(3000));
  t.ok((await received)[0].buffer.byteLength > 3000, 'a view');
});

t.test('an ArrayBuffer has the bytes of its message only', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  server.binaryType = 'arraybuffer';
  const received = receive(server, 3);
  // The first chunk of a socket is a copy; neighbours share theirs.
  socket.write(frames(Buffer.alloc(100, 1)));
  await once(server, 'message');
  socket.write(frames(Buffer.alloc(100, 2), Buffer.alloc(100, 3)));
  const messages = await received;
  for (const [i, data] of messages.entries()) t.ok(Buffer.alloc(100, i + 1).equals(Buffer.from(data)));
});

t.test('a listener may transfer each message, and all of a read are delivered', async (t) => {
  for (const binaryType of ['arraybuffer', 'nodebuffer']) {
    const { server, client } = await connectPair(t, framemask);
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
    let count = 0;
    const transferred = new Promise((resolve) => port2.on('message', () => ++count === 11 && resolve()));
    const sizes = [3, 3000, 3000, 5000, 2048, 100, 100, 2047, 10, 3000, 1];
    const messages = sizes.map((size, i) => `${i % 10}`.repeat(size));
    // The first chunk of a socket is a copy. The others come in one.
    await promisify(client.send.bind(client))(Buffer.from(messages[0]));
    if (seen.length === 0) await once(server, 'message');
    for (const message of messages.slice(1)) client.send(Buffer.from(message));
    await transferred;
    t.same(seen, messages, binaryType);
  }
});

t.test('FRAMEMASK_READS=events counts for all sockets', async (t) => {
  const code = `
    const { WebSocket, WebSocketServer, report } = require('./ws.js');
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => {
      server.on('connection', (websocket) => websocket.on('message', (data) => websocket.send(data)));
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
      client.on('open', () => client.send('hello'));
      client.on('message', (data) => {
        console.log(report().reads, String(data));
        client.close();
        server.close();
      });
    });
  `;
  const { stdout, stderr } = await runSource(code, [], { FRAMEMASK_READS: 'events' });
  t.same([stdout, stderr], ['events hello\n', '']);
});

for (const [door, serve] of Object.entries({
  'framemask/ws': `new WebSocketServer({ server }).on('connection', (end) => end.on('message', (data) => end.send(String(data))))`,
  Connection: `server.on('upgrade', (...upgrade) => {
    Connection.accept(...upgrade, { onMessage(data) { this.send(data); } });
  })`
})) {
  t.test(`prototypes that a program has frozen, as by SES: ${door}`, async (t) => {
    const program = `
      for (const { prototype } of [Buffer, Uint8Array, Object, Array, Function]) Object.freeze(prototype);
      const { Connection } = require('./index.js');
      const { WebSocket, WebSocketServer } = require('./ws.js');
      const server = require('node:http').createServer().listen(0, '127.0.0.1', () => {
        const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
        client.on('open', () => client.send('text'));
        client.on('message', (data) => console.log(String(data)) ?? process.exit());
      });
      ${serve};`;
    const { status, stdout, stderr } = await runSource(program);
    t.same([status, stdout, stderr], [0, 'text\n', '']);
  });
}
