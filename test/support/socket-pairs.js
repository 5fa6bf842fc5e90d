'use strict';

// Connections of which one end reads by readInto, for test/sockets: with events, with shared reads,
// and with batched reads.

const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const tls = require('node:tls');
const { Decoder, Encoder, acceptUpgrade, readInto } = require('../../index.js');
const { canBatch } = require('../../lib/sockets/rounds');
const { isShared } = require('../../lib/sockets/shared-reads');
const certificate = require('./certificate');
const { HANDSHAKE: LINES, head } = require('./frames');
const { pipePath } = require('./pipe-path');
const { until } = require('./promises');
const { record } = require('./recorder');

/** Bun and Deno have a net.Socket of their own, which reads by events. */
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

const HANDSHAKE = head(...LINES);

/** Makes a client's end of an HTTP connection one of a WebSocket. */
async function shakeHands(client) {
  client.write(HANDSHAKE);
  let answer = '';
  while (!answer.endsWith('\r\n\r\n')) answer += (await once(client, 'data'))[0].latin1Slice();
  client.pause();
  client.removeAllListeners('data');
  return client;
}

/**
 * How sockets come about. `createServer` makes a server that calls `accept` with each of its
 * sockets, `connect` a client's end.
 */
const TRANSPORTS = {
  tcp: {
    createServer: (accept, options) => net.createServer(options, accept),
    connect: (address, options) => net.connect({ ...address, ...options })
  },
  http: {
    createServer: (accept, options) =>
      http.createServer(options).on('upgrade', (request, socket, head) => {
        acceptUpgrade(request, socket, head);
        accept(socket);
      }),
    connect: (address, options) => net.connect({ ...address, ...options }),
    opened: shakeHands
  },
  tls: {
    createServer: (accept, options) => tls.createServer({ ...certificate, ...options }, accept),
    connect: (address, options) => tls.connect({ ...address, ...options, rejectUnauthorized: false }),
    ready: 'secureConnect'
  },
  pipe: {
    createServer: (accept, options) => net.createServer(options, accept),
    connect: (address, options) => net.connect({ ...address, ...options }),
    isPipe: true
  }
};

const ALL = Object.keys(TRANSPORTS);

/** The ways to read. The last needs an addon. */
const KINDS = canBatch() ? ['events', 'shared', 'batched'] : ['events', 'shared'];

/** A test is given one: it connects, and reads in one of the ways. */
class Reads {
  constructor(t, name, kind) {
    const borrowed = kind !== 'events';
    this.t = t;
    // TLS and pipes share reads then.
    this.kind = kind === 'batched' && !['tcp', 'http'].includes(name) ? 'shared' : kind;
    this.batched = kind === 'batched';
    this.name = name;
    this.transport = TRANSPORTS[name];
    this.borrowed = borrowed;
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
  async open(address, options) {
    const client = this.transport.connect(address, options);
    client.on('error', () => {});
    this.t.teardown(() => client.destroy());
    await once(client, this.transport.ready ?? 'connect');
    return this.transport.opened?.(client) ?? client;
  }

  /**
   * @param {object} [options]
   * @param {object} [options.server] options of the server
   * @param {object} [options.client] options of the client
   * @returns {Promise<{ server: object, socket: net.Socket, client: net.Socket }>} both ends of a
   *   connection; the test reads from `socket`
   */
  async connect({ server: serverOptions, client: clientOptions } = {}) {
    let accept;
    const accepted = new Promise((resolve) => {
      accept = resolve;
    });
    const { server, address } = await this.listen(accept, serverOptions);
    const [socket, client] = await Promise.all([accepted, this.open(address, clientOptions)]);
    this.t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    return { server, address, socket, client };
  }

  /**
   * Reads a socket into a Decoder that records its events.
   *
   * @param {net.Socket} socket
   * @param {object} [options] of the Decoder, and of `record`
   * @returns {{ decoder: Decoder, events: Array[], intact: () => boolean, begin: Function }}
   */
  readInto(socket, { afterRead = () => {}, ...options } = {}) {
    let onPong;
    const ponged = new Promise((resolve) => {
      onPong = resolve;
    });
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
    const reads = readInto(socket, decoder, afterRead, { batched: this.batched });
    const expected = isNode ? this.kind : 'events';
    if (reads !== expected) this.t.fail(`readInto returned ${reads}`);
    /** Has the first chunk read, which does not lie in shared memory. It is a Pong frame. */
    async function begin(client) {
      client.write(Buffer.from('8a8000000000', 'hex'));
      await ponged;
    }
    return { ...recorded, begin };
  }

  /** Checks that chunks were lent from one piece of memory. */
  checkShared(atLeast = 1) {
    if (!this.borrowed || !isNode) return;
    this.t.ok(this.lent >= atLeast, `${this.lent} chunks were lent, of at least ${atLeast}`);
    // A socket joins the rounds, which have memory of their own, after a shared read.
    const pieces = this.kind === 'batched' ? 2 : 1;
    const { size } = this.memories;
    this.t.ok(size >= 1 && size <= pieces, `reads went into ${size} pieces of memory`);
  }
}

/**
 * A test that runs with each way to read, on each transport, and must see the same.
 *
 * @param {import('tap').Test} t
 * @param {string} title
 * @param {{ transports?: string[] }} options maybe left out
 * @param {(reads: Reads) => Promise<*>} body returns what it saw
 */
function compareReads(t, title, ...rest) {
  const [body, { transports = ALL } = {}] = rest.reverse();
  t.test(title, async (t) => {
    for (const name of transports) {
      await t.test(name, async (t) => {
        const seen = {};
        for (const kind of KINDS) {
          await t.test(kind, async (t) => {
            seen[kind] = await body(new Reads(t, name, kind));
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
  HANDSHAKE,
  KINDS,
  Reads,
  compareReads,
  frames,
  isNode,
  isShared,
  until
};
