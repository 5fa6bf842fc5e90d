'use strict';

// Batched reads, beside the tests of flow.js and others, which run with them, too.

const { AsyncLocalStorage } = require('node:async_hooks');
const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { buffer } = require('node:stream/consumers');
const tls = require('node:tls');
const t = require('tap');
const { Decoder, Encoder, nativeError, readInto } = require('../../index.js');
const { kTaker } = require('../../lib/codec/write-buffer');
const { findReactor } = require('../../lib/sockets/find-reactor');
const { canBatch, describeRounds } = require('../../lib/sockets/rounds');
const certificate = require('../support/certificate');
const { runScript } = require('../support/run-script');
const { until } = require('../support/promises');
const { BINARY, frame } = require('../support/frames');
const { Reads, frames, isNode } = require('../support/socket-pairs');

const ROOT = path.join(__dirname, '../..');

if (process.platform === 'linux' && isNode && nativeError === null && process.env.FRAMEMASK_KERNEL !== 'js') {
  t.ok(canBatch(), 'the addon for batched reads is there');
}

t.test('without the addon reads are shared, or events, and the error says why', { skip: canBatch() }, async (t) => {
  t.match(describeRounds().fault, Error);
  const reads = new Reads(t, 'tcp', isNode ? 'shared' : 'events');
  reads.batched = true;
  const { socket, client } = await reads.connect();
  const { events } = reads.readInto(socket);
  client.write(frames('here'));
  await until(() => events.length === 1);
});

const inRounds = { skip: !canBatch() };

/** Has a socket read in rounds into a Decoder. */
function readBatched(socket, onMessage) {
  const decoder = new Decoder({ role: 'server', borrowed: true, onMessage });
  readInto(socket, decoder, () => {}, { batched: true });
  return decoder;
}

/**
 * A connection that has joined the rounds. `onMessage` is called with each text in a round, and with
 * a function that replies.
 */
async function join(t, onMessage) {
  const { socket, client } = await new Reads(t, 'tcp', 'batched').connect();
  const encoder = new Encoder({ role: 'server', recycle: true });
  const reply = (text) => {
    encoder.text(text);
    return encoder.flush(socket);
  };
  const seen = [];
  const decoder = readBatched(socket, (text) => {
    seen.push(text);
    if (!text.startsWith('join')) onMessage?.(text, reply);
  });
  // The first read is Node.js's, the second makes the socket join.
  for (const text of ['join 1', 'join 2']) {
    client.write(frames(text));
    await until(() => seen.includes(text));
  }
  const lane = socket[kTaker];
  t.ok(lane, 'the socket has joined');
  return { socket, client, encoder, reply, decoder, seen, lane };
}

/** Three connections whose messages come in one round. */
async function joinThree(t, onMessage) {
  const connections = [];
  for (let i = 0; i < 3; i++) connections.push(await join(t, () => onMessage(i, connections)));
  // One turn of the loop receives for all three.
  for (const { client } of connections) client.on('error', () => {}).write(frames('now'));
  return connections;
}

/** The begin of a program that listens; its `onMessage` gets the text, the socket, and a function that replies. */
const LISTEN = `
  const net = require('node:net');
  const { Decoder, Encoder, readInto } = require(${JSON.stringify(ROOT)});
  const listen = (listener) => net.createServer((socket) => {
    const encoder = new Encoder({ role: 'server' });
    const reply = (text) => {
      encoder.text(text);
      encoder.flush(socket);
    };
    const onMessage = (text) => listener(text, socket, reply);
    readInto(socket, new Decoder({ role: 'server', borrowed: true, onMessage }), () => {}, { batched: true });
  }).listen(0, '127.0.0.1');`;

/** Lets the system take only so many bytes of the next replies; below 0 it is an error. */
function limitSends(lane, limits) {
  const { outbox } = lane._rounds;
  const { send, _table: table } = outbox;
  outbox.send = (first, end) => {
    for (let i = first; i < end && limits.length > 0; i++) {
      const limit = limits.shift();
      table[3 + i * 3] = limit < 0 ? -1 : Math.min(table[3 + i * 3], limit);
      if (limit < 0) table[1 + i * 3] = 2 ** 20;
    }
    if (limits.length === 0) outbox.send = send;
    send(first, end);
  };
}

function writeCorked(socket, ...pieces) {
  socket.cork();
  for (const piece of pieces) socket.write(piece);
  socket.uncork();
}

const WRITES = {
  'a Buffer': (socket) => socket.write(Buffer.from('next')),
  'a string of UTF-8': (socket) => socket.write('next é'),
  'a string of Latin-1': (socket) => socket.write('next é', 'latin1'),
  'a string of ASCII': (socket) => socket.write('next', 'ascii'),
  'a string of UTF-16': (socket) => socket.write('next', 'utf16le'),
  'corked Buffers': (socket) => writeCorked(socket, Buffer.from('next'), Buffer.from('last')),
  'a corked string and a Buffer': (socket) => writeCorked(socket, 'next é', Buffer.from('last')),
  nothing: () => {}
};

for (const [name, write] of Object.entries(WRITES)) {
  for (const limits of [[], [3, 0], [0, 0], ...(name === 'nothing' ? [[0, 0, 0]] : [])]) {
    const title = `replies go before ${name}, and before the end, if the system takes ${limits.join(', ') || 'all'}`;
    t.test(title, inRounds, async (t) => {
      const { socket, client, lane } = await join(t, (_text, reply) => {
        limitSends(lane, [...limits]);
        for (const text of ['one', 'two']) t.equal(reply(text), true);
        write(socket);
        socket.end();
      });
      const received = buffer(client);
      client.write(frames('go'));
      const expected = [];
      write({ cork() {}, uncork() {}, write: (data, encoding) => expected.push(Buffer.from(data, encoding)) });
      t.same(await received, Buffer.concat([Buffer.from('\x81\x03one\x81\x03two', 'latin1'), ...expected]));
    });
  }
}

t.test('a rest that is longer than a reply goes before the end, and counts', inRounds, async (t) => {
  const replies = 5;
  const { socket, client, lane, encoder } = await join(t, () => {
    // No reply of the round is taken, then none of a first attempt, then a part.
    limitSends(lane, [...Array(replies).fill(0), 0, 100]);
    for (let i = 0; i < replies; i++) {
      encoder.binary(Buffer.alloc(4000, i));
      encoder.flush(socket);
    }
    socket.end();
  });
  const received = buffer(client);
  client.write(frames('go'));
  const expected = Array.from({ length: replies }, (_, i) => frame(BINARY, Buffer.alloc(4000, i)));
  t.ok((await received).equals(Buffer.concat(expected)));
});

t.test('a last reply that fails ends the connection by the error', inRounds, async (t) => {
  const { socket, client, lane, reply } = await join(t, () => {
    limitSends(lane, [0, -1]);
    reply('last');
    socket.end();
  });
  const failed = once(socket, 'error');
  client.write(frames('go'));
  t.match((await failed)[0], { code: 'EINVAL', syscall: 'write' });
});

t.test("the peer's end does not keep the last reply", inRounds, async (t) => {
  const { socket, client, lane, reply } = await join(t, () => {
    const { outbox } = lane._rounds;
    const { send, _table: table } = outbox;
    const { giveBack } = lane;
    let hasEnded = false;
    lane.giveBack = () => {
      hasEnded = true;
      giveBack.call(lane);
    };
    // The system takes nothing before the peer's end.
    outbox.send = (first, end) => {
      if (hasEnded) outbox.send = send;
      else for (let i = first; i < end; i++) table[3 + i * 3] = 0;
      send(first, end);
    };
    reply('last');
    socket.end();
    client.end();
  });
  const received = buffer(client);
  const closed = once(socket, 'close');
  client.write(frames('go'));
  t.equal(String((await received).subarray(2)), 'last');
  await closed;
  t.equal(describeRounds().sockets, 0);
});

t.test('a rest that the system takes later goes before the next round', inRounds, async (t) => {
  const { socket, client, lane } = await join(t, (text, reply) => {
    reply(text);
    if (text === 'last') socket.end();
  });
  const received = buffer(client);
  limitSends(lane, [2, 0]);
  client.write(frames('one', 'two'));
  await until(() => socket.bytesWritten === 10 && socket.writableLength === 0);
  client.write(frames('last'));
  t.equal(String(await received), '\u0081\x03one\u0081\x03two\u0081\x04last'.replaceAll('\u0081', '\ufffd'));
  t.equal(socket.bytesWritten, 16, 'all bytes are counted');
});

for (const [title, act, bytes, code] of [
  ['a reply goes before destroy', ({ socket }) => socket.destroy(), 5],
  ['a socket that resets is released', ({ socket }) => socket.resetAndDestroy(), null, 'ECONNRESET'],
  [
    'a socket that is destroyed before its last reply has left closes',
    ({ socket, lane }) => {
      limitSends(lane, [0]);
      socket.end().destroy();
    },
    0
  ]
]) {
  t.test(title, inRounds, async (t) => {
    const connection = await join(t, (text, reply) => {
      if (code === undefined) reply(text);
      act(connection);
    });
    const { client } = connection;
    const received = buffer(client);
    client.write(frames('bye'));
    if (code === undefined) t.equal((await received).length, bytes);
    else t.match(await received.catch((error) => error), { code });
    t.equal(describeRounds().sockets, 0);
  });
}

t.test('a reply goes before the end of the process', inRounds, async (t) => {
  const source = `${LISTEN}
    const server = listen((text, _socket, reply) => {
      reply(text);
      if (text !== 'three') return;
      process.on('exit', () => reply('bye'));
      process.exit();
    });
    server.on('listening', () => process.send(server.address().port));`;
  const folder = t.testdir({ 'exit.js': source });
  const child = fork(path.join(folder, 'exit.js'));
  const [port] = await once(child, 'message');
  const client = net.connect(port, '127.0.0.1');
  for (const text of ['one', 'two']) {
    client.write(frames(text));
    t.equal(String((await once(client, 'data'))[0].subarray(2)), text);
  }
  client.write(frames('three'));
  t.equal((await buffer(client)).latin1Slice(), '\x81\x05three\x81\x03bye', 'also of a later listener');
  client.destroy();
});

t.test('replies keep their order: many, long ones, and those of a slow handler', inRounds, async (t) => {
  const count = 40;
  const { socket, client, encoder } = await join(t, () => {
    for (let i = 0; i < count; i++) {
      encoder.binary(Buffer.alloc(i % 7 === 0 ? 5000 : 100, i));
      encoder.flush(socket);
    }
    for (const end = performance.now() + 2; performance.now() < end; );
    encoder.binary(Buffer.alloc(1, count));
    encoder.flush(socket);
    socket.setTimeout(100_000);
  });
  const seen = [];
  const decoder = new Decoder({ role: 'client', onMessage: (data) => seen.push(data[0]) });
  client.on('data', (chunk) => decoder.write(chunk));
  client.write(frames('go', 'on'));
  await until(() => seen.length === 2 * (count + 1));
  const numbers = [...Array(count + 1).keys()];
  t.same(seen, [...numbers, ...numbers]);
});

t.test('replies to a peer that does not read keep their order', inRounds, async (t) => {
  let sent = 0;
  const { socket, client, encoder } = await join(t, () => {
    for (let i = 0; i < 8; i++) {
      const bytes = Buffer.alloc(4000);
      bytes.writeUInt32LE(sent++);
      encoder.binary(bytes);
      encoder.flush(socket);
    }
  });
  client.pause();
  for (let asked = 0; socket.writableLength === 0; asked++) {
    client.write(frames('go'));
    await until(() => sent === 8 * (asked + 1));
  }
  const seen = [];
  const decoder = new Decoder({ role: 'client', onMessage: (data) => seen.push(data.readUInt32LE()) });
  client.on('data', (chunk) => decoder.write(chunk)).resume();
  await until(() => seen.length === sent);
  t.same(seen, [...Array(sent).keys()]);
});

t.test('reads and replies re-arm the timeout of a socket', inRounds, async (t) => {
  const { socket, client } = await join(t, (text, reply) => reply(text));
  socket.setTimeout(1e6);
  let armed = 0;
  const { _unrefTimer } = socket;
  socket._unrefTimer = function () {
    armed++;
    return _unrefTimer.call(this);
  };
  client.write(frames('go'));
  await once(client, 'data');
  t.equal(armed, 2);
});

t.test('a socket that is not as lanes know it, or that the reactor refuses, reads by itself', inRounds, async (t) => {
  const { lane } = await join(t);
  const rounds = lane._rounds;
  const { watch } = rounds;
  const changes = {
    'an off of its own': (socket) => {
      socket.off = (...args) => net.Socket.prototype.off.apply(socket, args);
    },
    'a method of its own': ({ _handle: handle }) => {
      handle.readStart = (...args) => Object.getPrototypeOf(handle).readStart.apply(handle, args);
    },
    'a descriptor that is not open': ({ _handle: handle }) => Object.defineProperty(handle, 'fd', { value: 2 ** 20 }),
    'no room in epoll': () => {
      rounds.watch = (_slot, isWatched) => {
        rounds.watch = watch;
        return isWatched ? -28 : 0;
      };
    }
  };
  for (const [name, change] of Object.entries(changes)) {
    await t.test(name, async (t) => {
      const { socket, client } = await new Reads(t, 'tcp', 'batched').connect();
      change(socket);
      const seen = [];
      readBatched(socket, (text) => seen.push(text));
      for (const text of ['1', '2', '3']) {
        client.write(frames(text));
        await until(() => seen.includes(text));
      }
      t.equal(socket[kTaker], undefined);
      t.equal(describeRounds().sockets, 1);
    });
  }
});

/** Has the reactor not watch a socket again. */
function refuseWatch({ socket, lane: { _rounds: rounds } }) {
  const { watch } = rounds;
  // It stops reading at once, unlike that of a socket with shared reads.
  net.Socket.prototype.pause.call(socket);
  rounds.watch = () => -28;
  socket.resume();
  // A socket resumes in the next turn.
  setImmediate(() => {
    rounds.watch = watch;
  });
}

/** Has Node.js not read a socket that is given back. */
function refuseStart({ socket }) {
  const { prototype } = socket._handle.constructor;
  prototype.readStart = () => -9;
  socket.removeAllListeners('data');
  delete prototype.readStart;
}

function refuseSend({ lane, client }) {
  limitSends(lane, [-1]);
  client.write(frames('one'));
}

t.test('errors of the system end the connection as those of Node.js do', inRounds, async (t) => {
  for (const [name, act, errno, code, syscall] of [
    ['receive', ({ lane }) => lane.receive(0, -104), -104, 'ECONNRESET', 'read'],
    ['watch', refuseWatch, -28, 'ENOSPC', 'read'],
    ['give back', refuseStart, -9, 'EBADF', 'read'],
    ['send', refuseSend, -22, 'EINVAL', 'write']
  ]) {
    const connection = await join(t, (text, reply) => reply(text));
    const failed = once(connection.socket, 'error');
    const closed = once(connection.client, 'close');
    connection.client.resume();
    act(connection);
    t.match((await failed)[0], { code, syscall, errno }, name);
    await closed;
  }
});

t.test('where there is no addon, the error says so', async (t) => {
  const { existsSync } = fs;
  const platform = Object.getOwnPropertyDescriptor(process, 'platform');
  t.teardown(() => {
    fs.existsSync = existsSync;
    Object.defineProperty(process, 'platform', platform);
  });
  fs.existsSync = () => false;
  if (isNode && process.platform === 'linux')
    t.throws(findReactor, { message: /^No addon for batched reads on linux-/ });
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  t.throws(findReactor, { message: 'Batched reads need Node.js on Linux' });
  const file = require.resolve('../../lib/sockets/rounds');
  const loaded = require.cache[file];
  delete require.cache[file];
  t.match(require(file).describeRounds(), { sockets: 0, fault: Error });
  require.cache[file] = loaded;
});

t.test('an addon that was cut short is an error', inRounds, async (t) => {
  const root = t.testdir({ build: { Release: {} } });
  fs.cpSync(path.join(ROOT, 'lib'), path.join(root, 'lib'), { recursive: true });
  const [file] = ['build/Release', `prebuilds/linux-${process.arch}`]
    .map((folder) => path.join(ROOT, folder, 'reactor.so'))
    .filter((each) => fs.existsSync(each));
  const whole = fs.readFileSync(file);
  fs.writeFileSync(path.join(root, 'build/Release/reactor.so'), whole.subarray(0, whole.length >> 1));
  const other = require(path.join(root, 'lib/sockets/find-reactor'));
  // To load it would end the process with SIGBUS.
  t.throws(other.findReactor, { message: /reactor\.so is cut short: it has \d+ bytes of \d+$/ });
});

t.test('a replaced write, and a corked socket, see all replies', inRounds, async (t) => {
  const written = [];
  const { socket, client } = await join(t, (text, reply) => {
    if (text === 'cork') socket.cork();
    reply(text);
    if (text === 'cork') {
      t.ok(socket.writableLength > 0, 'the reply waits in the socket');
      socket.uncork();
    }
  });
  client.write(frames('cork'));
  await once(client, 'data');
  socket.write = function (...args) {
    written.push(Buffer.from(args[0]));
    return net.Socket.prototype.write.apply(this, args);
  };
  client.write(frames('seen'));
  await once(client, 'data');
  t.equal(written.length, 1);
});

t.test('a socket whose listener is removed is given back, and can become TLS', inRounds, async (t) => {
  const { socket, client, seen, decoder } = await join(t);
  const again = readInto(socket, decoder, () => {}, { batched: true });
  t.equal(again, 'batched');
  socket.on('data', () => {});
  for (let i = 0; i < 2; i++) socket.removeAllListeners('data');
  t.equal(describeRounds().sockets, 0);
  const server = new tls.TLSSocket(socket, { isServer: true, ...certificate });
  const secure = tls.connect({ socket: client, rejectUnauthorized: false });
  server.on('data', (chunk) => server.write(chunk));
  await once(secure, 'secureConnect');
  secure.write('over TLS');
  t.equal(String((await once(secure, 'data'))[0]), 'over TLS');
  t.same(seen, ['join 1', 'join 2']);
  secure.destroy();
});

t.test('a socket with long reads leaves the rounds, and comes back with short ones', inRounds, async (t) => {
  const { socket, client, seen } = await join(t);
  let count = seen.length;
  const send = async (text) => {
    client.write(frames(text));
    count++;
    await until(() => seen.length === count);
  };
  const isJoined = () => describeRounds().sockets === 1;
  for (let i = 0; isJoined(); i++) {
    if (i === 100) throw new Error('it has not left');
    await send('long '.repeat(20_000));
    if (i === 0) await send('short');
  }
  for (let i = 0; !isJoined(); i++) {
    if (i === 100) throw new Error('it has not come back');
    await send('short');
  }
  await send('long '.repeat(20_000));
  socket.removeAllListeners('data');
  t.notOk(isJoined());
});

t.test('a paused socket is given back paused', inRounds, async (t) => {
  for (const stops of [false, true]) {
    const { socket, client, reply } = await join(t);
    // The first reads on until the buffer of the stream is full.
    (stops ? net.Socket.prototype.pause : socket.pause).call(socket);
    socket.removeAllListeners('data');
    reply('not in a round');
    await once(client, 'data');
    client.write('later');
    const read = once(socket, 'data');
    socket.resume();
    t.equal(String((await read)[0]), 'later');
    socket.pause();
    client.write('more');
    socket.resume();
    t.equal(String((await once(socket, 'data'))[0]), 'more');
  }
});

t.test('a socket that another of its round has destroyed is not delivered to', inRounds, async (t) => {
  const first = [];
  await joinThree(t, (i, connections) => {
    first.push(i);
    for (const { socket } of connections.filter((_, k) => k !== i)) socket.destroy();
  });
  await until(() => first.length === 1 && describeRounds().sockets === 1);
});

t.test('bytes of a round that come to a socket which has just been given back are not lost', inRounds, async (t) => {
  const late = [];
  const connections = await joinThree(t, (_i, connections) => {
    for (const { socket } of connections) socket.removeAllListeners('data').on('data', (chunk) => late.push(chunk));
  });
  await until(() => late.length + connections.filter(({ seen }) => seen.includes('now')).length === 3);
  t.ok(late.every((chunk) => chunk.length === 9));
});

t.test('a store that one connection enters is not seen by the others of a round', inRounds, async (t) => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  await joinThree(t, (i) => {
    seen.push(storage.getStore());
    storage.enterWith(i);
  });
  await until(() => seen.length === 3);
  t.same(seen, [undefined, undefined, undefined]);
});

t.test('a socket can be unref-ed, and then keeps no process alive', inRounds, async (t) => {
  const source = `${LISTEN}
    let count = 0;
    const server = listen((_text, socket) => {
      if (++count < 3) return client.write(bytes);
      socket.unref().ref().unref();
      client.unref();
      server.unref();
    });
    const bytes = Buffer.from('${frames('message').toString('hex')}', 'hex');
    let client;
    server.on('listening', () => {
      client = net.connect(server.address().port, '127.0.0.1', () => client.write(bytes));
    });
    process.on('exit', () => console.log('ended'));`;
  const folder = t.testdir({ 'unref.js': source });
  t.equal(await runScript(path.join(folder, 'unref.js'), []), 'ended\n');
});

t.test('with full rounds, all connections are read equally often', inRounds, async (t) => {
  const counts = Array(8).fill(0);
  const total = () => counts.reduce((sum, count) => sum + count);
  // Eight of them are more than the memory of a round. A socket with longer reads would leave.
  const message = frames(Buffer.alloc(15_000));
  for (const i of counts.keys()) {
    const { socket, client } = await new Reads(t, 'tcp', 'batched').connect();
    readBatched(socket, () => {
      counts[i]++;
      client.write(message);
    });
    client.write(message);
  }
  const before = [...counts];
  await until(() => total() >= 4000);
  const read = counts.map((count, i) => count - before[i]);
  const mean = read.reduce((sum, count) => sum + count) / read.length;
  for (const count of read) t.ok(count > mean / 3, `${read}`);
});

t.test('the reactor refuses wrong arguments', inRounds, async (t) => {
  const addon = findReactor();
  const code = 'FRAMEMASK_ERR_REACTOR';
  const memory = Buffer.alloc(80 * 1024);
  const table = new Int32Array(1 + 3 * 256);
  const replies = new Int32Array(table);
  const good = [memory, table, Buffer.alloc(100), replies, () => {}];
  for (const [at, wrong] of [
    [0, memory.subarray(1)],
    [0, table],
    [1, new Int32Array(10)],
    [1, memory],
    [3, {}],
    [4, 'function']
  ]) {
    t.throws(() => addon.open(...good.with(at, wrong)), { code }, `argument ${at}`);
    t.throws(() => addon.open(...good.slice(0, at)), { code }, `${at} arguments`);
  }
  const reactor = addon.open(...good);
  for (const name of ['enter', 'watch', 'leave', 'send', 'hold']) {
    for (const args of [[], [-1, 0], [1.5, 0], [2 ** 31, 0], ['1', 0], [NaN, NaN]]) {
      t.throws(() => reactor[name](...args), { code }, `${name}(${args})`);
    }
  }
  t.throws(() => reactor.send(0, 257), { code });
  t.ok(reactor.enter(1, 2 ** 20) < 0, 'a descriptor that is not open');
  t.ok(reactor.enter(2 ** 20, 0) < 0);
  t.ok(reactor.watch(5, 1) < 0, 'a slot without a socket');
  t.ok(reactor.leave(5) < 0);
  const wrong = {
    slot: [5, 0, 10],
    'negative slot': [-1, 0, 10],
    end: [5, 90, 20],
    start: [5, -1, 5],
    size: [5, 0, -5]
  };
  for (const [name, entry] of Object.entries(wrong)) {
    replies.set(entry, 1);
    reactor.send(0, 1);
    t.equal(replies[3], -22, `a wrong ${name} is refused`);
  }
});
