'use strict';

const { channel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const t = require('tap');
const { IMPLEMENTATIONS, connectPair, deliver } = require('../support/websockets');

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
