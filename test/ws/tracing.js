'use strict';

const { channel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const t = require('tap');
const { IMPLEMENTATIONS, connectPair } = require('../support/websockets');

const { ws, 'framemask/ws': framemask } = IMPLEMENTATIONS;

t.test('connectionId() is the name of a connection in its records, before and after the first', async (t) => {
  const records = [];
  const listen = (record) => records.push(record);
  const { server, client } = await connectPair(t, framemask);
  const { connectionId } = await import('../../ws.mjs');
  t.equal(connectionId, framemask.connectionId);
  const ofServer = connectionId(server); // before the first record
  channel('framemask:message').subscribe(listen);
  t.teardown(() => channel('framemask:message').unsubscribe(listen));
  client.send('text');
  await once(server, 'message');
  t.same(
    records.map(({ role, connection }) => [role, connection]),
    [
      ['client', connectionId(client)],
      ['server', ofServer]
    ]
  );
  t.not(connectionId(client), ofServer);
  client.close();
  await Promise.all([once(server, 'close'), once(client, 'close')]);
  t.equal(connectionId(server), ofServer, 'after the close');

  t.equal(connectionId(new framemask(null, undefined, {})), null, 'before it is open');
  const plain = await connectPair(t, ws);
  t.equal(connectionId(plain.server), null, 'of plain ws');
});

for (const perMessageDeflate of [false, { threshold: 0 }]) {
  const title = perMessageDeflate ? 'compressed' : 'plain';
  t.test(`both ends trace the same frames, and know the key of the handshake, ${title}`, async (t) => {
    const options = { server: { perMessageDeflate }, client: { perMessageDeflate } };
    const { server, client } = await connectPair(t, IMPLEMENTATIONS['framemask/ws'], options);
    const records = [];
    const listen = (record) => records.push(record);
    channel('framemask:frame').subscribe(listen);
    t.teardown(() => channel('framemask:frame').unsubscribe(listen));
    server.on('message', (data) => server.send(data.toString()));
    client.send('text');
    await once(client, 'message');
    client.ping('p');
    client.send('a', { fin: false });
    client.send('b');
    await once(client, 'message');
    client.close(1000);
    await once(client, 'close');

    const sides = new Map();
    for (const { connection, key, from, sequence, direction, opcode, length } of records) {
      const side = `${from} ${direction}`;
      if (!sides.has(side)) sides.set(side, []);
      sides.get(side).push([sequence, opcode, length]);
      t.match(connection, /^[0-9a-f-]{36}$/);
      t.match(key, /^[+/0-9A-Za-z]{22}==$/);
    }
    t.same(sides.get('client sent'), sides.get('client received'));
    t.same(sides.get('server sent'), sides.get('server received'));
    t.same(
      sides.get('client sent').map(([sequence, opcode]) => [sequence, opcode]),
      [
        [1, 1],
        [2, 9],
        [3, 1],
        [4, 0],
        [5, 8]
      ]
    );
    t.equal(new Set(records.map(({ connection }) => connection)).size, 2, 'a name for each end');
    t.equal(new Set(records.map(({ key }) => key)).size, 1, 'one key');
  });
}
