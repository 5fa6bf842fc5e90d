'use strict';

const { channel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const t = require('tap');
const { prepare, sendStream } = require('../..');
const { forEachDoor } = require('../support/doors');
const { CLOSE, KEY, TEXT, frame } = require('../support/frames');
const { hasWs } = require('../support/ws-version');
const { IMPLEMENTATIONS, connectPair, connectRaw, deliver } = require('../support/websockets');

const { ws, 'framemask/ws': framemask } = IMPLEMENTATIONS;

/** @returns {object[]} the records of a channel from now on until the end of the test */
function subscribe(t, name) {
  const records = [];
  const listen = (record) => records.push(record);
  channel(name).subscribe(listen);
  t.teardown(() => channel(name).unsubscribe(listen));
  return records;
}

t.test('connectionId() is the name of a connection in its records, before and after the first', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  const { connectionId } = await import('../../ws.mjs');
  t.equal(connectionId, framemask.connectionId);
  const ofServer = connectionId(server); // before the first record
  const records = subscribe(t, 'framemask:message');
  await deliver(client, server, 'text');
  const found = Object.fromEntries(records.map(({ role, connection }) => [role, connection]));
  t.same(found, { client: connectionId(client), server: ofServer });
  t.equal(records.length, 2);
  t.not(connectionId(client), ofServer);
  client.close();
  await Promise.all([once(server, 'close'), once(client, 'close')]);
  t.equal(connectionId(server), ofServer, 'after the close');

  t.equal(connectionId(new framemask(null, undefined, {})), null, 'before it is open');
  const plain = await connectPair(t, ws);
  t.equal(connectionId(plain.server), null, 'of plain ws');
});

for (const options of [{ perMessageDeflate: false }, { perMessageDeflate: { threshold: 0 } }]) {
  t.test(`both ends trace the same frames, and the key of the handshake, ${JSON.stringify(options)}`, async (t) => {
    const { server, client } = await connectPair(t, framemask, { server: options, client: options });
    const records = subscribe(t, 'framemask:frame');
    server.on('message', (data) => server.send(data.toString()));
    client.send('text');
    await once(client, 'message');
    client.ping('p');
    client.send('a', { fin: false });
    client.send('b');
    await once(client, 'message');
    client.close(1000);
    await once(client, 'close');

    const sides = {};
    for (const { connection, key, from, sequence, direction, opcode, length } of records) {
      sides[`${from} ${direction}`] ??= [];
      sides[`${from} ${direction}`].push([sequence, opcode, length]);
      t.match(connection, /^[0-9a-f-]{36}$/);
      t.match(key, /^[+/0-9A-Za-z]{22}==$/);
    }
    t.same(sides['client sent'], sides['client received']);
    t.same(sides['server sent'], sides['server received']);
    const sent = sides['client sent'].map(([sequence, opcode]) => `${sequence}: ${opcode}`);
    t.same(sent, ['1: 1', '2: 9', '3: 1', '4: 0', '5: 8']);
    t.equal(new Set(records.map(({ connection }) => connection)).size, 2, 'a name for each end');
    t.equal(new Set(records.map(({ key }) => key)).size, 1, 'one key');
  });
}

/** `once` would reject with an error that comes first. */
const closeOf = (end) => new Promise((resolve) => end.once('close', resolve));
const ended = (...ends) => Promise.all(ends.map(closeOf));

for (const [name, options] of Object.entries({
  'without compression': { perMessageDeflate: false },
  'with compression': { perMessageDeflate: { threshold: 0 } }
})) {
  forEachDoor(t, `framemask:open and framemask:close tell and count, ${name}`, async (t, door, doorName) => {
    const opens = subscribe(t, 'framemask:open');
    const allCloses = subscribe(t, 'framemask:close');
    const { server, client, request } = await connectPair(t, door, { server: options, client: options });
    const key = request.headers['sec-websocket-key'];
    t.match(new Set(opens.map(({ role }) => role)), new Set(['client', 'server']));
    for (const record of opens) t.match(record, { key, path: '/', protocol: '' });

    const long = Buffer.alloc(70_000, 'x');
    client.on('message', () => {});
    await deliver(client, server, 'é');
    await deliver(client, server, long);
    client.send('two ', { fin: false });
    await deliver(client, server, 'fragments');
    server.ping('not counted');
    await deliver(server, client, prepare('all'));
    await Promise.all([sendStream(server, ['a', 'stream']), once(client, 'message')]);
    let bytesSent = 3 + 7;
    let messagesSent = 2;
    if (doorName === 'framemask/ws') {
      const others = hasWs('8.18.0') ? [17, new Blob(['blob'])] : [17];
      for (const data of others) await deliver(server, client, data);
      bytesSent += hasWs('8.18.0') ? 2 + 4 : 2;
      messagesSent += others.length;
    }
    client.close(4000);
    await ended(server, client);

    // On Deno a connection of the test before may end in this one.
    const closes = allCloses.filter((record) => record.key === key);
    const counted = { messagesReceived: 3, bytesReceived: 2 + 70_000 + 13, messagesSent, bytesSent };
    const [ofServer, ofClient] = ['server', 'client'].map((role) => closes.find((record) => record.role === role));
    t.match(ofServer, { key, path: '/', protocol: '', closeCode: 4000, sentCode: 4000, error: null, ...counted });
    t.match(ofClient, { messagesReceived: messagesSent, bytesReceived: bytesSent, closeCode: 4000, error: null });
    t.match(ofClient, { messagesSent: counted.messagesReceived, bytesSent: counted.bytesReceived, sentCode: 4000 });
    for (const { role, connection } of opens) t.equal(closes.find((end) => end.role === role).connection, connection);
    t.equal(closes.length, 2, 'once for each end');
  });
}

/** How a connection ends, and what the server's record says of it. */
const ENDS = {
  'text that is not UTF-8': [
    (_server, socket) => socket.write(frame(TEXT, Buffer.from([0xff]), { key: KEY })),
    { closeCode: 1006, sentCode: 1007, error: { message: /UTF-8/i } }
  ],
  'a reset': [
    (_server, socket) => socket.resetAndDestroy(),
    { closeCode: 1006, sentCode: null, error: { code: 'ECONNRESET' } }
  ],
  'an end without a Close frame': [(_server, socket) => socket.end(), { closeCode: 1006, sentCode: null, error: null }],
  'terminate()': [(server) => server.terminate(), { closeCode: 1006, sentCode: null, error: null }],
  'close() without a code': [
    (server, socket) => {
      server.close();
      socket.write(frame(CLOSE, '', { key: KEY }));
    },
    { closeCode: 1005, sentCode: 1005, error: null }
  ]
};

for (const [name, [end, expected]] of Object.entries(ENDS)) {
  forEachDoor(t, `framemask:close tells the codes and the error: ${name}`, async (t, door) => {
    const records = subscribe(t, 'framemask:close');
    const { server, socket } = await connectRaw(t, door);
    server.on('error', () => {});
    socket.on('error', () => {});
    const closed = closeOf(server);
    end(server, socket);
    await closed;
    t.match(records, [{ role: 'server', messagesReceived: 0, ...expected }]);
  });
}

t.test('framemask:close has the error of a limit', async (t) => {
  const records = subscribe(t, 'framemask:close');
  const { server, client } = await connectPair(t, framemask, { server: { maxBackpressure: 100 } });
  client.pause();
  server.on('error', () => {});
  const closed = closeOf(server);
  while (server.readyState === server.OPEN) {
    server.send(Buffer.alloc(100_000));
    await new Promise(setImmediate);
  }
  await closed;
  t.match(records, [{ closeCode: 1006, sentCode: null, error: { code: 'FRAMEMASK_ERR_BACKPRESSURE' } }]);
});

forEachDoor(t, 'the parts of a message that comes as a stream are counted as one', async (t, door) => {
  const records = subscribe(t, 'framemask:close');
  const { server, client } = await connectPair(t, door, { server: { streamFrom: 10 } });
  server.on('message', () => {});
  server.on('stream', (stream) => stream.resume().on('end', () => client.close()));
  client.send(Buffer.alloc(200_000));
  await ended(server, client);
  t.match(
    records.find(({ role }) => role === 'server'),
    { messagesReceived: 1, bytesReceived: 200_000 }
  );
});

t.test('a WebSocket that nobody listened to when it opened, and one that ws decodes', async (t) => {
  const early = await connectPair(t, framemask);
  early.client.send('a');
  const records = subscribe(t, 'framemask:close');
  early.client.close();
  await ended(early.client, early.server);
  for (const record of records)
    t.match(record, { path: null, messagesReceived: null, bytesSent: null, closeCode: 1005 });
  t.equal(records.length, 2);

  process.env.FRAMEMASK_DEFLATE = 'ws';
  t.teardown(() => delete process.env.FRAMEMASK_DEFLATE);
  const options = { perMessageDeflate: { threshold: 0 } };
  const { server, client } = await connectPair(t, framemask, { server: options, client: options });
  await deliver(client, server, 'to be compressed by ws');
  records.length = 0;
  client.close();
  await ended(client, server);
  t.match(
    records.find(({ role }) => role === 'client'),
    { messagesReceived: null, bytesReceived: null, messagesSent: 1, bytesSent: 22 }
  );
});

t.test('a client that was refused has neither a beginning nor an end', async (t) => {
  const records = ['framemask:open', 'framemask:close'].map((name) => subscribe(t, name));
  const client = new framemask.WebSocket('ws://127.0.0.1:1').on('error', () => {});
  await closeOf(client);
  t.same(records, [[], []]);
});
