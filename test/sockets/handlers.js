'use strict';

// What handlers do while a chunk lies in the memory that all sockets are read into.

const t = require('tap');
const { Duplex } = require('node:stream');
const tls = require('node:tls');
const { Decoder, readInto } = require('../../index.js');
const certificate = require('../support/certificate');
const { binary, string } = require('../support/recorder');
const { Reads, compareReads, frames, isNode, until } = require('../support/socket-pairs');
const { uncaught } = require('../support/uncaught');

compareReads(t, 'a handler that throws is uncaught, and what follows is delivered', async (reads) => {
  const { socket, client } = await reads.connect();
  const thrown = [];
  const { begin, decoder, events } = reads.readInto(socket, {
    after([, text]) {
      if (text !== 'throw') return;
      const error = new Error(`after ${events.length}`);
      thrown.push(error);
      throw error;
    }
  });
  await begin(client);
  const errors = await uncaught(async () => {
    client.write(frames('a', 'throw', 'b', Buffer.from('c'), 'throw', 'd'));
    await until(() => thrown.length === 1);
    // The next read delivers what the throw has left.
    client.write(frames('e'));
    await until(() => thrown.length === 2);
    client.write(frames('f'));
    await until(() => events.length === 8);
  });
  reads.t.same(errors, thrown);
  reads.t.equal(socket.destroyed, false);
  reads.t.equal(decoder.closed, false);
  reads.checkShared();
  return [events, errors.map(({ message }) => message)];
});

compareReads(t, 'a handler that throws in afterRead loses nothing', async (reads) => {
  const { socket, client } = await reads.connect();
  let calls = 0;
  const { events } = reads.readInto(socket, {
    afterRead() {
      calls++;
      if (calls === 1) throw new Error('after the first read');
    }
  });
  const errors = await uncaught(async () => {
    client.write(frames('a'));
    await until(() => calls === 1);
    client.write(frames('b'));
    await until(() => calls === 2);
  });
  reads.t.match(errors, [{ message: 'after the first read' }]);
  return events;
});

compareReads(t, 'a handler that writes to other decoders, lent or not, disturbs nobody', async (reads) => {
  const { socket, client } = await reads.connect();
  const seen = [];
  const others = [true, false].map(
    (borrowed) => new Decoder({ role: 'server', borrowed, onMessage: (data) => seen.push(String(data)) })
  );
  const { begin, events, intact } = reads.readInto(socket, {
    after([, data], decoder) {
      for (const other of others) other.write(frames(data, Buffer.from(data), 'é'));
      // A chunk of its own follows what is left of this one.
      if (data === 'own') decoder.write(frames('inside', Buffer.from('bytes')));
    }
  });
  await begin(client);
  client.write(frames('a', 'own', Buffer.from('c'), 'd'));
  await until(() => events.length === 6);
  reads.t.same(events, [string('a'), string('own'), binary('c'), string('d'), string('inside'), binary('bytes')]);
  reads.t.ok(intact());
  reads.checkShared();
  return [events, seen];
});

compareReads(t, 'a handler that destroys the socket ends its events as ever', async (reads) => {
  const { socket, client } = await reads.connect();
  const order = [];
  const { begin, decoder, events } = reads.readInto(socket, {
    after([, text], decoder) {
      if (text === 'destroy') socket.destroy();
      if (text === 'stop') decoder.stop();
    }
  });
  await begin(client);
  socket.on('end', () => order.push('end')).on('close', (hadError) => order.push('close', hadError));
  client.write(frames('a', 'destroy', 'same read', 'stop', 'never'));
  await until(() => order.length === 2);
  reads.t.equal(decoder.closed, true);
  reads.t.same(events, ['a', 'destroy', 'same read', 'stop'].map(string));
  reads.checkShared();
  return [events, order];
});

compareReads(t, 'a handler that destroys another socket with data on its way', async (reads) => {
  const one = await reads.connect();
  const two = await reads.connect();
  const first = reads.readInto(one.socket, { after: () => two.socket.destroy() });
  const second = reads.readInto(two.socket, { after: () => one.socket.destroy() });
  const closed = [one, two].map(({ socket }) => new Promise((resolve) => socket.on('close', resolve)));
  await Promise.all([first.begin(one.client), second.begin(two.client)]);
  // Whichever is read first destroys the other.
  two.client.write(frames('x'.repeat(3)));
  one.client.write(frames('x'.repeat(3)));
  await Promise.race(closed);
  await new Promise((resolve) => setTimeout(resolve, 30));
  return [...first.events, ...second.events];
});

compareReads(
  t,
  'a handler can read another socket into a decoder, and one that it has just accepted',
  async (reads) => {
    const first = await reads.connect();
    const second = await reads.connect();
    let other;
    const { begin, events } = reads.readInto(first.socket, {
      after([, text]) {
        if (text === 'accept') other = reads.readInto(second.socket);
      }
    });
    await begin(first.client);
    second.client.write(frames('early'));
    first.client.write(frames('accept', 'same read', Buffer.from('too')));
    await until(() => events.length === 3 && other.events.length === 1);
    second.client.write(frames('late', Buffer.from('bytes')));
    await until(() => other.events.length === 3);
    reads.checkShared();
    return [events, other.events];
  }
);

for (const version of ['TLSv1.2', 'TLSv1.3']) {
  for (const act of version === 'TLSv1.2' ? ['write', 'renegotiate'] : ['write']) {
    const title = `${version}: a handler that calls ${act} has Node.js decrypt the next record within a read`;
    compareReads(
      t,
      title,
      async (reads) => {
        const { socket, client } = await reads.connect({ server: { minVersion: version, maxVersion: version } });
        const { begin, decoder, events } = reads.readInto(socket, {
          after() {
            if (act === 'write') socket.write('');
            // Node.js takes three renegotiations for an attack.
            else if (events.length === 1) socket.renegotiate({ rejectUnauthorized: false }, () => {});
          }
        });
        await begin(client);
        // Each write is a record. Enough of them come in one read.
        const count = 60;
        for (let i = 0; i < count; i++) client.write(frames(Buffer.alloc(500 + i, i), Buffer.alloc(3000, i)));
        await until(() => events.length === 2 * count || decoder.closed);
        reads.checkShared();
        return events;
      },
      ['tls']
    );
  }
}

t.test('TLS over a stream of JavaScript reads during a read, and does not write over its chunk', async (t) => {
  // A connection carries TLS in its messages, and the same read brings messages behind them.
  if (!isNode) return t.skip('Bun and Deno do not share reads');
  const reads = new Reads(t, 'tcp', 'shared');
  const { socket, client } = await reads.connect();
  const carrier = new Duplex({ read() {}, write: (chunk, _encoding, done) => socket.write(chunk, done) });
  const inner = new tls.TLSSocket(carrier, { isServer: true, ...certificate });
  const seen = [];
  const innerSeen = [];
  reads.readInto(socket, {
    onMessage(data, isBinary) {
      if (isBinary) carrier.push(data);
      else seen.push(data);
    }
  });
  const decoder = new Decoder({ role: 'server', borrowed: true, onMessage: (data) => innerSeen.push(data) });
  t.equal(
    readInto(inner, decoder, () => {}),
    'shared'
  );
  client.setNoDelay(true);
  const sent = [];
  const wire = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      // The last bytes of a record, which complete it, and what follows come in one read.
      client.write(frames(Buffer.from(chunk.subarray(0, -5))));
      sent.push(`behind ${sent.length}`);
      setTimeout(() => client.write(frames(Buffer.from(chunk.subarray(-5)), sent.at(-1), 'x'.repeat(50)), done), 5);
    }
  });
  client.on('data', (chunk) => wire.push(chunk));
  client.resume();
  const tunnel = tls.connect({ socket: wire, rejectUnauthorized: false });
  await new Promise((resolve) => tunnel.once('secureConnect', resolve));
  for (let i = 0; i < 20; i++) tunnel.write(frames(`inner ${i} ${'y'.repeat(200)}`));
  await until(() => innerSeen.length === 20);
  await until(() => seen.length === 2 * sent.length);
  t.same(
    seen,
    sent.flatMap((text) => [text, 'x'.repeat(50)])
  );
  t.same(
    innerSeen,
    Array.from({ length: 20 }, (_, i) => `inner ${i} ${'y'.repeat(200)}`)
  );
  tunnel.destroy();
});
