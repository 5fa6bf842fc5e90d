'use strict';

// A connection's life, as a table: each door, on each transport, while the peer does each thing in
// each state. A program hears its messages, and then one end with the code of RFC 6455 section 7.1.5;
// the callbacks of its messages are called once; the server closes; and nothing keeps the connection.
// A heartbeat beside a slow reader is no cell, as a time would tell: test/connection/flow.js ticks by
// hand, on each transport, and test:system -- slow-readers takes the time.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http2 = require('node:http2');
const net = require('node:net');
const tls = require('node:tls');
const t = require('tap');
const { Connection, acceptUpgrade, overHttp2 } = require('..');
const { WebSocket, WebSocketServer } = require('../ws');
const { collectGarbage } = require('./support/collect-garbage');
const { json } = require('./support/deflate');
const { HANDSHAKE, framesFor, head } = require('./support/frames');
const { HTTP_SERVERS } = require('./support/http-servers');
const { pipePath } = require('./support/pipe-path');
const { until, withResolvers } = require('./support/promises');
const { memoryPair } = require('./support/stream-pairs');

const EXTENSIONS = 'permessage-deflate';
const isReset = (act) => act === 'a reset';

/** How a raw peer connects. */
const TRANSPORTS = {
  TCP: { connect: (address) => net.connect({ ...address, allowHalfOpen: true }) },
  TLS: {
    connect: (address) => tls.connect({ ...address, allowHalfOpen: true, rejectUnauthorized: false }),
    scheme: 'wss'
  },
  pipe: {
    connect: ({ path }) => net.connect({ path, allowHalfOpen: true })
  },
  'HTTP/2': { isHttp2: true }
};

/** What the peer does last, and the code that the program hears. */
const ACTS = {
  'a FIN': [1006, ({ stream }) => stream.end()],
  'a reset': [1006, ({ stream }) => reset(stream)],
  'a Close frame and a FIN': [1001, ({ stream, frames }) => stream.end(frames.close(1001))],
  'a Close frame alone': [1001, ({ stream, frames }) => stream.write(frames.close(1001))]
};

/** When: what happens before. The peer reads again after its last act. */
const WHENS = {
  'once it is open'() {},
  'in the read of a message': ({ stream, frames }) => stream.write(Buffer.concat([frames.text('hello')])),
  'amid a frame': ({ stream, frames }) => stream.write(frames.text('hello').subarray(0, -2)),
  'while it is paused': (_peer, life) => life.end.pause(),
  'and it stays paused': (_peer, life) => life.end.pause(),
  'amid a long write'({ stream }, life) {
    stream.pause();
    // More than the systems hold; all streams of a session of HTTP/2 may hold 10 MB together.
    life.send(Buffer.alloc(stream.session === undefined ? 8_000_000 : 1_000_000), { compress: false });
  },
  'while it compresses'(_peer, life) {
    for (let i = 0; i < 3; i++) life.send(json(4000), { compress: true });
  },
  'while it sends without end': (_peer, life) => life.sendOn(false),
  'while it compresses without end': (_peer, life) => life.sendOn(true),
  'while it closes': (_peer, life) => life.end.close(1000)
};

/** Cells that can't occur: a Close frame amid a frame is its payload; a time would tell the code. */
const EXCLUDED = {
  'amid a frame': ['a Close frame and a FIN', 'a Close frame alone'],
  // A pause holds back what has been sent, and the end of it.
  'and it stays paused': ['a FIN', 'a Close frame and a FIN', 'a Close frame alone'],
  'while it closes': ['a Close frame alone']
};

function reset(stream) {
  if (stream.session !== undefined) stream.close(http2.constants.NGHTTP2_CANCEL);
  else if (stream instanceof tls.TLSSocket || stream._handle?.constructor.name !== 'TCP') stream.destroy();
  else stream.resetAndDestroy();
}

/** One connection of the table. Its end is kept by nothing but `end`. */
class Life {
  constructor(act) {
    this.events = [];
    this.opened = withResolvers();
    this.peer = withResolvers();
    this.closed = withResolvers();
    this.hasEnded = false;
    this.sent = 0;
    this.told = 0;
    this.closeTimeout = act === 'a Close frame alone' ? 20 : 20_000;
    const life = this;
    this.handlers = {
      onMessage: (data) => life.events.push(`message ${data}`),
      onError() {},
      onClose(code) {
        life.events.push(`close ${code}`);
        life.hasEnded = true;
        life.closed.resolve();
      }
    };
    const limits = { closeTimeout: this.closeTimeout, heartbeat: 60_000, maxBackpressure: Infinity };
    this.options = { ...this.handlers, ...limits };
  }

  /** An end of framemask/ws hears the same. */
  adopt(end) {
    const { onMessage, onClose } = this.handlers;
    end.on('message', onMessage).on('error', () => {});
    end.on('close', onClose);
    end._closeTimeout = this.closeTimeout;
    this.opened.resolve(end);
  }

  /** Sends each message in the callback of the one before. */
  sendOn(compress) {
    const next = (error) => error || this.hasEnded || this.send('some words. '.repeat(150), { compress }, next);
    next();
  }

  send(data, options, callback = () => {}) {
    this.sent++;
    this.end.send(data, options, (error) => {
      this.told++;
      callback(error);
    });
  }
}

const DEFLATE = { threadPoolFrom: 0 };
const optionsOfWs = { perMessageDeflate: { threshold: 0 } };

/** The ends, by how they come about: `serve` has a server make those of its `lives`. */
const SERVERS = {
  'Connection.accept'(server, lives) {
    server.on('upgrade', (request, ...rest) => {
      const life = lives.get(request.url);
      life.opened.resolve(Connection.accept(request, ...rest, life.options, { deflate: DEFLATE }));
    });
  },
  'framemask/ws server'(server, lives) {
    const wss = new WebSocketServer({ server, ...optionsOfWs });
    wss.on('connection', (end, request) => lives.get(request.url).adopt(end));
  }
};

/** Servers that answer when the peer has done something. */
const LATE = {
  'Connection.accept': (...upgrade) => Connection.accept(...upgrade, { onClose: () => assert.fail('onClose') }),
  acceptUpgrade,
  'framemask/ws server'(...upgrade) {
    new WebSocketServer({ noServer: true }).handleUpgrade(...upgrade, () => assert.fail('opened'));
    return null;
  }
};

const CLIENTS = {
  async 'Connection.connect'({ url, path, isHttp2, socketPath }, life) {
    const options = { ...life.options, deflate: DEFLATE, socketPath, rejectUnauthorized: false };
    if (isHttp2) options.createConnection = overHttp2();
    life.opened.resolve(await Connection.connect(`${url}${path}`, options));
  },
  'framemask/ws client'({ url, path, isHttp2, socketPath }, life) {
    const address = socketPath === undefined ? `${url}${path}` : `ws+unix:${socketPath}:${path}`;
    const end = new WebSocket(address, { ...optionsOfWs, http2: isHttp2, rejectUnauthorized: false });
    end.once('open', () => life.adopt(end));
  }
};

/** Has a transport's server listen. @returns {Promise<{ server: object, address: object }>} */
async function listen(t, name) {
  const server = HTTP_SERVERS[name]();
  const isPipe = name === 'pipe';
  const address = isPipe ? { path: pipePath(t) } : { port: 0, host: '127.0.0.1' };
  await once(server.listen(address), 'listening');
  return { server, address: isPipe ? address : { ...address, port: server.address().port } };
}

/** A raw peer's handshake. @returns {Promise<import('node:stream').Duplex>} when it is sent */
async function request({ connect, isHttp2 }, address, path, ends) {
  if (isHttp2) {
    const session = http2.connect(`http://127.0.0.1:${address.port}`);
    ends.push(session);
    await once(
      session.on('error', () => {}),
      'remoteSettings'
    );
    const fields = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':authority': 'localhost' };
    const headers = { ...fields, ':path': path, 'sec-websocket-version': 13, 'sec-websocket-extensions': EXTENSIONS };
    return session.request(headers, { endStream: false }).on('error', () => {});
  }
  const socket = connect(address).on('error', () => {});
  ends.push(socket);
  const [, ...fields] = HANDSHAKE;
  socket.write(head(`GET ${path} HTTP/1.1`, ...fields, `Sec-WebSocket-Extensions: ${EXTENSIONS}`));
  return socket;
}

/** Waits for the answer to a raw peer's handshake, and reads on. */
async function answered(stream) {
  if (stream.session !== undefined) await once(stream, 'response');
  else for (let text = ''; !text.includes('\r\n\r\n'); text += (await once(stream, 'data'))[0].latin1Slice());
  stream.resume();
}

/** Waits until what has been written, or has come, has had its turns. */
async function turns() {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

/** One cell of the table. @returns {Promise<WeakRef<object>>} of its end */
async function live(life, role, stream, { act, when }) {
  life.end = await life.opened.promise;
  const peer = { stream, frames: framesFor(role) };
  const [code, perform] = ACTS[act];
  await WHENS[when](peer, life);
  if (when !== 'in the read of a message') await turns();
  perform(peer);
  await turns();
  stream.resume();
  if (when === 'while it is paused') life.end.resume();
  // With the stream, not even the end is told, but to a program on the API of ws.
  const isDropped = when === 'and it stays paused' && life.end instanceof Connection;
  if (!isDropped) await life.closed.promise;
  await until(() => life.told === life.sent);
  // A reset overtakes what has been sent before it.
  const heard =
    when === 'in the read of a message' && (!isReset(act) || life.events.length > 1) ? ['message hello'] : [];
  assert.deepEqual(life.events, isDropped ? [] : [...heard, `close ${code}`]);
  if (!isDropped) assert.equal(life.end.readyState, 3);
  const held = new WeakRef(life.end);
  life.end = life.opened = null;
  return held;
}

/** In a function of its own: one that waits may keep what it has read. */
const isHeld = (ref) => ref.deref() !== undefined;

async function untilCollected(held, cells) {
  await until(() => {
    collectGarbage();
    return !held.some(isHeld);
  }).catch(() => {
    throw new Error(`kept: ${cells.filter((_, i) => isHeld(held[i])).map(({ act, when }) => `${act} ${when}`)}`);
  });
}

const ALL = Object.keys(WHENS).flatMap((when) =>
  Object.keys(ACTS)
    .filter((act) => !(EXCLUDED[when] ?? []).includes(act))
    .map((act) => ({ act, when, path: `/${when}/${act}`.replaceAll(' ', '-') }))
);

/** Runs all cells of a door on a transport, side by side. */
async function runCells(t, role, open, cells = ALL) {
  const lives = new Map(cells.map(({ path, act }) => [path, new Life(act)]));
  const { streamOf, close } = await open(lives);
  const run = async (cell) => {
    const life = lives.get(cell.path);
    try {
      return await live(life, role, await streamOf(cell.path, life), cell);
    } catch (error) {
      error.message = `${cell.act} ${cell.when}: ${error.message}`;
      throw error;
    }
  };
  const held = await Promise.all(cells.map(run));
  await close();
  lives.clear();
  await untilCollected(held, cells);
  t.pass(`${cells.length} lives`);
}

const closeServer = (server) => new Promise((resolve) => server.close(resolve));

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  // A pipe is not reset: its reader finds an end, which a pause holds back.
  const cells = ALL.filter(({ when }) => name !== 'pipe' || when !== 'and it stays paused');
  for (const [door, serve] of Object.entries(SERVERS)) {
    t.test(`${door}, ${name}`, (t) =>
      runCells(
        t,
        'server',
        async (lives) => {
          const { server, address } = await listen(t, name);
          serve(server, lives);
          const ends = [];
          const streamOf = async (path) => {
            const stream = await request(transport, address, path, ends);
            await answered(stream);
            return stream;
          };
          const close = async () => {
            for (const end of ends) end.destroy();
            await closeServer(server);
          };
          return { streamOf, close };
        },
        cells
      )
    );
  }

  for (const [door, connect] of Object.entries(CLIENTS)) {
    t.test(`${door}, ${name}`, (t) =>
      runCells(
        t,
        'client',
        async (lives) => {
          const { server, address } = await listen(t, name);
          const ends = [];
          server.on('upgrade', (request, socket, head) => {
            ends.push(socket.on('error', () => {}));
            acceptUpgrade(request, socket, head, { deflate: true });
            lives.get(request.url).peer.resolve(socket.resume());
          });
          const { scheme = 'ws', isHttp2 = false } = transport;
          const url = address.port === undefined ? 'ws://localhost' : `${scheme}://127.0.0.1:${address.port}`;
          const streamOf = async (path, life) => {
            await connect({ url, path, isHttp2, socketPath: address.path }, life);
            return life.peer.promise;
          };
          const close = async () => {
            for (const end of ends) end.destroy();
            await closeServer(server);
          };
          return { streamOf, close };
        },
        cells
      )
    );
  }

  // A peer that is gone before the door opens, such as during a login.
  for (const [door, answer] of Object.entries(LATE)) {
    for (const act of ['a FIN', 'a reset']) {
      t.test(`${act} before ${door} answers, ${name}`, async (t) => {
        const { server, address } = await listen(t, name);
        const upgraded = once(server, 'upgrade');
        const ends = [];
        const stream = await request(transport, address, '/', ends);
        const upgrade = await upgraded;
        const [, socket] = upgrade;
        const gone = new Promise((resolve) => socket.once('close', resolve));
        socket.on('error', () => {});
        ACTS[act][1]({ stream });
        // Node.js reads the end of a socket that nobody reads.
        await until(() => socket.readable === false || socket.destroyed);
        t.equal(answer(...upgrade), null);
        await gone;
        for (const end of ends) end.destroy();
        await closeServer(server);
      });
    }
  }
}

for (const emitClose of [true, false]) {
  for (const role of ['server', 'client']) {
    t.test(`new Connection, memory, ${emitClose ? '' : "without 'close', "}${role}`, (t) =>
      runCells(t, role, async () => ({
        streamOf: async (_path, life) => {
          const [stream, other] = memoryPair({ emitClose });
          life.opened.resolve(new Connection(stream, role, life.options));
          return other.on('error', () => {}).resume();
        },
        close() {}
      }))
    );
  }
}
