'use strict';

// Peers that do not read, are silent, or do not answer.

const { EventEmitter } = require('node:events');
const { Duplex } = require('node:stream');
const t = require('tap');
const { Connection } = require('../..');
const { ASK, GIVE_UP, Heartbeat, joinClock, leaveClock } = require('../../lib/sockets/heartbeat');
const { collectGarbage } = require('../support/collect-garbage');
const { until, withResolvers } = require('../support/promises');
const { run } = require('../support/child');
const { forEachEnd, memoryPair, openRaw } = require('../support/stream-pairs');

const KIB = 1024;
const MIB = 1024 * 1024;

/** Sends until the buffers of the system are full. */
async function fill(connection) {
  for (let waits = -1; waits !== connection.bufferedAmount; ) {
    while (connection.send('x'.repeat(100_000))) await new Promise(setImmediate);
    waits = connection.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

forEachEnd(t, 'send returns false until onDrain', async (t, open) => {
  let drained = 0;
  const { connection, peer } = await open({ onDrain: () => drained++ });
  peer.stream.pause();
  let sent = 0;
  while (connection.send('x'.repeat(10_000))) {
    sent++;
    if (sent % 10 === 0) await new Promise(setImmediate);
  }
  sent++;
  t.ok(connection.bufferedAmount > 0);
  t.equal(drained, 0);
  t.equal(connection.send('y'), false);
  connection.pause();
  peer.stream.resume();
  await until(() => drained > 0);
  connection.resume();
  t.equal(connection.send('z'), true);
  const events = await peer.until(sent + 2);
  t.same([events.length, events.at(-1)[1]], [sent + 2, 'z']);
});

forEachEnd(t, 'a server reads no more while its answers are not read; all of them arrive', async (t, open, role) => {
  if (role === 'client') return;
  let count = 0;
  const { connection, peer, stream } = await open({
    onMessage(data) {
      count++;
      this.send(data);
    }
  });
  const { frames } = peer;
  peer.stream.pause();
  const one = frames.text('x'.repeat(50_000));
  let written = 0;
  const write = () => {
    written++;
    // A stream in memory gives the very bytes, and the server unmasks them.
    return peer.stream.write(Buffer.from(one));
  };
  while (!stream.isPaused() || !peer.stream.writableNeedDrain) {
    write();
    await new Promise(setImmediate);
  }
  t.ok(connection.bufferedAmount < MIB, `${connection.bufferedAmount} bytes wait`);
  peer.stream.resume();
  await peer.until(written);
  t.equal(count, written);
});

t.test('a Ping and a message in the read after which the peer is held: both are answered', async (t) => {
  const { peer, events } = await openRaw(t, 'memory', 'server', {
    onMessage(data) {
      this.send(data.repeat(200_000));
    }
  });
  const { frames } = peer;
  peer.stream.pause();
  peer.write(frames.text('a'), frames.ping('b'));
  await new Promise(setImmediate);
  peer.stream.resume();
  const heard = await peer.until(2);
  t.same([heard[0][1].length, heard[1]], [200_000, ['pong', 'b']]);
  t.same(events.slice(0, 2), [['ping', 'b'], ['drain']]);
});

t.test('a client reads on: ends that both send do not wait for each other', async (t) => {
  const [a, b] = memoryPair();
  const count = 200;
  const data = 'x'.repeat(20_000);
  let echoed = 0;
  new Connection(a, 'server', {
    onMessage(message) {
      this.send(message);
    }
  });
  const client = new Connection(b, 'client', { onMessage: () => echoed++ });
  for (let i = 0; i < count; i++) client.send(data);
  await until(() => echoed === count);
  t.equal(client.bufferedAmount, 0);
  client.terminate();
});

/** How a program sends without end: on when it may, or one message after the other. */
const WAYS = ['onDrain', 'callbacks', 'two callbacks'];

for (const way of WAYS) {
  forEachEnd(t, `a peer is heard amid messages without end, sent by ${way}`, async (t, open) => {
    const data = 'x'.repeat(20_000);
    // Only a peer that is not heard sees the end.
    let left = 6000;
    const heard = [];
    let onHeard;
    const hear = (message) => {
      heard.push(message);
      onHeard();
    };
    let connection = null;
    const next = (error) => {
      if (!error && left-- > 0) connection.send(data, next);
    };
    const fill = () => {
      while (left-- > 0 && connection.send(data));
    };
    const ends = await open({
      onMessage: hear,
      onPing: () => hear('ping'),
      onDrain: () => way === 'onDrain' && fill()
    });
    const { peer, closed } = ends;
    connection = ends.connection;
    peer.stream.pause();
    while (connection.bufferedAmount < 200_000) connection.send(data);
    if (way === 'onDrain') fill();
    for (let i = WAYS.indexOf(way); i > 0; i--) next();
    const { frames } = peer;
    peer.stream.resume();
    for (const bytes of [frames.text('stop'), frames.ping('?'), frames.text('please')]) {
      const { promise, resolve } = withResolvers();
      onHeard = resolve;
      peer.write(bytes);
      await promise;
      t.ok(left > 0, 'before the last message');
    }
    t.same(heard, ['stop', 'ping', 'please']);
    await until(() => peer.events.some(([name, payload]) => name === 'pong' && payload === '?'));
    peer.write(frames.close(1000));
    await until(() => connection.readyState !== 1);
    peer.stream.end();
    t.same((await closed).at(-1), ['close', 1000, '']);
  });
}

for (const role of ['server', 'client']) {
  t.test(
    `5.5.3: of the Pings of a peer that does not read, the first and the last are answered: ${role}`,
    async (t) => {
      const { connection, peer, stream } = await openRaw(t, 'TCP', role);
      peer.stream.pause();
      await fill(connection);
      const waits = connection.bufferedAmount;
      const { frames } = peer;
      const pings = [...Array(1000).keys(), 'the last'].map((payload) => frames.ping(`${payload}`));
      for (const ping of pings) peer.stream.write(ping);
      const total = stream.bytesRead + Buffer.concat(pings).length;
      await until(() => stream.bytesRead === total);
      t.equal(connection.bufferedAmount, waits + (role === 'server' ? 3 : 7), 'one Pong waits');
      peer.stream.resume();
      await until(() => peer.events.some(([name, data]) => name === 'pong' && data === 'the last'));
      const pongs = peer.events.filter(([name]) => name === 'pong').map(([, data]) => data);
      t.same(pongs, ['0', 'the last']);
      connection.terminate();
    }
  );
}

t.test('a peer is lost whose Ping waits for its answer', async (t) => {
  const { connection, events, peer, stream, closed } = await openRaw(t, 'memory', 'server');
  peer.stream.pause();
  for (let i = 0; i < 4; i++) connection.send('x'.repeat(100_000));
  await new Promise(setImmediate);
  peer.write(peer.frames.ping('answered'), peer.frames.ping('waits'));
  await until(() => events.length === 2);
  const waits = connection.bufferedAmount;
  stream.destroy();
  t.same((await closed).at(-1), ['close', 1006, '']);
  t.ok(connection.bufferedAmount <= waits, 'the other is not answered');
});

forEachEnd(t, '5.5.3: of very many Pings in one read, some are answered, and the last', async (t, open) => {
  const { connection, peer } = await open();
  const pings = Array.from({ length: 1000 }, (_, i) => peer.frames.ping(`${i}`));
  peer.write(...pings, peer.frames.ping('the last'));
  await until(() => peer.events.at(-1)?.[1] === 'the last');
  const pongs = peer.events.map(([, data]) => data);
  t.ok(pongs.length >= 10 && pongs.length <= 500, `${pongs.length} Pongs`);
  t.same(pongs.slice(0, 10), ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  connection.terminate();
});

forEachEnd(t, 'maxBackpressure: a send after more than that fails, and the connection is dropped', async (t, open) => {
  const { connection, peer, closed } = await open({ maxBackpressure: 100_000, onDrain() {} });
  peer.stream.pause();
  // One message of any size passes.
  connection.send(Buffer.alloc(30 * MIB));
  const results = [];
  t.equal(
    connection.send('refused', (error) => results.push(error.code)),
    false
  );
  t.equal(connection.readyState, 2);
  connection.send('late', (error) => results.push(error.code));
  const events = await closed;
  t.same(events, [
    ['error', 'FRAMEMASK_ERR_BACKPRESSURE'],
    ['close', 1006, '']
  ]);
  t.same(results, ['FRAMEMASK_ERR_BACKPRESSURE', 'FRAMEMASK_ERR_NOT_OPEN']);
});

t.test('a loss that no handler hears is a warning once, and a line of NODE_DEBUG each time', async (t) => {
  const program = `
    const { Duplex } = require('node:stream');
    const { Connection } = require(process.cwd());
    for (const [role, options] of [['server', {}], ['server', {}], ['server', { onError() {} }], ['client', {}]]) {
      const connection = new Connection(new Duplex({ read() {}, write() {} }), role, options);
      for (let i = 0; i < 3; i++) connection.send(Buffer.alloc(9_000_000));
      console.log(role, connection.readyState === Connection.OPEN);
    }`;
  const { stdout, stderr } = await run([process.execPath, '-e', program], {
    env: { NODE_DEBUG: 'framemask', NODE_NO_WARNINGS: '', NODE_OPTIONS: '' }
  });
  t.same(stdout.trim().split('\n'), ['server false', 'server false', 'server false', 'client true']);
  t.equal(stderr.match(/FRAMEMASK_WARN_LOST/g)?.length, 1);
  t.equal(stderr.match(/FRAMEMASK \d+: a connection is lost: .*FRAMEMASK_ERR_BACKPRESSURE/g)?.length, 3);
});

t.test('1,000 connections that never read cost a bounded number of bytes', async (t) => {
  const maxBackpressure = 32 * KIB;
  const count = 1000;
  const { bun } = process.versions;
  const used = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    // Bun's heapUsed has the memory of Buffers in it.
    return bun ? heapUsed : heapUsed + external;
  };
  // What the tests before this one have left.
  let before = Infinity;
  for (let now = used(); now < before; now = used()) {
    before = now;
    await new Promise(setImmediate);
  }
  const connections = Array.from({ length: count }, () => {
    // Nothing that is written is taken.
    const stream = new Duplex({ read() {}, write() {} });
    return new Connection(stream, 'server', { maxBackpressure });
  });
  let most = 0;
  for (const connection of connections) {
    while (connection.readyState === 1) {
      connection.send('x'.repeat(KIB));
      most = Math.max(most, connection.bufferedAmount);
    }
  }
  const held = (used() - before) / count;
  t.ok(most <= maxBackpressure + 2 * KIB, `${most} bytes waited`);
  t.ok(held <= maxBackpressure + 8 * KIB, `${held} bytes a connection`);
  await until(() => connections.every(({ readyState }) => readyState === 3));
  const left = (used() - before) / count;
  // A stream keeps a chunk of 16 KiB whose write has begun.
  t.ok(left < 24 * KIB, `${left} bytes are left`);
});

forEachEnd(t, 'closeTimeout: a peer that does not answer, and one that does not end the transport', async (t, open) => {
  const silent = await open({ closeTimeout: 30 });
  silent.connection.close(1000);
  t.same(await silent.closed, [['close', 1006, '']]);
  const lasting = await open({ closeTimeout: 30 });
  lasting.peer.write(lasting.peer.frames.close(4000));
  t.same(await lasting.closed, [['close', 4000, '']]);
});

forEachEnd(t, 'heartbeat: asks a silent peer, keeps one that answers, and drops one that does not', async (t, open) => {
  const { connection, peer, events } = await open({ heartbeat: 60 });
  const { frames } = peer;
  for (let i = 1; i <= 2; i++) {
    t.same((await peer.until(i))[i - 1], ['ping', '']);
    peer.write(frames.pong(''));
  }
  connection.pause();
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(connection.readyState, 1, 'the clock stands still during a pause');
  connection.resume();
  // A stream in memory does not keep the process alive, and neither does the clock.
  await until(() => connection.readyState === 3);
  t.same(events.slice(-2), [
    ['error', 'FRAMEMASK_ERR_HEARTBEAT'],
    ['close', 1006, '']
  ]);
  t.equal(peer.events.filter(([name]) => name === 'ping').length, 3);
});

t.test('connections with the same heartbeat share a clock', async (t) => {
  const ends = [];
  for (let i = 0; i < 2; i++) ends.push(await openRaw(t, 'memory', 'server', { heartbeat: 40 }));
  for (const { peer } of ends) t.same(await peer.until(1), [['ping', '']]);
  ends[0].connection.terminate();
  ends[1].peer.write(ends[1].peer.frames.pong(''));
  t.same((await ends[1].peer.until(2))[1], ['ping', '']);
  ends[1].connection.terminate();
});

t.test('the last connection that leaves a clock stops its timer', async (t) => {
  const { setInterval, clearInterval } = globalThis;
  t.teardown(() => Object.assign(globalThis, { setInterval, clearInterval }));
  const timers = new Set();
  globalThis.setInterval = (...args) => {
    const timer = setInterval(...args);
    timers.add(timer);
    return timer;
  };
  globalThis.clearInterval = (timer) => {
    timers.delete(timer);
    clearInterval(timer);
  };
  const [a, b] = [{}, {}];
  for (const member of [a, b]) joinClock(1000, member, () => {});
  t.equal(timers.size, 1);
  leaveClock(1000, a);
  t.equal(timers.size, 1);
  leaveClock(1000, b);
  t.equal(timers.size, 0);
});

t.test('heartbeat: Connections and WebSockets of framemask/ws share a clock, each with its own tick', async (t) => {
  const ticked = [];
  const members = ['a Connection', 'a WebSocket'];
  for (const name of members) joinClock(8, name, (member) => ticked.push([name, member]));
  await until(() => ticked.length >= 4);
  for (const name of members) leaveClock(8, name);
  t.same(ticked.slice(0, 2), [
    ['a Connection', 'a Connection'],
    ['a WebSocket', 'a WebSocket']
  ]);
});

forEachEnd(t, 'heartbeat: a long message that leaves slowly is a sign of the peer', async (t, open) => {
  const { connection, peer, stream } = await open({ maxBackpressure: Infinity });
  // The bytes that a peer reads between two ticks.
  const piece = MIB;
  peer.stream.removeAllListeners('data');
  const heartbeat = new Heartbeat(stream);
  const ticks = [];
  let total = 0;
  const read = withResolvers();
  peer.stream.on('data', ({ length }) => {
    total += length;
    if (total < (ticks.length + 1) * piece) return;
    // The last ones are in buffers of the system, up to 10 MiB: there nobody sees them leave.
    if (connection.bufferedAmount === 0 || ticks.length === 20) read.resolve();
    else ticks.push(heartbeat.tick());
    // The stream goes on in turns of its own.
    peer.stream.pause();
    setImmediate(() => peer.stream.resume());
  });
  connection.send(Buffer.alloc(30 * piece));
  await read.promise;
  t.ok(ticks.length > 9 && !ticks.includes(GIVE_UP), `${ticks}`);
  connection.terminate();
});

const fakeStream = () => ({
  bytesRead: 0,
  writableLength: 0,
  write(chunk) {
    this.writableLength += chunk.length;
  }
});

t.test('heartbeat: the time, in ticks of a quarter', async (t) => {
  const ticks = (heartbeat, count) => Array.from({ length: count }, () => heartbeat.tick());
  const memory = Object.assign(new EventEmitter(), { writableLength: 0, write() {} });
  const socket = { bytesRead: 100, writableLength: 0 };
  for (const [stream, hear] of [
    [memory, () => memory.emit('data', Buffer.alloc(1))],
    [socket, () => socket.bytesRead++]
  ]) {
    const heartbeat = new Heartbeat(stream);
    t.same(ticks(heartbeat, 9), [0, 0, 0, 0, ASK, 0, 0, 0, GIVE_UP]);
    hear();
    t.same(ticks(heartbeat, 5), [0, 0, 0, 0, ASK]);
  }
  for (const [title, fake, shrink, grow] of [
    [
      'a handle',
      { bytesRead: 0, _handle: { writeQueueSize: 0 }, writableLength: 0 },
      (s) => s._handle.writeQueueSize--,
      (s) => s.writableLength++
    ],
    [
      'the handle below TLS',
      { bytesRead: 0, _handle: { writeQueueSize: 7, _parent: { writeQueueSize: 0 } }, writableLength: 0 },
      (s) => s._handle._parent.writeQueueSize--,
      (s) => s.writableLength++
    ],
    ['a stream', fakeStream(), (s) => s.writableLength--, (s) => s.write('x')],
    // It has sent one byte, and more waits than before.
    [
      'a stream that is written to',
      fakeStream(),
      (s) => {
        s.write('xx');
        s.writableLength--;
      },
      (s) => s.write('x')
    ]
  ]) {
    const slow = new Heartbeat(fake);
    t.same(ticks(slow, 2), [0, 0]);
    const handle = fake._handle?._parent ?? fake._handle;
    if (handle) handle.writeQueueSize = 1000;
    else fake.write(Buffer.alloc(1000));
    t.same(ticks(slow, 3), [0, 0, ASK], `${title}: what is written is no sign of the peer`);
    grow(fake);
    t.same(ticks(slow, 3), [0, 0, 0]);
    shrink(fake);
    t.same(ticks(slow, 5), [0, 0, 0, 0, ASK], `${title}: what has left is one`);
  }
});
