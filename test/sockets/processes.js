'use strict';

const { fork } = require('node:child_process');
const cluster = require('node:cluster');
const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const t = require('tap');
const { Decoder, Encoder } = require('../../index.js');
const { string } = require('../support/recorder');
const { runScript } = require('../support/run-script');
const { KINDS, Reads, compareReads, frames, isNode, until } = require('../support/socket-pairs');

// Threads, processes, and the ends of connections that a client has opened.

const SCRIPT = path.join(__dirname, '../support/sockets-worker.js');

/** A client that sends patterns of its own, and compares what comes back. */
async function echo(port, name, rounds = 40) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const seen = [];
  const decoder = new Decoder({ role: 'client', onMessage: (data) => seen.push(String(data)) });
  socket.on('data', (chunk) => decoder.write(chunk));
  const sent = [];
  for (let i = 0; i < rounds; i++) {
    const text = `${name} ${i} ${name.repeat(i * 11)}`;
    sent.push(text);
    socket.write(frames(i % 2 ? text : Buffer.from(text)));
    if (i % 5 === 0) await until(() => seen.length === sent.length);
  }
  await until(() => seen.length === sent.length);
  socket.end();
  await once(socket, 'close');
  return seen.length === sent.length && seen.every((text, i) => text === sent[i]);
}

/** Talks to servers of which each has told its port, two connections each at the same time. */
async function talkToAll(t, members, send) {
  const told = new Map(members.map((member) => [member, []]));
  for (const member of members) member.on('message', (message) => told.get(member).push(message));
  await until(() => members.every((member) => told.get(member).some(({ port }) => port)));
  const ports = members.map((member) => told.get(member).find(({ port }) => port).port);
  const right = await Promise.all([...ports, ...ports].map((port, i) => echo(port, `connection ${i} `)));
  t.same(right, Array(right.length).fill(true), 'every byte came back');
  const accepted = members.map((member) => told.get(member).filter(({ shared }) => shared !== undefined));
  for (const connections of accepted) {
    t.ok(connections.length >= 1);
    for (const { shared } of connections) t.equal(shared, isNode);
  }
  await Promise.all(
    members.map(async (member) => {
      const ended = once(member, 'exit');
      send(member, 'close');
      await ended;
    })
  );
  return accepted;
}

for (const kind of KINDS.slice(1)) {
  const env = { ...process.env, FRAMEMASK_READS: kind };

  t.test(`each worker thread has its own memory, ${kind} reads`, async (t) => {
    const workers = Array.from({ length: 2 }, () => new Worker(SCRIPT, { execArgv: [], env }));
    t.teardown(() => Promise.all(workers.map((worker) => worker.terminate())));
    const accepted = await talkToAll(t, workers, (worker, message) => worker.postMessage(message));
    const memories = accepted.map(([{ memory }]) => memory);
    if (isNode) t.equal(new Set(memories).size, workers.length, 'each thread has random bytes of its own');
  });

  t.test(`a thread that is terminated while its sockets are read harms no other, ${kind} reads`, async (t) => {
    const workers = Array.from({ length: 2 }, () => new Worker(SCRIPT, { execArgv: [], env }));
    t.teardown(() => Promise.all(workers.map((worker) => worker.terminate())));
    const ports = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0].port));
    const doomed = net.connect(ports[0], '127.0.0.1').on('error', () => {});
    await once(doomed, 'connect');
    const bytes = frames('x'.repeat(50_000));
    const timer = setInterval(() => doomed.write(bytes), 1);
    doomed.resume();
    const other = echo(ports[1], 'other');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await workers[0].terminate();
    clearInterval(timer);
    doomed.destroy();
    t.ok(await other);
    t.ok(await echo(ports[1], 'after it'));
  });

  t.test(
    `the processes of a cluster share a port, and each has its own memory, ${kind} reads`,
    { skip: !isNode },
    async (t) => {
      cluster.setupPrimary({ exec: SCRIPT, args: [] });
      const workers = [cluster.fork(env), cluster.fork(env)];
      t.teardown(() => {
        for (const worker of workers) worker.kill();
      });
      const told = [];
      cluster.on('message', (_worker, message) => told.push(message));
      await until(() => told.filter(({ port }) => port).length === 2);
      const ports = told.filter(({ port }) => port).map(({ port }) => port);
      t.equal(ports[0], ports[1], 'one port');
      const right = await Promise.all(Array.from({ length: 6 }, (_, i) => echo(ports[0], `connection ${i} `)));
      t.same(right, Array(6).fill(true), 'every byte came back');
      const accepted = told.filter(({ shared }) => shared);
      t.equal(accepted.length, 6);
      t.equal(new Set(accepted.map(({ id }) => id)).size, 2, 'both processes had connections');
      await Promise.all(
        workers.map(async (worker) => {
          const ended = once(worker, 'exit');
          worker.send('close');
          await ended;
        })
      );
    }
  );

  t.test(`a socket that is sent to another process is read there, ${kind} reads`, { skip: !isNode }, async (t) => {
    const source = `process.on('message', (message, socket) => {
    if (socket) socket.on('data', (chunk) => socket.write(String(chunk.length))).resume();
    process.send('has it');
  });`;
    const reads = new Reads(t, 'tcp', kind);
    const { socket, client } = await reads.connect();
    const { begin, events } = reads.readInto(socket);
    await begin(client);
    client.write(frames('here'));
    await until(() => events.length === 1);
    reads.checkShared();
    const folder = t.testdir({ 'child.js': source });
    const child = fork(path.join(folder, 'child.js'));
    t.teardown(() => child.kill());
    child.send('take', socket);
    await once(child, 'message');
    client.write('there');
    const [answer] = await once(client, 'data');
    t.equal(String(answer), '5');
    t.same(events, [string('here')]);
    client.destroy();
  });
}

compareReads(t, "a client's socket reads as a server's", async (reads) => {
  const { socket, client } = await reads.connect();
  const { events } = reads.readInto(client, { role: 'client' });
  const encoder = new Encoder({ role: 'server' });
  const send = (...texts) => {
    for (const text of texts) encoder.text(text);
    for (const chunk of encoder.take()) socket.write(chunk);
  };
  // An upgraded client's socket has been paused by the test's handshake.
  client.resume();
  send('one');
  await until(() => events.length === 1);
  send('two', 'three');
  await until(() => events.length === 3);
  send('x'.repeat(200_000));
  await until(() => events.length === 4);
  reads.checkShared(2);
  return events;
});

compareReads(
  t,
  'a socket that connects again reads as before',
  async (reads) => {
    const { socket, client, server, address } = await reads.connect({ client: { allowHalfOpen: false } });
    const { decoder, events } = reads.readInto(client, { role: 'client' });
    const text = (data) => {
      const encoder = new Encoder({ role: 'server' });
      encoder.text(data);
      return Buffer.concat(encoder.take());
    };
    socket.write(text('first'));
    await until(() => events.length === 1);
    socket.end(text('second'));
    await once(client, 'close');
    const again = once(server, 'connection');
    client.connect(address);
    const [other] = await again;
    other.on('error', () => {});
    other.write(text('third'));
    await until(() => events.length === 3);
    other.write(text('fourth'));
    await until(() => events.length === 4);
    reads.t.equal(decoder.closed, false);
    other.destroy();
    return events;
  },
  ['tcp', 'pipe']
);

compareReads(t, 'both ends of a connection in one thread read into the same memory', async (reads) => {
  const { socket, client } = await reads.connect();
  const encoder = new Encoder({ role: 'server' });
  const one = reads.readInto(socket, {
    after: ([, text]) => encoder.text(text),
    afterRead: () => encoder.flush(socket)
  });
  const two = reads.readInto(client, { role: 'client' });
  client.resume();
  for (let i = 0; i < 30; i++) {
    client.write(frames(...Array.from({ length: i }, (_, j) => `${i} ${j} ${'x'.repeat(i * j)}`)));
    if (i % 3 === 0) await new Promise(setImmediate);
  }
  await until(() => two.events.length === 435);
  reads.t.same(two.events, one.events);
  reads.checkShared(2);
  return two.events;
});

// What is done where Node.js is not as lib/sockets/shared-reads.js needs it. Each in a process of
// its own: sharing is switched off for good.

const script = path.join(__dirname, '../support/shared-reads-probe.js');

/** @returns {Promise<object>} what the probe saw */
async function probe(what, options) {
  return JSON.parse(await runScript(script, [what], options));
}

const OFF = 'This Node.js does not read into shared memory. Set FRAMEMASK_READS=events';

t.test('reads are shared by default', { skip: !isNode }, async (t) => {
  t.same(await probe('nothing'), { shared: [true, true], seen: ['one', 'two'], error: null });
});

t.test('FRAMEMASK_READS=events switches sharing off', async (t) => {
  const env = { ...process.env, FRAMEMASK_READS: 'events' };
  t.same(await probe('nothing', { env }), { shared: [false, false], seen: ['one', 'two'], error: null });
});

t.test('any other value of FRAMEMASK_READS is ignored, by a warning if it is a slip', { skip: !isNode }, async (t) => {
  const shared = { shared: [true, true], seen: ['one', 'two'], error: null };
  const probeWith = (value) =>
    probe('nothing', { env: { ...process.env, FRAMEMASK_READS: value }, execArgv: ['--no-warnings'] });
  t.same(await Promise.all(['shared', ''].map(probeWith)), [shared, shared]);
  t.same(await probeWith('event'), {
    ...shared,
    warning: 'FRAMEMASK_READS is "event", and must be "events", "shared" or "batched": ignored'
  });
});

for (const change of [
  'no useUserBuffer',
  'no property for the buffer',
  'no property for the callback',
  'an emit in the place of the first',
  'a handle of another class',
  'a replaced read'
]) {
  t.test(`the socket reads by events where Node.js has ${change}`, { skip: !isNode }, async (t) => {
    t.same(await probe(change), { shared: [false, false], seen: ['one', 'two'], error: null });
  });
}

t.test('a first read that does not go to the memory ends the connection, and sharing', { skip: !isNode }, async (t) => {
  const { shared, seen, error } = await probe('a useUserBuffer that does nothing');
  t.equal(error, OFF);
  t.same(seen, ['two'], 'the random bytes of the memory are not decoded; the next socket reads by events');
  t.same(shared, [true, false]);
});

t.test(
  'a socket that has shared memory when another one finds that nothing goes there is ended, too',
  {
    skip: !isNode
  },
  async (t) => {
    const { shared, error, seen } = await probe('two sockets before the first read');
    t.same(shared, [true, true]);
    t.same(error, [OFF, OFF]);
    t.same(seen, []);
  }
);
