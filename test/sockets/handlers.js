'use strict';

// What handlers do while a chunk lies in the memory that all sockets are read into.

const t = require('tap');
const { once } = require('node:events');
const { Duplex } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const tls = require('node:tls');
const { Decoder } = require('../../index.js');
const certificate = require('../support/certificate');
const { until } = require('../support/promises');
const { binary, string } = require('../support/recorder');
const { Reads, compareReads, frames, isNode } = require('../support/socket-pairs');
const { uncaught } = require('../support/uncaught');

compareReads(t, 'a handler that throws is uncaught, and what follows is delivered', async (reads) => {
  const thrown = [];
  const fail = () => {
    thrown.push(new Error(`error ${thrown.length}`));
    throw thrown.at(-1);
  };
  let last;
  const { socket, client, decoder, events } = await reads.open({
    after([, text]) {
      last = text;
      if (text === 'throw') fail();
    },
    afterRead: () => last === 'throw in afterRead' && fail()
  });
  const errors = await uncaught(async () => {
    client.write(frames('a', 'throw', 'b', Buffer.from('c'), 'throw', 'd'));
    await until(() => thrown.length === 1);
    // The next read delivers what the throw has left.
    client.write(frames('e'));
    await until(() => thrown.length === 2);
    client.write(frames('f', 'throw in afterRead'));
    await until(() => thrown.length === 3);
    client.write(frames('g'));
    await until(() => events.length === 10);
  });
  reads.t.same(errors, thrown);
  reads.t.equal(socket.destroyed, false);
  reads.t.equal(decoder.closed, false);
  reads.checkShared();
  return events;
});

compareReads(t, 'a handler that writes to other decoders, lent or not, disturbs nobody', async (reads) => {
  const seen = [];
  const onMessage = (data) => seen.push(String(data));
  const others = [true, false].map((borrowed) => new Decoder({ role: 'server', borrowed, onMessage }));
  const { client, events, intact } = await reads.open({
    after([, data], decoder) {
      for (const other of others) other.write(frames(data, Buffer.from(data), 'é'));
      // A chunk of its own follows what is left of this one.
      if (data === 'own') decoder.write(frames('inside', Buffer.from('bytes')));
    }
  });
  client.write(frames('a', 'own', Buffer.from('c'), 'd'));
  await until(() => events.length === 6);
  reads.t.same(events, [string('a'), string('own'), binary('c'), string('d'), string('inside'), binary('bytes')]);
  reads.t.ok(intact());
  reads.checkShared();
  return [events, seen];
});

compareReads(t, 'a handler that destroys the socket ends its events as ever', async (reads) => {
  const order = [];
  const { socket, client, decoder, events } = await reads.open({
    after([, text], decoder) {
      if (text === 'destroy') socket.destroy();
      if (text === 'stop') decoder.stop();
    }
  });
  socket.on('end', () => order.push('end')).on('close', (hadError) => order.push('close', hadError));
  client.write(frames('a', 'destroy', 'same read', 'stop', 'never'));
  await until(() => order.length === 2);
  reads.t.equal(decoder.closed, true);
  reads.t.same(events, ['a', 'destroy', 'same read', 'stop'].map(string));
  reads.checkShared();
  return [events, order];
});

compareReads(t, 'a handler that destroys another socket with data on its way', async (reads) => {
  // Whichever is read first destroys the other.
  const ends = [];
  for (const i of [0, 1]) ends.push(await reads.open({ after: () => ends[1 - i].socket.destroy() }));
  const closed = ends.map(({ socket }) => new Promise((resolve) => socket.on('close', resolve)));
  for (const { client } of ends) client.write(frames('x'.repeat(3)));
  await Promise.race(closed);
  await sleep(30);
  return ends.flatMap(({ events }) => events);
});

compareReads(t, 'a handler can read into another decoder, and accept a socket', async (reads) => {
  const second = await reads.connect();
  let other;
  const { client, events } = await reads.open({
    after([, text]) {
      if (text === 'accept') other = reads.readInto(second.socket);
    }
  });
  second.client.write(frames('early'));
  client.write(frames('accept', 'same read', Buffer.from('too')));
  await until(() => events.length === 3 && other.events.length === 1);
  second.client.write(frames('late', Buffer.from('bytes')));
  await until(() => other.events.length === 3);
  reads.checkShared();
  return [events, other.events];
});

for (const [version, act] of [
  ['TLSv1.2', 'write'],
  ['TLSv1.3', 'write'],
  ['TLSv1.2', 'renegotiate']
]) {
  const title = `${version}: a handler that calls ${act} has Node.js decrypt the next record within a read`;
  compareReads(t, title, ['tls'], async (reads) => {
    const { socket, client, decoder, events } = await reads.open({
      server: { minVersion: version, maxVersion: version },
      after() {
        if (act === 'write') socket.write('');
        // Node.js takes three renegotiations for an attack.
        else if (events.length === 1) socket.renegotiate({ rejectUnauthorized: false }, () => {});
      }
    });
    // Each write is a record. Enough of them come in one read.
    const count = 60;
    for (let i = 0; i < count; i++) client.write(frames(Buffer.alloc(500 + i, i), Buffer.alloc(3000, i)));
    await until(() => events.length === 2 * count || decoder.closed);
    reads.checkShared();
    return events;
  });
}

compareReads(t, 'a socket whose listener is removed can become TLS', ['tcp'], async (reads) => {
  const { socket, client, events, receive } = await reads.open();
  await receive('before');
  reads.checkShared();
  socket.removeAllListeners('data');
  const server = new tls.TLSSocket(socket, { isServer: true, ...certificate });
  const secure = tls.connect({ socket: client, rejectUnauthorized: false });
  reads.t.teardown(() => secure.destroy());
  server.on('data', (chunk) => server.write(chunk));
  await once(secure, 'secureConnect');
  secure.write('over TLS');
  reads.t.equal(String((await once(secure, 'data'))[0]), 'over TLS');
  return events;
});

// A connection carries TLS in its messages, and the same read brings messages after them.
t.test('TLS over a stream of JavaScript does not write over the chunk of a read', { skip: !isNode }, async (t) => {
  const reads = new Reads(t, 'tcp', 'shared');
  const { socket, client } = await reads.connect();
  const carrier = new Duplex({ read() {}, write: (chunk, _encoding, done) => socket.write(chunk, done) });
  const seen = [];
  reads.readInto(socket, { onMessage: (data, isBinary) => (isBinary ? carrier.push(data) : seen.push(data)) });
  const inner = new tls.TLSSocket(carrier, { isServer: true, ...certificate });
  const innerSeen = [];
  reads.readInto(inner, { onMessage: (data) => innerSeen.push(data) });
  client.setNoDelay(true);
  const sent = [];
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      // The last bytes of a record, which complete it, and the texts after it come in one read.
      client.write(frames(Buffer.from(chunk.subarray(0, -5))));
      const texts = [`after ${sent.length}`, 'x'.repeat(50)];
      sent.push(...texts);
      setTimeout(() => client.write(frames(Buffer.from(chunk.subarray(-5)), ...texts), done), 5);
    }
  });
  client.on('data', (chunk) => wire.push(chunk));
  client.resume();
  const tunnel = tls.connect({ socket: wire, rejectUnauthorized: false });
  await once(tunnel, 'secureConnect');
  const texts = Array.from({ length: 20 }, (_, i) => `inner ${i} ${'y'.repeat(200)}`);
  for (const text of texts) tunnel.write(frames(text));
  await until(() => innerSeen.length === texts.length && seen.length === sent.length);
  t.same(seen, sent);
  t.same(innerSeen, texts);
  tunnel.destroy();
});
