'use strict';

// Connections of which one end reads by readInto, for test/sockets: with events, and with shared
// reads.

const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const tls = require('node:tls');
const { Decoder, Encoder, acceptUpgrade } = require('../../index.js');
const { readInto } = require('./read-into');
const { isShared } = require('../../lib/sockets/shared-reads');
const certificate = require('./certificate');
const { HANDSHAKE, head } = require('./frames');
const { pipePath } = require('./pipe-path');
const { until, withResolvers } = require('./promises');
const { record } = require('./recorder');

/** Bun and Deno have a net.Socket of their own, which reads by events. */
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

/** Makes a client's end of an HTTP connection one of a WebSocket. */
async function shakeHands(client) {
  client.write(head(...HANDSHAKE));
  let answer = '';
  while (!answer.endsWith('\r\n\r\n')) answer += (await once(client, 'data'))[0].latin1Slice();
  client.pause();
  client.removeAllListeners('data');
  return client;
}

const connectPlain = (address, options) => net.connect({ ...address, ...options });

/**
 * How sockets come about. `createServer` makes a server that calls `accept` with each of its
 * sockets, `connect` a client's end.
 */
const TRANSPORTS = {
  tcp: { createServer: (accept, options) => net.createServer(options, accept), connect: connectPlain },
  http: {
    createServer: (accept, options) =>
      http.createServer(options).on('upgrade', (request, socket, head) => {
        acceptUpgrade(request, socket, head);
        accept(socket);
      }),
    connect: connectPlain,
    opened: shakeHands
  },
  tls: {
    createServer: (accept, options) => tls.createServer({ ...certificate, ...options }, accept),
    connect: (address, options) => tls.connect({ ...address, ...options, rejectUnauthorized: false }),
    ready: 'secureConnect'
  },
  pipe: { createServer: (accept, options) => net.createServer(options, accept), connect: connectPlain, isPipe: true }
};

const ALL = Object.keys(TRANSPORTS);

/** The ways to read. */
const KINDS = ['events', 'shared'];

/** A test is given one: it connects, and reads in one of the ways. */
class Reads {
  constructor(t, name, kind) {
    this.t = t;
    this.kind = kind;
    this.name = name;
    this.transport = TRANSPORTS[name];
    this.borrowed = kind !== 'events';
    /** The memory of the chunks that Decoders were lent, if the sockets are read into it. */
    this.memories = new Set();
    /** How many such chunks were lent. */
    this.lent = 0;
  }

  /** @returns {Promise<object>} a server that listens, and the address of it */
  async listen(accept, options = {}) {
    const server = this.transport.createServer(accept, options);
    const address = this.transport.isPipe ? { path: pipePath(this.t) } : { port: 0, host: '127.0.0.1' };
    server.listen(address);
    await once(server, 'listening');
    this.t.teardown(() => {
      server.close();
    });
    if (!this.transport.isPipe) address.port = server.address().port;
    return { server, address };
  }

  /** @returns {Promise<net.Socket>} a client's end of a new connection */
  async openClient(address, options) {
    const client = this.transport.connect(address, options);
    client.on('error', () => {});
    this.t.teardown(() => client.destroy());
    await once(client, this.transport.ready ?? 'connect');
    return this.transport.opened?.(client) ?? client;
  }

  /** @returns {Promise<object>} both ends of a connection; the test reads from `socket` */
  async connect({ server: serverOptions, client: clientOptions } = {}) {
    const { promise: accepted, resolve: accept } = withResolvers();
    const { server, address } = await this.listen(accept, serverOptions);
    const [socket, client] = await Promise.all([accepted, this.openClient(address, clientOptions)]);
    this.t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    return { server, address, socket, client };
  }

  /** Reads a socket into a Decoder that records events. Options: the Decoder's, and `record`'s. */
  readInto(socket, { afterRead = () => {}, ...options } = {}) {
    const { promise: ponged, resolve: onPong } = withResolvers();
    const recorded = record(Decoder, { role: 'server', borrowed: this.borrowed, onPong, ...options });
    const { decoder } = recorded;
    const { _writeBorrowed } = decoder;
    decoder._writeBorrowed = (chunk, length) => {
      if (isShared(chunk)) {
        this.memories.add(chunk.buffer);
        this.lent++;
      }
      return _writeBorrowed.call(decoder, chunk, length);
    };
    const reads = readInto(socket, decoder, afterRead);
    const expected = isNode ? this.kind : 'events';
    if (reads !== expected) this.t.fail(`readInto returned ${reads}`);
    /** Has the first chunk read, which does not lie in shared memory. It is a Pong frame. */
    async function begin(client) {
      client.write(Buffer.from('8a8000000000', 'hex'));
      await ponged;
    }
    return { ...recorded, begin };
  }

  /**
   * A connection that is read, from which something was read. `receive` sends messages, and waits
   * until they have been delivered.
   */
  async open({ server, client: clientOptions, ...options } = {}) {
    const ends = await this.connect({ server, client: clientOptions });
    const recorded = this.readInto(ends.socket, options);
    await recorded.begin(ends.client);
    const { events } = recorded;
    const receive = (...messages) => {
      const due = events.length + messages.length;
      ends.client.write(frames(...messages));
      return until(() => events.length === due);
    };
    return { ...ends, ...recorded, receive };
  }

  /** Checks that chunks were lent from one piece of memory. */
  checkShared(atLeast = 1) {
    if (!this.borrowed || !isNode) return;
    this.t.ok(this.lent >= atLeast, `${this.lent} chunks were lent, of at least ${atLeast}`);
    this.t.equal(this.memories.size, 1, 'reads went into one piece of memory');
  }
}

/**
 * A test that runs with each way to read, on each transport, and must see the same.
 *
 * @param {string[]} [transports] may be left out
 * @param {(reads: Reads) => Promise<*>} body returns what it saw
 */
function compareReads(t, title, ...rest) {
  const [body, transports = ALL] = rest.reverse();
  t.test(title, async (t) => {
    for (const name of transports) {
      await t.test(name, async (t) => {
        const seen = {};
        for (const kind of KINDS) {
          await t.test(kind, async (t) => {
            seen[kind] = await body(new Reads(t, name, kind));
            t.not(seen[kind], undefined, 'something was seen');
          });
          t.same(seen[kind], seen.events, `${kind} reads do what events do`);
        }
      });
    }
  });
}

/** @returns {Buffer} masked frames: strings become text frames, Buffers binary frames */
function frames(...messages) {
  const encoder = new Encoder({ role: 'client' });
  for (const message of messages) {
    if (typeof message === 'string') encoder.text(message);
    else encoder.binary(message);
  }
  return Buffer.concat(encoder.take());
}

module.exports = {
  KINDS,
  Reads,
  compareReads,
  frames,
  isNode,
  isShared,
  until
};
