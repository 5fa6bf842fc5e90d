'use strict';

// A debugger or a proxy that also reads a socket, or takes it over: it sees each byte once, and
// what it keeps does not change.

const t = require('tap');
const { inspect } = require('node:util');
const { PassThrough } = require('node:stream');
const { Decoder, readInto } = require('../../index.js');
const { string } = require('../support/recorder');
const { ALL, compareReads, frames, isNode, isShared, until } = require('../support/socket-pairs');
const { uncaught } = require('../support/uncaught');

const BYTES = frames('a', 'b'.repeat(300), Buffer.from('c'));

/**
 * Runs `body` with a socket of which nothing was read, and with one of which something was. Unless
 * `lends`, no chunk may be lent meanwhile.
 */
function beforeAndAfterReads(title, body, transports, lends = false) {
  for (const begun of [false, true]) {
    compareReads(
      t,
      `${title}, ${begun ? 'after' : 'before'} the first reads`,
      async (reads) => {
        const { socket, client } = await reads.connect();
        const recorded = reads.readInto(socket);
        if (begun) {
          await recorded.begin(client);
          client.write(frames('shared'));
          await until(() => recorded.events.length === 1);
          reads.checkShared();
        }
        const lent = reads.lent;
        const seen = await body({ reads, socket, client, ...recorded });
        if (!lends) reads.t.equal(reads.lent, lent, 'no chunk was lent');
        return [seen, recorded.events];
      },
      transports
    );
  }
}

beforeAndAfterReads("another listener of 'data' keeps what it gets", async ({ reads, socket, client, events }) => {
  const had = events.length;
  const kept = [];
  // Before the decoder, which unmasks in place.
  socket.prependListener('data', (chunk) => kept.push({ chunk, copy: Buffer.from(chunk) }));
  client.write(BYTES);
  await until(() => events.length === had + 3);
  client.write(frames('x'.repeat(1000)));
  await until(() => events.length === had + 4);
  const bytes = Buffer.concat(kept.map(({ copy }) => copy));
  reads.t.ok(bytes.subarray(0, BYTES.length).equals(BYTES));
  return kept.length > 0;
});

beforeAndAfterReads(
  'a listener that was added once sees one chunk',
  async ({ socket, client, events }) => {
    const had = events.length;
    const seen = [];
    socket.once('data', (chunk) => seen.push(chunk.length));
    client.write(BYTES);
    await until(() => events.length === had + 3);
    return seen;
  },
  ['tcp']
);

beforeAndAfterReads('a pipe gets all bytes, as fast as it takes them', async ({ reads, socket, client, events }) => {
  const had = events.length;
  const copies = [];
  socket.prependListener('data', (chunk) => copies.push(Buffer.from(chunk)));
  const slow = new PassThrough({ highWaterMark: 1000 });
  let piped = 0;
  socket.pipe(slow);
  const count = 30;
  for (let i = 0; i < count; i++) client.write(frames('x'.repeat(5000 + i)));
  await new Promise((resolve) => setTimeout(resolve, 20));
  slow.on('data', (chunk) => {
    piped += chunk.length;
  });
  await until(() => events.length === had + count);
  await until(() => piped === Buffer.concat(copies).length);
  socket.unpipe(slow);
  reads.t.equal(
    piped,
    Array.from({ length: count }, (_, i) => 5008 + i).reduce((sum, length) => sum + length)
  );
});

beforeAndAfterReads("a listener of 'readable' reads instead", async ({ reads, socket, client, events }) => {
  const had = events.length;
  const chunks = [];
  socket.on('readable', () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) chunks.push(chunk);
  });
  client.write(BYTES);
  // read() emits 'data', too, so the decoder has unmasked the chunks.
  await until(() => events.length === had + 3);
  client.write(frames('x'.repeat(1000)));
  await until(() => events.length === had + 4);
  reads.t.equal(Buffer.concat(chunks).length, BYTES.length + 1008);
});

beforeAndAfterReads(
  'setEncoding makes strings, which a Decoder refuses',
  async ({ socket, client, decoder }) => {
    socket.setEncoding('latin1');
    const errors = await uncaught(async () => {
      client.write(BYTES);
      await until(() => socket.readableDidRead && socket.bytesRead >= BYTES.length);
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    return [errors.map(({ code }) => code), decoder.closed];
  },
  ['tcp', 'tls', 'pipe']
);

beforeAndAfterReads('who removes the listener reads alone', async ({ socket, client, events }) => {
  const had = events.length;
  socket.removeAllListeners('data');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  client.write(BYTES);
  await until(() => Buffer.concat(chunks).length === BYTES.length);
  client.write(BYTES);
  await until(() => Buffer.concat(chunks).length === 2 * BYTES.length);
  return [Buffer.concat(chunks), events.length - had];
});

beforeAndAfterReads('asynchronous iteration gets all bytes', async ({ socket, client, events }) => {
  const had = events.length;
  socket.removeAllListeners('data');
  client.write(BYTES);
  client.end(BYTES);
  const chunks = [];
  for await (const chunk of socket) {
    chunks.push(chunk);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return [Buffer.concat(chunks), events.length - had];
});

beforeAndAfterReads('a replaced emit sees copies', async ({ reads, socket, client, events }) => {
  const had = events.length;
  const kept = [];
  const { emit } = socket;
  socket.emit = function (type, ...args) {
    if (type === 'data') kept.push(args[0]);
    return emit.call(this, type, ...args);
  };
  client.write(frames('first'));
  await until(() => events.length === had + 1);
  client.write(frames('other'));
  await until(() => events.length === had + 2);
  reads.t.equal(kept.length, 2, 'it sees the events');
  reads.t.notOk(kept.some(isShared));
});

beforeAndAfterReads('a replaced write of the Decoder sees copies', async ({ reads, decoder, client, events }) => {
  const had = events.length;
  const kept = [];
  const { write } = decoder;
  decoder.write = function (chunk) {
    kept.push(chunk);
    return write.call(this, chunk);
  };
  client.write(frames('first'));
  await until(() => events.length === had + 1);
  client.write(frames('other'));
  await until(() => events.length === had + 2);
  reads.t.notOk(kept.some(isShared));
  return kept.length;
});

beforeAndAfterReads(
  'a chunk that was put back comes first',
  async ({ socket, client, events }) => {
    const had = events.length;
    socket.pause();
    socket.unshift(frames('put back'));
    client.write(frames('read'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.resume();
    await until(() => events.length === had + 2);
    return events.slice(had);
  },
  ALL,
  true
);

for (const second of [true, false]) {
  const title = `a second readInto is for another Decoder, which ${second ? 'borrows chunks, too' : 'keeps its chunks'}`;
  compareReads(t, title, async (reads) => {
    const { socket, client } = await reads.connect();
    const first = reads.readInto(socket);
    await first.begin(client);
    client.write(frames('one'));
    await until(() => first.events.length === 1);
    const seen = [];
    const decoder = new Decoder({
      role: 'server',
      borrowed: second && reads.borrowed,
      onMessage: (data) => seen.push({ data, copy: Buffer.from(data) })
    });
    const shared = readInto(socket, decoder, () => {});
    reads.t.equal(shared, second && reads.borrowed && isNode);
    client.write(frames(Buffer.from('two')));
    await until(() => seen.length === 1);
    client.write(frames(Buffer.from('xxxxx')));
    await until(() => seen.length === 2);
    reads.t.equal(socket.listenerCount('data'), 1);
    for (const { data, copy } of seen) reads.t.same(data, copy);
    reads.t.same(first.events, [string('one')]);
    return seen.map(({ copy }) => String(copy));
  });
}

compareReads(
  t,
  'a socket in a log does not show what others have read',
  async (reads) => {
    const { socket, client } = await reads.connect();
    const { begin, events } = reads.readInto(socket);
    await begin(client);
    client.write(frames('x'.repeat(20)));
    await until(() => events.length === 1);
    reads.checkShared();
    reads.t.notOk(/78 78 78/.test(inspect(socket, { depth: 1 })));
  },
  ['tcp', 'tls']
);
