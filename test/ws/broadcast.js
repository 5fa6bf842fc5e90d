'use strict';

// What is sent to many connections in one turn is framed once, and each gets what was sent to it.

const diagnosticsChannel = require('node:diagnostics_channel');
const { once } = require('node:events');
const t = require('tap');
const { prepare } = require('../..');
const { IMPLEMENTATIONS, listen } = require('../support/websockets');

const KIB = 1024;

const { WebSocket, WebSocketServer } = IMPLEMENTATIONS['framemask/ws'];
const { Sender, WebSocket: Plain } = IMPLEMENTATIONS.ws;

/** Servers' ends of so many connections, and what each of the clients has received. */
async function connectMany(t, count, options, transport) {
  const server = await listen(t, { WebSocketServer }, options, transport);
  const received = [];
  const peers = [];
  for (let i = 0; i < count; i++) {
    const opened = once(server, 'connection');
    const client = new WebSocket(server.url, { rejectUnauthorized: false });
    received.push([]);
    client.on('message', (data, isBinary) => received[i].push(isBinary ? data.toString('hex') : data.toString()));
    peers.push((await opened)[0]);
    if (client.readyState !== 1) await once(client, 'open');
  }
  /** When each client has so many messages. */
  const arrived = async (messages) => {
    while (received.some((list) => list.length < messages)) await new Promise(setImmediate);
    return received;
  };
  return { peers, arrived };
}

t.test('text', async (t) => {
  const { peers, arrived } = await connectMany(t, 5);
  const texts = ['short', 'größer', 'x'.repeat(3000), 'y'.repeat(70_000), ''];
  for (const text of texts) for (const peer of peers) peer.send(text);
  for (const peer of peers) peer.send(texts[0]);
  t.same(await arrived(6), Array(5).fill([...texts, 'short']));
});

t.test('a Buffer is sent as it is at each `send`', async (t) => {
  const { peers, arrived } = await connectMany(t, 4);
  for (const size of [1, 500, 3000, 20_000]) {
    const data = Buffer.alloc(size);
    for (const [i, peer] of peers.entries()) {
      // From 16 KiB on it is sent from where it lies, as with ws.
      if (size < 16 * 1024) data[size - 1] = i >> 1;
      peer.send(data);
    }
    await new Promise(setImmediate);
    data[0] = 9;
    for (const peer of peers) peer.send(data);
    await new Promise(setImmediate);
  }
  const last = (list) => list.map((hex) => Number(`0x${hex.slice(-2)}`));
  const received = await arrived(8);
  t.same(
    received.map(last),
    [0, 0, 1, 1].map((end) => [end, 9, end, 1, end, 1, 0, 0])
  );
  t.same(
    received.map((list) => list.map((hex) => hex.length / 2)),
    Array(4).fill([1, 1, 500, 500, 3000, 3000, 20_000, 20_000])
  );
});

t.test('text and bytes of the same Buffer', async (t) => {
  const { peers, arrived } = await connectMany(t, 4);
  const data = Buffer.from('ab');
  for (const binary of [true, false, true]) for (const peer of peers) peer.send(data, { binary });
  for (const [i, peer] of peers.entries()) peer.send(data, { binary: i % 2 === 0 });
  const [even, odd] = [
    ['6162', 'ab', '6162', '6162'],
    ['6162', 'ab', '6162', 'ab']
  ];
  t.same(await arrived(4), [even, odd, even, odd]);
});

t.test('a frame of ws, as socket.io sends it', async (t) => {
  const { peers, arrived } = await connectMany(t, 4);
  const options = { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: false };
  const lists = ['text', Buffer.from('bytes')].map((data) => Sender.frame(data, { ...options }));
  // Sender.frame makes a Buffer of text; a program may not.
  lists[0][1] = 'text';
  let called = 0;
  for (const list of [...lists, lists[0]]) for (const peer of peers) peer._sender.sendFrame(list, () => called++);
  t.same(await arrived(3), Array(4).fill(['text', 'bytes', 'text']));
  while (called < 12) await new Promise(setImmediate);
});

t.test('frames of ws that are not a whole message', async (t) => {
  const ends = [];
  // Connections of the tests before are not counted.
  const note = ({ role, messagesSent }) => role === 'server' && messagesSent !== null && ends.push(messagesSent);
  diagnosticsChannel.subscribe('framemask:close', note);
  t.teardown(() => diagnosticsChannel.unsubscribe('framemask:close', note));
  const { peers, arrived } = await connectMany(t, 3);
  const frame = (data, fin, opcode) => Sender.frame(Buffer.from(data), { fin, opcode, mask: false, readOnly: false });
  const sendToAll = (list) => {
    for (const peer of peers) peer._sender.sendFrame(list);
  };
  for (const list of [frame('a', false, 1), frame('ping', true, 9), frame('b', true, 0), frame('c', true, 1)])
    sendToAll(list);
  t.same(await arrived(2), Array(3).fill(['ab', 'c']));
  const closed = peers.map((peer) => once(peer, 'close'));
  sendToAll(frame([0x03, 0xe9], true, 8));
  for (const [code] of await Promise.all(closed)) t.equal(code, 1001);
  t.same(ends, [2, 2, 2], 'messages are counted, not frames');
});

const skip = process.versions.bun !== undefined && 'a socket of Bun joins what it writes';

t.test('a long Buffer is sent from where it lies', { skip }, async (t) => {
  const { peers, arrived } = await connectMany(t, 3);
  const data = Buffer.alloc(100_000, 'x');
  const frame = Sender.frame(data, { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: false });
  const { allocUnsafeSlow, concat } = Buffer;
  const copied = [];
  Buffer.allocUnsafeSlow = (size) => {
    copied.push(size);
    return allocUnsafeSlow(size);
  };
  Buffer.concat = (...args) => {
    const joined = concat(...args);
    copied.push(joined.length);
    return joined;
  };
  try {
    for (const peer of peers) peer.send(data, { binary: false });
    for (const peer of peers) peer._sender.sendFrame(frame);
  } finally {
    Object.assign(Buffer, { allocUnsafeSlow, concat });
  }
  t.same(
    copied.filter((size) => size > 64 * KIB),
    []
  );
  t.same(await arrived(2), Array(3).fill(Array(2).fill(data.toString())));
});

t.test('more than is held back in a turn', async (t) => {
  const { peers, arrived } = await connectMany(t, 20);
  const text = 'z'.repeat(5000);
  for (let i = 0; i < 4; i++) for (const peer of peers) peer.send(text);
  t.same(await arrived(4), Array(20).fill(Array(4).fill(text)));
});

t.test("a writer of the program's own gets memory of its own", async (t) => {
  const { peers, arrived } = await connectMany(t, 4);
  const [, changing] = peers;
  const socket = changing._socket;
  const { write } = socket;
  socket.write = (chunk, ...rest) => {
    const written = write.call(socket, Buffer.from(chunk), ...rest);
    chunk.fill(0);
    return written;
  };
  for (let i = 0; i < 3; i++) for (const peer of peers) peer.send('the same');
  t.same(await arrived(3), Array(4).fill(Array(3).fill('the same')));
});

t.test('an answer within a read, and a fragmented message before', async (t) => {
  const { peers, arrived } = await connectMany(t, 3);
  peers[1].send('a ', { fin: false });
  peers[1].send('message', { fin: true });
  for (const peer of peers) peer.send('all');
  for (const peer of [peers[0], peers[2]]) peer.send('other');
  t.same(await arrived(2), [
    ['all', 'other'],
    ['a message', 'all'],
    ['all', 'other']
  ]);
});

const MESSAGES = [
  ['größer', undefined],
  [Buffer.from('größer'), { binary: false }],
  [Buffer.from('bytes'), undefined],
  ['x'.repeat(3000), { binary: true }],
  [Buffer.alloc(20_000, 'y'), undefined],
  ['', undefined]
];

for (const [name, options, transport] of [
  ['TCP', {}],
  ['TLS', {}, 'TLS'],
  ['compressed', { perMessageDeflate: { threshold: 0 } }],
  ['compressed by shared contexts', { perMessageDeflate: { threshold: 0, contextTakeover: false } }]
]) {
  t.test(`messages of prepare: ${name}`, async (t) => {
    const { peers, arrived } = await connectMany(t, 3, options, transport);
    let called = 0;
    for (const given of MESSAGES) {
      const message = prepare(...given);
      for (const peer of peers) peer.send(message, () => called++);
    }
    peers[0].send('a ', { fin: false });
    peers[0].send(prepare('message'), { fin: true });
    for (const peer of peers) peer.send(prepare('without'), { compress: false });
    for (const peer of peers.slice(1)) peer.send('last');
    const received = MESSAGES.map(([data, { binary = typeof data !== 'string' } = {}]) => {
      return Buffer.from(data).toString(binary ? 'hex' : 'utf8');
    });
    const others = [...received, 'without', 'last'];
    t.same(await arrived(8), [[...received, 'a message', 'without'], others, others]);
    while (called < 18) await new Promise(setImmediate);
  });
}

t.test('messages of prepare, of a client: masked, and before it is open an error', async (t) => {
  const server = await listen(t, { WebSocketServer });
  const opened = once(server, 'connection');
  const client = new WebSocket(server.url);
  const message = prepare('text');
  t.throws(() => client.send(message), /CONNECTING/);
  const [peer] = await opened;
  if (client.readyState !== 1) await once(client, 'open');
  const received = once(peer, 'message');
  client.send(message);
  t.same(await received, [Buffer.from('text'), false]);
  t.same(message.frame, Buffer.concat([Buffer.from([0x81, 4]), Buffer.from('text')]), 'it is not masked itself');
  // ws's own WebSocket knows no prepared messages, and says so.
  const plain = new Plain(server.url);
  await once(plain, 'open');
  t.throws(() => plain.send(message), { code: 'ERR_INVALID_ARG_TYPE', message: /framemask\/ws/ });
  plain.terminate();
  client.terminate();
});
