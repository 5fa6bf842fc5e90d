'use strict';

// Random traffic over shared reads: TCP, TLS 1.2 and 1.3 at a time, through framemask/ws and through
// readInto, while listeners do to sockets all that may change who sees a chunk, or when one is read.
// Each Buffer that was delivered or seen is kept, and compared at the end. A failure names its
// seed; FRAMEMASK_TEST_SEED runs one.

const t = require('tap');
const { once } = require('node:events');
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const { Writable } = require('node:stream');
const { setImmediate: nextTurn } = require('node:timers/promises');
const tls = require('node:tls');
const { Decoder, readInto } = require('../../index.js');
const { WebSocket, WebSocketServer } = require('../../ws.js');
const certificate = require('../support/certificate');
const { createRandom, seed: givenSeed } = require('../support/random');
const { frames } = require('../support/socket-pairs');

const SEEDS = process.env.FRAMEMASK_TEST_SEED === undefined ? [1, 2, 3, 4, 5, 6] : [givenSeed];
const MESSAGES = 80;
/** Short records of TLS: several come in one read. */
const RECORD = 1024;
/** The versions of TLS; the empty one is TCP. */
const VERSIONS = ['', 'TLSv1.2', 'TLSv1.3'];

/** What a listener does to a connection, its own or another one. */
const ACTIONS = [
  ...Array(4).fill((one) => one.calm()),
  ...Array(8).fill(({ socket }) => socket.write('')),
  (one) => {
    if (!one.renegotiates || one.renegotiated) return;
    one.renegotiated = true; // once: Node.js takes three for an attack
    one.socket.renegotiate({ rejectUnauthorized: false }, () => {});
  },
  // OpenSSL fails where data is written during a renegotiation in which it reads data.
  ({ send, renegotiates }, random) => renegotiates || send(Buffer.alloc(random(3000), 1)),
  ({ socket, keep }) => socket.on('data', keep),
  ({ socket, keep }) => socket.removeListener('data', keep),
  ({ socket, keep }) => socket.once('data', keep),
  ({ socket, sink }) => socket.pipe(sink),
  ({ socket, sink }) => socket.unpipe(sink).resume(),
  ({ socket, readAll }) => socket.on('readable', readAll),
  ({ socket, readAll }) => socket.removeListener('readable', readAll),
  ({ readAll }) => readAll(),
  ({ socket, keep }) => {
    const { emit } = net.Socket.prototype;
    socket.emit = function (type, ...args) {
      const heard = emit.call(this, type, ...args);
      if (type === 'data') keep(args[0]);
      return heard;
    };
  },
  ({ socket }) => delete socket.emit,
  ({ pause }) => pause()
];

/** The end of a connection that shares reads, and all that it has received. */
class Connection {
  constructor(run, version, socket, send, pause) {
    Object.assign(this, { run, version, socket, send, pause });
    this.renegotiates = version === 'TLSv1.2' && run.random(2) === 0;
    this.renegotiated = false;
    this.kept = [];
    this.received = 0;
    // Listeners that come after the decoder, which unmasks a chunk in place.
    this.keep = (bytes) => this.kept.push({ bytes, copy: Buffer.from(bytes) });
    this.readAll = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) this.keep(chunk);
    };
    this.sink = new Writable({ write: (chunk, _encoding, done) => done(this.keep(chunk) && null) });
    socket.setMaxListeners(0);
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    socket.on('error', this.reject).on('close', () => this.reject(new Error('closed')));
  }

  receive(data) {
    const { run, received } = this;
    const bytes = data instanceof ArrayBuffer ? structuredClone(data, { transfer: [data] }) : data;
    this.kept.push({
      bytes: Buffer.from(bytes.buffer ?? bytes, bytes.byteOffset, bytes.byteLength),
      copy: this.payload(received)
    });
    this.received++;
    if (this.received === MESSAGES) this.resolve();
    for (let acts = run.random(4); acts > 1; acts--) {
      const other = run.random(2) === 0 ? this : run.connections[run.random(run.connections.length)];
      ACTIONS[run.random(ACTIONS.length)](other, run.random);
    }
  }

  /** Undoes what others have done: the socket shares its reads again, and none is held back. */
  calm() {
    const { socket, keep } = this;
    delete socket.emit;
    while (socket.listeners('data').includes(keep)) socket.removeListener('data', keep);
    socket.unpipe().removeAllListeners('readable').resume().read(0);
  }

  /** The payload of a message, which no other message has. */
  payload(index) {
    const random = createRandom(this.run.seed * 65536 + this.run.connections.indexOf(this) * 256 + index);
    const most = [20, 300, 3000, 3000, 30_000, 200_000][random(60) === 0 ? 5 : random(30) === 0 ? 4 : random(4)];
    return Buffer.alloc(random(most) + 4, Buffer.from(Uint32Array.from({ length: 6 }, () => random(2 ** 32)).buffer));
  }
}

/** Connects through framemask/ws; returns how the client sends. */
async function connectWs(t, run, version, compressed) {
  const options = { ...certificate, minVersion: version, maxVersion: version };
  const server = version === '' ? http.createServer() : https.createServer(options);
  const perMessageDeflate = compressed ? { threshold: 0 } : false;
  const wss = new WebSocketServer({ server, perMessageDeflate });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `${version === '' ? 'ws' : 'wss'}://127.0.0.1:${server.address().port}`;
  const client = new WebSocket(url, { perMessageDeflate: compressed, rejectUnauthorized: false });
  const [[websocket]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
  const pause = () => {
    websocket.pause();
    setImmediate(() => websocket.resume());
  };
  const one = new Connection(run, version, websocket._socket, (data) => websocket.send(data), pause);
  if (run.random(3) === 0) websocket.binaryType = 'arraybuffer';
  websocket.on('message', (data) => one.receive(data)).on('error', one.reject);
  client.on('error', one.reject);
  client._socket.setMaxSendFragment?.(RECORD);
  t.teardown(() => {
    client.terminate();
    websocket.terminate();
    server.close();
  });
  run.connections.push(one);
  return (payloads) => {
    for (const payload of payloads) client.send(payload, { compress: compressed && payload.length % 2 === 0 });
  };
}

/** Connects through readInto; returns how the client sends. */
async function connectCodec(t, run, version) {
  const options = { ...certificate, minVersion: version, maxVersion: version };
  const server = version === '' ? net.createServer() : tls.createServer(options);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  const where = { port, host: '127.0.0.1', rejectUnauthorized: false };
  const client = version === '' ? net.connect(where) : tls.connect(where);
  const [[socket]] = await Promise.all([
    once(server, version === '' ? 'connection' : 'secureConnection'),
    once(client, version === '' ? 'connect' : 'secureConnect')
  ]);
  const pause = () => {
    decoder.pause();
    setImmediate(() => decoder.resume());
  };
  const one = new Connection(run, version, socket, (data) => socket.write(data), pause);
  const decoder = new Decoder({
    role: 'server',
    borrowed: true,
    onMessage: (data) => one.receive(data),
    onError: one.reject
  });
  t.equal(
    readInto(socket, decoder, () => {}),
    true
  );
  client.on('error', one.reject).resume();
  client.setMaxSendFragment?.(RECORD);
  t.teardown(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  run.connections.push(one);
  return (payloads) => client.write(frames(...payloads));
}

for (const seed of SEEDS) {
  t.test(`seed ${seed}`, async (t) => {
    const run = { seed, random: createRandom(seed), connections: [] };
    const senders = [];
    for (const version of VERSIONS) {
      senders.push(await connectWs(t, run, version, false), await connectCodec(t, run, version));
    }
    senders.push(await connectWs(t, run, VERSIONS[run.random(3)], true));
    const { connections } = run;
    const all = Promise.all(connections.map(({ done }) => done));
    let ended = false;
    all
      .catch(() => {})
      .finally(() => {
        ended = true;
      });
    const sent = connections.map(() => 0);
    while (sent.some((count) => count < MESSAGES)) {
      for (const [i, send] of senders.entries()) {
        const end = Math.min(MESSAGES, sent[i] + run.random(20));
        const payloads = [];
        while (sent[i] < end) payloads.push(connections[i].payload(sent[i]++));
        if (payloads.length > 0) send(payloads);
      }
      if (run.random(3) === 0) await nextTurn();
    }
    while (!ended) {
      for (const one of connections) one.calm();
      await nextTurn();
    }
    await all;
    for (const [i, { kept }] of connections.entries()) {
      const wrong = kept.findIndex(({ bytes, copy }) => !copy.equals(bytes));
      t.equal(wrong, -1, `connection ${i} of seed ${seed}: all bytes stay`);
    }
  });
}
