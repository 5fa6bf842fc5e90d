'use strict';

// An HTTP server and its connections, before and after the upgrade, with shared reads as with
// events.

const t = require('tap');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { promisify } = require('node:util');
const { string } = require('../support/recorder');
const { HANDSHAKE, Reads, compareReads, frames, until } = require('../support/socket-pairs');

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
  const reads = new Reads(t, 'http', true);
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
