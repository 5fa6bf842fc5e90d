'use strict';

const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId } = require('node:async_hooks');
const { once } = require('node:events');
const net = require('node:net');
const { PassThrough } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { inspect, promisify } = require('node:util');
const t = require('tap');
const { Decoder, readInto } = require('../../index.js');
const { string } = require('../support/recorder');
const { ALL, HANDSHAKE, Reads, compareReads, frames, isNode, isShared, until } = require('../support/socket-pairs');
const { uncaught } = require('../support/uncaught');

// An HTTP server and its connections, before and after the upgrade, with shared reads as with
// events.

/** A server that answers requests with their bodies' lengths, and reads what is upgraded. */
async function listen(reads, options) {
  const connections = [];
  const { server, address } = await reads.listen((socket) => {
    socket.on('error', () => {}).on('end', () => socket.end());
    connections.push({ socket, ...reads.readInto(socket) });
  }, options);
  server.on('request', (request, response) => {
    let length = 0;
    request.on('data', (chunk) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${request.method} ${length}`));
  });
  const raw = net.connect(address);
  reads.t.teardown(() => raw.destroy());
  raw.on('error', () => {});
  let text = '';
  raw.on('data', (chunk) => {
    text += chunk.latin1Slice();
  });
  return { server, address, raw, connections, answers: () => text.match(/HTTP\/1\.1 \d+|(GET|POST) \d+/g) ?? [] };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const post = (length) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${'p'.repeat(length)}`;

compareReads(
  t,
  'requests on the connection before the upgrade, with bodies',
  async (reads) => {
    const { raw, connections, answers } = await listen(reads);
    raw.write(GET);
    await until(() => answers().length === 2);
    raw.write(post(300_000));
    await until(() => answers().length === 4);
    raw.write(HANDSHAKE);
    await until(() => answers().length === 5);
    const [{ begin, events }] = connections;
    await begin(raw);
    raw.write(frames('a', 'b'.repeat(100_000)));
    await until(() => events.length === 2);
    reads.checkShared();
    return [answers(), events];
  },
  ['http']
);

compareReads(
  t,
  'a request, a body, the upgrade and frames in one write; `head` comes first',
  async (reads) => {
    const { raw, connections, answers } = await listen(reads);
    raw.write(GET + post(1000) + HANDSHAKE + frames('in head', 'too').latin1Slice(), 'latin1');
    await until(() => connections[0]?.events.length === 2);
    const [{ begin, events }] = connections;
    await begin(raw);
    raw.write(frames('later'));
    await until(() => events.length === 3);
    reads.t.same(events, [string('in head'), string('too'), string('later')]);
    reads.checkShared();
    return [answers(), events];
  },
  ['http']
);

compareReads(
  t,
  'a frame that `head` cut, and frames that follow while the upgrade waits',
  async (reads) => {
    const bytes = frames('cut', 'whole');
    const begun = [];
    const { server, address } = await reads.listen(() => {});
    server.removeAllListeners('upgrade').on('upgrade', async (_request, socket, head) => {
      socket.on('error', () => {});
      await sleep(30);
      socket.unshift(head);
      begun.push(reads.readInto(socket));
      reads.t.teardown(() => socket.destroy());
    });
    const raw = net.connect(address);
    reads.t.teardown(() => raw.destroy());
    raw.write(Buffer.concat([Buffer.from(HANDSHAKE), bytes.subarray(0, 4)]));
    await sleep(10);
    raw.write(bytes.subarray(4));
    await until(() => begun[0]?.events.length === 2);
    raw.write(frames('more'));
    await until(() => begun[0].events.length === 3);
    return begun[0].events;
  },
  ['http']
);

compareReads(
  t,
  "getConnections counts upgraded sockets, and 'close' of the server waits for them",
  async (reads) => {
    const { server, raw, address, connections } = await listen(reads);
    const count = promisify(server.getConnections.bind(server));
    raw.write(HANDSHAKE);
    await until(() => connections.length === 1);
    const idle = net.connect(address);
    await once(idle, 'connect');
    idle.write(GET);
    await once(idle, 'data');
    const [{ begin, events }] = connections;
    await begin(raw);
    const order = [await count()];
    server.once('close', () => order.push('server close'));
    idle.on('close', () => order.push('idle close'));
    server.close();
    server.closeIdleConnections();
    await until(() => order.includes('idle close'));
    reads.t.equal(server.listening, false);
    raw.write(frames('still read'));
    await until(() => events.length === 1);
    order.push(await count());
    reads.checkShared();
    connections[0].socket.on('close', () => order.push('socket close'));
    raw.end();
    await until(() => order.includes('server close'));
    return [order, events];
  },
  ['http']
);

compareReads(
  t,
  'closeAllConnections leaves upgraded sockets alone',
  async (reads) => {
    const { server, raw, connections } = await listen(reads);
    raw.write(HANDSHAKE);
    await until(() => connections.length === 1);
    const [{ begin, events }] = connections;
    await begin(raw);
    server.closeAllConnections();
    raw.write(frames('still read'));
    await until(() => events.length === 1);
    return events;
  },
  ['http']
);

t.test("requests on other connections of the server are not touched by one's shared reads", async (t) => {
  const reads = new Reads(t, 'http', 'shared');
  const { raw, address, connections } = await listen(reads);
  raw.write(HANDSHAKE);
  await until(() => connections.length === 1);
  await connections[0].begin(raw);
  const body = 'q'.repeat(200_000);
  const answers = await Promise.all(
    Array.from({ length: 5 }, async (_, i) => {
      raw.write(frames(`between ${i}`));
      const response = await fetch(`http://127.0.0.1:${address.port}`, { method: 'POST', body });
      return response.text();
    })
  );
  t.same(answers, Array(5).fill('POST 200000'));
  await until(() => connections[0].events.length === 5);
  reads.checkShared();
});

// The asynchronous context in which handlers run, with shared reads as with events.

compareReads(t, 'AsyncLocalStorage: handlers see the store of where the socket comes from', async (reads) => {
  const storage = new AsyncLocalStorage();
  const stores = [];
  const { server, address } = await storage.run('listen', () =>
    reads.listen((socket) => {
      socket.on('error', () => {}).on('end', () => socket.end());
      storage.run('accept', () => {
        const { begin } = reads.readInto(socket, {
          after([, text]) {
            stores.push(['handler', text, storage.getStore()]);
            setImmediate(() => stores.push(['immediate', text, storage.getStore()]));
          },
          afterRead: () => stores.push(['afterRead', storage.getStore()])
        });
        reads.begin = begin;
      });
    })
  );
  const client = await reads.open(address);
  await until(() => reads.begin);
  await storage.run('begin', () => reads.begin(client));
  storage.run('write', () => client.write(frames('one')));
  await until(() => stores.some(([what]) => what === 'immediate'));
  client.write(frames('two'));
  await until(() => stores.some(([what, text]) => what === 'immediate' && text === 'two'));
  reads.checkShared(2);
  client.destroy();
  server.close();
  return stores;
});

if (isNode) {
  compareReads(t, "async_hooks: handlers run in the socket's resource, between its before and after", async (reads) => {
    const { socket, client } = await reads.connect();
    const current = [];
    const hook = createHook({
      before: (id) => current.push(id),
      after: () => current.pop()
    }).enable();
    reads.t.teardown(() => hook.disable());
    const seen = [];
    const { begin, events } = reads.readInto(socket, {
      after([, text]) {
        const id = executionAsyncId();
        // In a round it is a resource of framemask's, which was made in the socket's.
        const isSockets = reads.kind === 'batched' || id === socket._handle.getAsyncId();
        seen.push([text, isSockets, current.at(-1) === id, triggerAsyncId() > 0]);
      }
    });
    await begin(client);
    client.write(frames('one', 'two'));
    await until(() => events.length === 2);
    client.write(frames('three'));
    await until(() => events.length === 3);
    reads.checkShared(2);
    return seen;
  });
}

compareReads(t, 'an AsyncResource that is bound to a handler is entered', async (reads) => {
  const { socket, client } = await reads.connect();
  const storage = new AsyncLocalStorage();
  const stores = [];
  const onMessage = storage.run('bound', () => AsyncResource.bind((data) => stores.push([data, storage.getStore()])));
  const { begin } = reads.readInto(socket, { onMessage });
  await begin(client);
  client.write(frames('a', 'b'));
  await until(() => stores.length === 2);
  reads.checkShared();
  return stores;
});

// A debugger or a proxy that also reads a socket, or takes it over: it sees each byte once, and
// what it keeps does not change.

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
    reads.t.equal(shared, second && isNode ? reads.kind : 'events');
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
