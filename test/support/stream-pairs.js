'use strict';

// Both ends of a connection, for test/connection: each of a transport that a Connection takes.

const { once } = require('node:events');
const http2 = require('node:http2');
const net = require('node:net');
const { Duplex } = require('node:stream');
const tls = require('node:tls');
const { Connection } = require('../../index.js');
const { Decoder } = require('../../index.js');
const certificate = require('./certificate');
const { framesFor } = require('./frames');
const { pipePath } = require('./pipe-path');
const { until, withResolvers } = require('./promises');

/** One end of a pair in memory. It delivers within `write`. */
class MemoryStream extends Duplex {
  constructor(options) {
    super(options);
    this.peer = null;
    this._done = null;
  }

  _write(chunk, _encoding, done) {
    if (this.peer.push(chunk)) done();
    else this._done = done;
  }

  _read() {
    const { peer } = this;
    const done = peer._done;
    peer._done = null;
    done?.();
  }

  _final(done) {
    this.peer.push(null);
    done();
  }

  _destroy(error, done) {
    // A write that waits for its reader is over, as a socket's is.
    this._done?.(new Error('The stream was destroyed'));
    this._done = null;
    if (!this.peer.destroyed && !this.writableFinished) process.nextTick(() => this.peer.destroy());
    done(error);
  }
}

function memoryPair(options) {
  const ends = [new MemoryStream(options), new MemoryStream(options)];
  ends[0].peer = ends[1];
  ends[1].peer = ends[0];
  return ends;
}

/** Has a server listen, and connects to it. */
async function connectTo(t, server, event, connect, path) {
  const accepted = once(server, event);
  await once(server.listen(path ?? { port: 0, host: '127.0.0.1' }), 'listening');
  const client = connect(path ?? { port: server.address().port, host: '127.0.0.1' });
  t.teardown(() => server.close());
  const [stream] = await accepted;
  return [stream, await client];
}

/** @type {Record<string, (t: object) => Promise<[server: Duplex, client: Duplex]>>} */
const TRANSPORTS = {
  TCP: (t) =>
    connectTo(t, net.createServer({ allowHalfOpen: true }), 'connection', (address) =>
      net.connect({ ...address, allowHalfOpen: true })
    ),
  TLS: (t) =>
    connectTo(t, tls.createServer({ ...certificate, allowHalfOpen: true }), 'secureConnection', (address) =>
      tls.connect({ ...address, allowHalfOpen: true, rejectUnauthorized: false })
    ),
  pipe: (t) =>
    connectTo(
      t,
      net.createServer({ allowHalfOpen: true }),
      'connection',
      (path) => net.connect({ path, allowHalfOpen: true }),
      pipePath(t)
    ),
  'HTTP/2': async (t) => {
    const server = http2.createServer({ settings: { enableConnectProtocol: true } });
    const connect = async ({ port }) => {
      const session = http2.connect(`http://127.0.0.1:${port}`);
      t.teardown(() => session.destroy());
      await once(session, 'remoteSettings');
      const head = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':path': '/' };
      const stream = session.request({ ...head, ':authority': 'localhost' }, { endStream: false });
      await once(stream, 'response');
      return stream;
    };
    server.on('stream', (stream) => stream.respond({ ':status': 200 }));
    return connectTo(t, server, 'stream', connect);
  },
  memory: async () => memoryPair()
};

/** @returns {Promise<[end: Duplex, peer: Duplex]>} a transport's ends; the first has the role */
async function openPair(t, transport, role) {
  const ends = await TRANSPORTS[transport](t);
  for (const end of ends) t.teardown(() => end.destroy());
  return role === 'server' ? ends : ends.reverse();
}

/** A peer that is no Connection: it writes bytes, and keeps the frames that come. */
class Peer {
  constructor(stream, role) {
    this.stream = stream;
    /** Makes the frames that the other end reads. */
    this.frames = framesFor(role);
    /**
     * What has come, such as `['text', 'Hello']`; the last ones are `['close', code, reason]` and
     * `['end']`.
     */
    this.events = [];
    const note = (name) => (data) => this.events.push([name, String(data)]);
    this.decoder = new Decoder({
      role: role === 'server' ? 'client' : 'server',
      onMessage: (data, isBinary) => this.events.push([isBinary ? 'binary' : 'text', String(data)]),
      onPing: note('ping'),
      onPong: note('pong'),
      onClose: (code, reason) => this.events.push(['close', code, reason])
    });
    stream.on('error', () => {});
    stream.on('data', (chunk) => this.decoder.write(Buffer.from(chunk)));
    stream.on('end', () => this.events.push(['end']));
  }

  write(...frames) {
    this.stream.write(Buffer.concat(frames));
  }

  /** @returns {Promise<unknown[][]>} the first events, when so many have come */
  async until(count) {
    await until(() => this.events.length >= count);
    return this.events.slice(0, count);
  }
}

/**
 * A Connection with a raw peer. `events` has what its handlers were called with, of those that are
 * not given; `closed` resolves with all of it.
 */
async function openRaw(t, transport, role, options = {}, own = {}) {
  const [stream, other] = await openPair(t, transport, role);
  const events = [];
  const { promise: closed, resolve } = withResolvers();
  const note = (name) => (data) => events.push([name, typeof data === 'object' ? String(data) : data]);
  const connection = new Connection(
    stream,
    role,
    {
      onMessage: note('message'),
      onPing: note('ping'),
      onPong: note('pong'),
      onDrain: () => events.push(['drain']),
      onError: (error) => events.push(['error', error.code]),
      ...options,
      onClose(code, reason) {
        options.onClose?.call(this, code, reason);
        events.push(['close', code, reason]);
        resolve(events);
      }
    },
    own
  );
  return { connection, events, closed, stream, peer: new Peer(other, role) };
}

/** A test for each transport, and both roles. */
function forEachEnd(t, title, body, transports = Object.keys(TRANSPORTS)) {
  for (const transport of transports) {
    for (const role of ['server', 'client']) {
      t.test(`${title}: ${transport}, ${role}`, (t) =>
        body(t, (options, own) => openRaw(t, transport, role, options, own), role, transport)
      );
    }
  }
}

module.exports = { MemoryStream, Peer, TRANSPORTS, forEachEnd, memoryPair, openPair, openRaw };
