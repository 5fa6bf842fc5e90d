'use strict';

const { fork } = require('node:child_process');
const cluster = require('node:cluster');
const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const t = require('tap');
const { Decoder } = require('../../index.js');
const { framesFor } = require('../support/frames');
const { string } = require('../support/recorder');
const { until } = require('../support/promises');
const { KINDS, Reads, compareReads, frames, isNode } = require('../support/socket-pairs');

// Threads, processes, and the ends of connections that a client has opened.

const SCRIPT = path.join(__dirname, '../support/sockets-worker.js');

/** A client that sends patterns of its own, and compares what comes back. */
async function echo(port, name, rounds = 40) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const seen = [];
  const decoder = new Decoder({ role: 'client', onMessage: (data) => seen.push(String(data)) });
  socket.on('data', (chunk) => decoder.write(chunk));
  const sent = Array.from({ length: rounds }, (_, i) => `${name} ${i} ${name.repeat(i * 11)}`);
  for (const [i, text] of sent.entries()) {
    socket.write(frames(i % 2 ? text : Buffer.from(text)));
    if (i % 5 === 0) await until(() => seen.length === i + 1);
  }
  await until(() => seen.length === sent.length);
  socket.end();
  await once(socket, 'close');
  return seen.every((text, i) => text === sent[i]);
}

/**
 * Has members, threads or processes, serve, talks to all of them at the same time, and ends them.
 *
 * @returns {Promise<{ ports: number[], accepted: object[][] }>} what each told of its connections
 */
async function talkToAll(t, members) {
  const told = members.map(() => []);
  for (const [i, member] of members.entries()) member.on('message', (message) => told[i].push(message));
  await until(() => told.every(([first]) => first !== undefined));
  const ports = told.map(([{ port }]) => port);
  const right = await Promise.all([...ports, ...ports, ...ports].map((port, i) => echo(port, `connection ${i} `)));
  t.same(right, Array(right.length).fill(true), 'every byte came back');
  const accepted = told.map(([, ...connections]) => connections);
  for (const connections of accepted) t.ok(connections.length >= 1, 'each had connections');
  for (const { shared } of accepted.flat()) t.equal(shared, isNode);
  for (const member of members) {
    const ended = once(member, 'exit');
    if (member instanceof Worker) member.postMessage('close');
    else member.send('close');
    await ended;
  }
  return { ports, accepted };
}

for (const kind of KINDS.slice(1)) {
  const env = { ...process.env, FRAMEMASK_READS: kind };

  const startThreads = (t) => {
    const workers = Array.from({ length: 2 }, () => new Worker(SCRIPT, { execArgv: [], env }));
    t.teardown(() => Promise.all(workers.map((worker) => worker.terminate())));
    return workers;
  };

  t.test(`each worker thread has its own memory, ${kind} reads`, async (t) => {
    const { accepted } = await talkToAll(t, startThreads(t));
    const memories = accepted.map(([{ memory }]) => memory);
    if (isNode) t.equal(new Set(memories).size, memories.length, 'each thread has random bytes of its own');
  });

  t.test(`the processes of a cluster share a port, ${kind} reads`, { skip: !isNode }, async (t) => {
    cluster.setupPrimary({ exec: SCRIPT, args: [] });
    const workers = [cluster.fork(env), cluster.fork(env)];
    t.teardown(() => {
      for (const worker of workers) worker.kill();
    });
    const { ports } = await talkToAll(t, workers);
    t.equal(ports[0], ports[1], 'one port');
  });

  t.test(`a thread that is terminated while its sockets are read harms no other, ${kind} reads`, async (t) => {
    const workers = startThreads(t);
    const ports = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0].port));
    const doomed = net.connect(ports[0], '127.0.0.1').on('error', () => {});
    await once(doomed, 'connect');
    const bytes = frames('x'.repeat(50_000));
    const timer = setInterval(() => doomed.write(bytes), 1);
    const other = echo(ports[1], 'other');
    await once(doomed, 'data');
    doomed.resume();
    await workers[0].terminate();
    clearInterval(timer);
    doomed.destroy();
    t.ok(await other);
    t.ok(await echo(ports[1], 'after it'));
  });

  t.test(`a socket that is sent to another process is read there, ${kind} reads`, { skip: !isNode }, async (t) => {
    const source = `process.on('message', (message, socket) => {
      if (socket) socket.on('data', (chunk) => socket.write(String(chunk.length))).resume();
      process.send('has it');
    });`;
    const reads = new Reads(t, 'tcp', kind);
    const { socket, client, events, receive } = await reads.open();
    await receive('here');
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

/** @returns {Buffer} a server's text frame */
const reply = (text) => framesFor('client').text(text);

compareReads(t, "a client's socket reads as a server's", async (reads) => {
  const { socket, client } = await reads.connect();
  const { events } = reads.readInto(client, { role: 'client' });
  // An upgraded client's socket has been paused by the test's handshake.
  client.resume();
  let count = 0;
  for (const texts of [['one'], ['two', 'three'], ['x'.repeat(200_000)]]) {
    socket.write(Buffer.concat(texts.map((text) => reply(text))));
    count += texts.length;
    await until(() => events.length === count);
  }
  reads.checkShared(2);
  return events;
});

compareReads(t, 'a socket that connects again reads as before', ['tcp', 'pipe'], async (reads) => {
  const { socket, client, server, address } = await reads.connect({ client: { allowHalfOpen: false } });
  const { decoder, events } = reads.readInto(client, { role: 'client' });
  socket.write(reply('first'));
  await until(() => events.length === 1);
  socket.end(reply('second'));
  await once(client, 'close');
  const again = once(server, 'connection');
  client.connect(address);
  const [other] = await again;
  other.on('error', () => {});
  for (const [i, text] of ['third', 'fourth'].entries()) {
    other.write(reply(text));
    await until(() => events.length === 3 + i);
  }
  reads.t.equal(decoder.closed, false);
  other.destroy();
  return events;
});

// What is done where Node.js is not as lib/sockets/shared-reads.js needs it. Each in a thread of
// its own: sharing is switched off for good.

const PROBE = path.join(__dirname, '../support/shared-reads-probe.js');

const OFF = 'This Node.js does not read into shared memory. Set FRAMEMASK_READS=events';
const SLIP = 'FRAMEMASK_READS is "event", and must be "events" or "shared": ignored';
const isShared = { shared: [true, true], seen: ['one', 'two'], error: null };
const byEvents = { ...isShared, shared: [false, false] };

for (const [title, change, expected, FRAMEMASK_READS = ''] of [
  ['reads are shared by default', 'nothing', isShared],
  ['FRAMEMASK_READS=shared', 'nothing', isShared, 'shared'],
  ['FRAMEMASK_READS=events', 'nothing', byEvents, 'events'],
  ['any other value of FRAMEMASK_READS is ignored by a warning', 'nothing', { ...isShared, warning: SLIP }, 'event'],
  ...[
    'no useUserBuffer',
    'no property for the buffer',
    'no property for the callback',
    'an emit in the place of the first',
    'a handle of another class',
    'a replaced read'
  ].map((change) => [`a Node.js with ${change}: events`, change, byEvents]),
  [
    // The random bytes of the memory are not decoded; the next socket reads by events.
    'a first read that does not go to the memory ends the connection, and sharing',
    'a useUserBuffer that does nothing',
    { shared: [true, false], seen: ['two'], error: OFF }
  ],
  [
    'a socket that has shared memory when another one finds that nothing goes there is ended, too',
    'two sockets before the first read',
    { shared: [true, true], seen: [], error: [OFF, OFF] }
  ]
]) {
  t.test(title, { skip: !isNode }, async (t) => {
    const env = { ...process.env, FRAMEMASK_READS };
    const worker = new Worker(PROBE, { workerData: change, env, execArgv: [] });
    // A thread that is late delivers its message and its end in one turn.
    const [[seen]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
    t.same(seen, expected);
  });
}
