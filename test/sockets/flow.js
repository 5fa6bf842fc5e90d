'use strict';

// Flow control, timeouts and the ends of connections, with shared reads as with events.

const t = require('tap');
const { once } = require('node:events');
const { Encoder } = require('../../index.js');
const { compareReads, frames, until } = require('../support/socket-pairs');
const { binary, string } = require('../support/recorder');

const texts = (...names) => names.map(string);

compareReads(t, 'pause in mid-chunk holds what follows, also when other sockets read', async (reads) => {
  const { server, address, socket, client } = await reads.connect();
  const { begin, decoder, events } = reads.readInto(socket, {
    after: ([, text], decoder) => text === 'b' && decoder.pause()
  });
  await begin(client);
  client.write(frames('a', 'b', 'c', Buffer.from('d')));
  await until(() => events.length === 2);
  // The same memory is read into.
  const other = once(
    server,
    reads.name === 'tls' ? 'secureConnection' : reads.name === 'http' ? 'upgrade' : 'connection'
  );
  const second = await reads.open(address);
  const args = await other;
  const { begin: beginOther, events: others } = reads.readInto(reads.name === 'http' ? args[1] : args[0]);
  await beginOther(second);
  second.write(frames('x'.repeat(1000)));
  await until(() => others.length === 1);
  reads.t.same(events, texts('a', 'b'));
  decoder.resume();
  reads.t.same(events, [...texts('a', 'b', 'c'), binary('d')]);
  client.write(frames('e'));
  await until(() => events.length === 5);
  reads.checkShared(2);
  return [events, others];
});

compareReads(t, 'a paused decoder can be resumed by a timer, in mid-frame', async (reads) => {
  const { socket, client } = await reads.connect();
  const { begin, events } = reads.readInto(socket, {
    after(event, decoder) {
      decoder.pause();
      setTimeout(() => decoder.resume(), event[1].length % 3);
    }
  });
  await begin(client);
  const bytes = frames('a', 'bb', 'ccc', 'd'.repeat(70_000), Buffer.from('e'), 'f');
  for (let i = 0; i < bytes.length; i += 9001) client.write(bytes.subarray(i, i + 9001));
  await until(() => events.length === 6);
  reads.checkShared();
  return events;
});

compareReads(t, 'a paused decoder can be resumed by a handler of another connection', async (reads) => {
  const first = await reads.connect();
  const second = await reads.connect();
  const one = reads.readInto(first.socket, { after: (_event, decoder) => decoder.pause() });
  const two = reads.readInto(second.socket, { after: () => one.decoder.resume() });
  await Promise.all([one.begin(first.client), two.begin(second.client)]);
  first.client.write(frames('a', 'b', Buffer.from('c'), 'd'));
  await until(() => one.events.length === 1);
  second.client.write(frames('w', Buffer.from('x'), 'y'));
  await until(() => two.events.length === 3);
  reads.t.equal(one.events.length, 4);
  reads.checkShared(2);
  return [one.events, two.events];
});

compareReads(t, 'pause and resume in one handler change nothing', async (reads) => {
  const { socket, client } = await reads.connect();
  const { begin, events, intact } = reads.readInto(socket, {
    after(_event, decoder) {
      decoder.pause();
      decoder.resume();
    }
  });
  await begin(client);
  client.write(frames('a', Buffer.from('b'), 'c'));
  client.write(frames('d'));
  await until(() => events.length === 4);
  reads.t.ok(intact());
  reads.checkShared();
  return events;
});

compareReads(t, 'socket.pause in a handler stops reads, and socket.resume goes on', async (reads) => {
  const { socket, client } = await reads.connect();
  const { begin, events } = reads.readInto(socket, { after: ([, text]) => text === 'pause' && socket.pause() });
  await begin(client);
  client.write(frames('pause', 'same read'));
  await until(() => events.length === 2);
  client.write(frames('later'));
  await new Promise((resolve) => setTimeout(resolve, 30));
  reads.t.equal(events.length, 2);
  reads.t.equal(socket.isPaused(), true);
  socket.resume();
  await until(() => events.length === 3);
  reads.checkShared(1);
  return events;
});

compareReads(t, "backpressure: 'drain' resumes a socket that was paused, and no byte is lost", async (reads) => {
  const { socket, client } = await reads.connect();
  const encoder = new Encoder({ role: 'server' });
  let drains = 0;
  const { begin, events } = reads.readInto(socket, {
    after: ([, bytes]) => encoder.binary(Buffer.from(bytes, 'latin1')),
    afterRead() {
      if (!encoder.flush(socket)) socket.pause();
    }
  });
  await begin(client);
  socket.on('drain', () => {
    drains++;
    socket.resume();
  });
  const messages = Array.from({ length: 120 }, (_, i) => Buffer.alloc(100_000 + i, i + 1));
  for (const message of messages) client.write(frames(message));
  // The client does not read until then.
  await until(() => socket.writableNeedDrain);
  let left = messages.reduce((sum, { length }) => sum + 10 + length, 0);
  client.on('data', (chunk) => {
    left -= chunk.length;
  });
  client.resume();
  await until(() => left === 0);
  reads.t.ok(drains > 0, 'there was backpressure');
  const wrong = messages.findIndex((message, i) => events[i][1] !== message.latin1Slice());
  reads.t.equal(wrong, -1, 'every byte came');
  reads.checkShared();
  return events.length;
});

compareReads(t, "the peer's end comes after the data before it, also to a socket that was paused", async (reads) => {
  const { socket, client } = await reads.connect();
  const order = [];
  const { begin, events, decoder } = reads.readInto(socket, {
    after: ([, text], decoder) => {
      order.push(text);
      if (text === 'b') {
        socket.pause();
        decoder.pause();
      }
    }
  });
  await begin(client);
  // A socket of an HTTP server must be ended.
  socket
    .on('end', () => {
      order.push('end');
      socket.end();
    })
    .on('close', () => order.push('close'));
  client.write(frames('a', 'b', 'c'));
  client.end(frames('d', 'x'.repeat(200_000), 'e'));
  await until(() => events.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 30));
  reads.t.same(order, ['a', 'b']);
  decoder.resume();
  socket.resume();
  await until(() => order.at(-1) === 'close');
  return order;
});

compareReads(t, 'half-open: after its end the peer still gets what is written', async (reads) => {
  const { socket, client } = await reads.connect({
    server: { allowHalfOpen: true },
    client: { allowHalfOpen: true }
  });
  const order = [];
  const { begin } = reads.readInto(socket, { after: ([, text]) => order.push(text) });
  await begin(client);
  socket.on('end', () => {
    order.push('end');
    setTimeout(() => socket.end('goodbye'), 20);
  });
  socket.on('close', (hadError) => order.push('close', hadError));
  let answer = '';
  client.on('data', (data) => {
    answer += data;
  });
  client.resume();
  client.end(frames('last'));
  await until(() => order.includes('close'));
  reads.t.equal(answer, 'goodbye');
  reads.checkShared();
  return order;
});

compareReads(t, 'a socket that has ended its half still reads', async (reads) => {
  const { socket, client } = await reads.connect({ client: { allowHalfOpen: true } });
  const order = [];
  const { begin } = reads.readInto(socket, { after: ([, text]) => order.push(text) });
  await begin(client);
  socket.on('end', () => order.push('end')).on('close', (hadError) => order.push('close', hadError));
  socket.end('bye');
  client.resume();
  await once(client, 'end');
  client.write(frames('one'));
  await until(() => order.length === 1);
  client.end(frames('two'));
  await until(() => order.includes('close'));
  reads.checkShared();
  return order;
});

compareReads(
  t,
  'a connection that the peer resets is closed with an error',
  async (reads) => {
    const { socket, client } = await reads.connect();
    const order = [];
    const { begin, events } = reads.readInto(socket);
    await begin(client);
    socket.on('error', ({ code }) => order.push(code)).on('close', (hadError) => order.push(hadError));
    client.write(frames('a'));
    await until(() => events.length === 1);
    client.resetAndDestroy();
    await until(() => order.length === 2);
    reads.t.same(order, ['ECONNRESET', true]);
    return [events, order];
  },
  ['tcp', 'http']
);

compareReads(t, 'socket.setTimeout sees reads', async (reads) => {
  const { socket, client } = await reads.connect();
  let lastRead = performance.now();
  const { begin, events } = reads.readInto(socket, {
    after() {
      lastRead = performance.now();
    }
  });
  await begin(client);
  let idle;
  socket.setTimeout(200, () => {
    idle = performance.now() - lastRead;
    socket.destroy();
  });
  // For longer than the timeout. A busy machine may stop this process for as long, and time it out.
  let written = 0;
  const timer = setInterval(() => {
    // One at a time, so that each is a read.
    if (written === 15 || events.length < written) return;
    written++;
    client.write(frames('x'));
  }, 20);
  await once(socket, 'close');
  clearInterval(timer);
  reads.t.ok(idle > 100, `timed out ${idle} ms after the last read`);
  reads.checkShared(events.length);
});

compareReads(t, 'bytesRead counts what was read', async (reads) => {
  const { socket, client } = await reads.connect();
  const before = socket.bytesRead;
  const { events } = reads.readInto(socket);
  const bytes = frames('a', 'b'.repeat(100_000), Buffer.alloc(3000));
  client.write(bytes.subarray(0, 7));
  await until(() => events.length === 1);
  client.write(bytes.subarray(7));
  await until(() => events.length === 3);
  // TLS counts the bytes of its records.
  const counted = socket.bytesRead - before;
  if (reads.name !== 'tls') reads.t.equal(counted, bytes.length);
  const last = once(socket, 'close');
  socket.on('end', () => socket.end());
  client.end();
  await last;
  if (reads.name !== 'tls') reads.t.equal(socket.bytesRead - before, bytes.length, 'after the end, too');
  reads.checkShared();
  return reads.name === 'tls' ? counted > bytes.length : counted;
});

compareReads(t, 'a read is seen as one: readableDidRead', async (reads) => {
  const { socket, client } = await reads.connect();
  const { events } = reads.readInto(socket);
  const before = socket.readableDidRead;
  client.write(frames('a'));
  await until(() => events.length === 1);
  return [before, socket.readableDidRead, socket.readableFlowing, socket.readableLength];
});
