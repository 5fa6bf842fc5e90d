'use strict';

const { AsyncLocalStorage, createHook, executionAsyncId, triggerAsyncId } = require('node:async_hooks');
const { once } = require('node:events');
const net = require('node:net');
const { PassThrough } = require('node:stream');
const { inspect } = require('node:util');
const t = require('tap');
const { HANDSHAKE, head } = require('../support/frames');
const { until } = require('../support/promises');
const { string } = require('../support/recorder');
const { compareReads, frames, isNode, isShared } = require('../support/socket-pairs');
const { uncaught } = require('../support/uncaught');

// A socket of an HTTP server, before and after the upgrade, with shared reads as with events.

compareReads(t, 'requests with bodies, the upgrade and frames on one connection', ['http'], async (reads) => {
  let recorded;
  const { server, address } = await reads.listen((socket) => {
    socket.on('error', () => {}).on('end', () => socket.end());
    recorded = reads.readInto(socket);
  });
  server.on('request', async (request, response) => {
    response.end(`${request.method} ${Buffer.concat(await request.toArray()).length}`);
  });
  const client = net.connect(address);
  let text = '';
  client.on('data', (chunk) => {
    text += chunk.latin1Slice();
  });
  const body = 'p'.repeat(300_000);
  client.write(head('GET / HTTP/1.1', 'Host: a'));
  await until(() => text.endsWith('GET 0'));
  const post = head('POST / HTTP/1.1', 'Host: a', `Content-Length: ${body.length}`) + body;
  client.write(post);
  await until(() => text.endsWith(`POST ${body.length}`));
  client.write(head(...HANDSHAKE) + frames('in head', 'too').latin1Slice(), 'latin1');
  await until(() => recorded?.events.length === 2);
  const { begin, events } = recorded;
  await begin(client);
  client.write(frames('later', 'b'.repeat(100_000)));
  await until(() => events.length === 4);
  reads.t.same(events, ['in head', 'too', 'later', 'b'.repeat(100_000)].map(string), '`head` comes first');
  reads.checkShared();
  client.destroy();
  return [text.match(/HTTP\/1\.1 \d+|POST \d+/g), events];
});

// The asynchronous context in which handlers run, with shared reads as with events.

compareReads(t, 'AsyncLocalStorage: handlers see the store of where the socket comes from', async (reads) => {
  const storage = new AsyncLocalStorage();
  const stores = [];
  const note = (...what) => stores.push([...what, storage.getStore()]);
  let recorded;
  const accept = (socket) => {
    socket.on('error', () => {}).on('end', () => socket.end());
    const after = ([, text]) => {
      note('handler', text);
      setImmediate(() => note('immediate', text));
    };
    storage.run('accept', () => {
      recorded = reads.readInto(socket, { after, afterRead: () => note('afterRead') });
    });
  };
  const { address } = await storage.run('listen', () => reads.listen(accept));
  const client = await reads.openClient(address);
  await until(() => recorded !== undefined);
  await storage.run('begin', () => recorded.begin(client));
  for (const text of ['one', 'two']) {
    storage.run('write', () => client.write(frames(text)));
    await until(() => stores.some(([what, of]) => what === 'immediate' && of === text));
  }
  reads.checkShared(2);
  return stores;
});

if (isNode) {
  compareReads(t, "async_hooks: handlers run in the socket's resource, between its before and after", async (reads) => {
    const current = [];
    const hook = createHook({ before: (id) => current.push(id), after: () => current.pop() }).enable();
    reads.t.teardown(() => hook.disable());
    const seen = [];
    const { socket, receive } = await reads.open({
      after([, text]) {
        const id = executionAsyncId();
        const isSockets = id === socket._handle.getAsyncId();
        seen.push([text, isSockets, current.at(-1) === id, triggerAsyncId() > 0]);
      }
    });
    await receive('one', 'two');
    await receive('three');
    reads.checkShared(2);
    return seen;
  });
}

// A debugger or a proxy that also reads a socket, or takes it over: it sees each byte once, and
// what it keeps does not change.

const BYTES = frames('a', 'b'.repeat(300), Buffer.from('c'));

/**
 * Runs `body` with a socket of which nothing was read, and with one of which something was. Its
 * `receive` waits until the Decoder has delivered so many messages more. Unless it calls
 * `allowLent`, no chunk may be lent meanwhile.
 */
function beforeAndAfterReads(title, ...rest) {
  const [body, transports] = rest.reverse();
  for (const begun of [false, true]) {
    compareReads(t, `${title}, ${begun ? 'after' : 'before'} the first reads`, transports, async (reads) => {
      const { socket, client } = await reads.connect();
      const recorded = reads.readInto(socket);
      const { events } = recorded;
      let expected = 0;
      const receive = async (count, ...chunks) => {
        for (const chunk of chunks) client.write(chunk);
        expected += count;
        await until(() => events.length === expected);
      };
      if (begun) {
        await recorded.begin(client);
        await receive(1, frames('shared'));
        reads.checkShared();
      }
      const { lent } = reads;
      let mayLend = false;
      const allowLent = () => {
        mayLend = true;
      };
      const seen = await body({ reads, socket, client, receive, allowLent, ...recorded });
      if (!mayLend) reads.t.equal(reads.lent, lent, 'no chunk was lent');
      return [seen, events];
    });
  }
}

beforeAndAfterReads("another listener of 'data' keeps what it gets", async ({ reads, socket, receive }) => {
  const kept = [];
  // Before the decoder, which unmasks in place.
  socket.prependListener('data', (chunk) => kept.push(Buffer.from(chunk)));
  await receive(3, BYTES);
  await receive(1, frames('x'.repeat(1000)));
  reads.t.ok(Buffer.concat(kept).subarray(0, BYTES.length).equals(BYTES));
});

beforeAndAfterReads('a listener that was added once sees one chunk', ['tcp'], async ({ socket, receive }) => {
  const seen = [];
  socket.once('data', (chunk) => seen.push(chunk.length));
  await receive(3, BYTES);
  return seen;
});

beforeAndAfterReads('a pipe gets all bytes, as fast as it takes them', async ({ reads, socket, client, receive }) => {
  const slow = new PassThrough({ highWaterMark: 1000 });
  socket.pipe(slow);
  const chunks = Array.from({ length: 30 }, (_, i) => frames('x'.repeat(5000 + i)));
  for (const chunk of chunks) client.write(chunk);
  await until(() => slow.writableNeedDrain && socket.isPaused());
  let piped = 0;
  slow.on('data', (chunk) => {
    piped += chunk.length;
  });
  await receive(30);
  const { length } = Buffer.concat(chunks);
  await until(() => piped >= length);
  socket.unpipe(slow);
  reads.t.equal(piped, length);
});

beforeAndAfterReads("a listener of 'readable' reads instead", async ({ reads, socket, receive }) => {
  let length = 0;
  socket.on('readable', () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) length += chunk.length;
  });
  // read() emits 'data', too, so the decoder has unmasked the chunks.
  await receive(3, BYTES);
  await receive(1, frames('x'.repeat(1000)));
  reads.t.equal(length, BYTES.length + 1008);
});

const NOT_HTTP = ['tcp', 'tls', 'pipe'];
const STRINGS = 'setEncoding makes strings, which a Decoder refuses';
beforeAndAfterReads(STRINGS, NOT_HTTP, async ({ socket, client, decoder }) => {
  socket.setEncoding('latin1');
  const errors = await uncaught(() => {
    client.write(BYTES);
    return once(process, 'uncaughtException');
  });
  return [errors.map(({ code }) => code), decoder.closed];
});

beforeAndAfterReads('who removes the listener reads alone', async ({ socket, client }) => {
  socket.removeAllListeners('data');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  for (const times of [1, 2]) {
    client.write(BYTES);
    await until(() => Buffer.concat(chunks).length === times * BYTES.length);
  }
  return Buffer.concat(chunks);
});

beforeAndAfterReads('a replaced emit sees copies', async ({ reads, socket, receive }) => {
  const kept = [];
  const { emit } = socket;
  socket.emit = function (...args) {
    const chunk = args.at(-1);
    if (Buffer.isBuffer(chunk)) kept.push(chunk);
    return emit.apply(this, args);
  };
  await receive(1, frames('first'));
  await receive(1, frames('other'));
  reads.t.equal(kept.length, 2);
  reads.t.notOk(kept.some(isShared));
});

beforeAndAfterReads('a chunk that was put back comes first', async ({ socket, client, receive, allowLent }) => {
  allowLent();
  socket.pause();
  socket.unshift(frames('put back'));
  client.write(frames('read'));
  socket.resume();
  await receive(2);
});

compareReads(t, 'a socket in a log does not show what others have read', ['tcp', 'tls'], async (reads) => {
  const { socket, receive } = await reads.open();
  await receive('x'.repeat(20));
  reads.checkShared();
  return reads.t.notOk(/78 78 78/.test(inspect(socket, { depth: 1 })));
});
