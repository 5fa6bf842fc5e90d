'use strict';

// The connections of fuzz/ws.js: TCP, TLS and Unix sockets on loopback, streams of HTTP/2, and a
// pipe in memory, whose chunks are the same in every run. The servers are opened once and serve all
// programs; the path of a request names its program.

const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Duplex } = require('node:stream');
const tls = require('node:tls');
const { acceptHttp2, overHttp2 } = require('../..');
const certificate = require('../../test/support/certificate');

const CHUNK = 65536;

/**
 * One end of a pipe. What is written in one turn arrives in the next, joined as a kernel joins it,
 * in chunks of 64 KiB; with `apart`, each write arrives as a chunk of its own.
 */
class PipeEnd extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;
  /** Whether a write is done when the peer has it; otherwise, at once. */
  slow = false;
  apart = false;
  #queue = [];
  /** The callback of the write that is read, if it is slow. */
  #done = null;
  #ended = false;
  #wants = false;
  #scheduled = false;

  constructor(peer = null) {
    super({ allowHalfOpen: true });
    this.peer = peer;
  }

  _writev(chunks, callback) {
    const { peer } = this;
    for (const { chunk } of chunks) {
      this.bytesWritten += chunk.length;
      // A copy: after its callback, the writer may use the memory again.
      peer.#queue.push(Buffer.from(chunk));
    }
    peer.#schedule();
    if (this.slow && !peer.destroyed) peer.#done = callback;
    else callback();
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.destroyed) this.#queue = [];
      else if (this.#wants && this.#queue.length > 0) this.#take();
      else if (this.#wants && this.#ended) this.push(null);
      if (this.#queue.length === 0) this.#finish();
    });
  }

  #take() {
    let chunks = this.#queue;
    this.#queue = [];
    if (!this.apart) {
      const all = Buffer.concat(chunks);
      chunks = [all.subarray(0, CHUNK)];
      if (all.length > CHUNK) this.#queue = [all.subarray(CHUNK)];
    }
    try {
      while (chunks.length > 0) {
        const chunk = chunks.shift();
        this.bytesRead += chunk.length;
        this.#wants = this.push(chunk);
      }
    } finally {
      // A socket goes on, too, when a listener has thrown.
      this.#queue.unshift(...chunks);
      this.#schedule();
    }
  }

  #finish() {
    const done = this.#done;
    this.#done = null;
    done?.();
  }

  _read() {
    this.#wants = true;
    if (this.#queue.length > 0 || this.#ended) this.#schedule();
  }

  #end() {
    if (this.#ended) return;
    this.#ended = true;
    this.#schedule();
  }

  _final(callback) {
    this.peer.#end();
    callback();
  }

  _destroy(error, callback) {
    this.peer.#end();
    this.#schedule();
    callback(error);
  }
}

/** A stream of a session of its own: an exception in one program must not end that of another. */
function connectHttp2({ host, port }) {
  const session = http2.connect(`http://${host}:${port}`);
  session.on('error', () => {});
  return overHttp2(session)({}).once('close', () => session.close());
}

/**
 * Opens HTTP servers: `upgrades` has the listener of each path. `connect` makes a connection to the
 * server of a kind.
 */
async function openTransports() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fuzz-ws-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true }));
  const upgrades = new Map();
  const servers = {
    memory: http.createServer(),
    tcp: http.createServer(),
    tls: https.createServer({ ...certificate, maxVersion: 'TLSv1.2' }),
    unix: http.createServer(),
    http2: acceptHttp2(http2.createServer())
  };
  for (const [kind, server] of Object.entries(servers)) {
    server.on('upgrade', (request, socket, head) => upgrades.get(request.url)(request, socket, head));
    if (kind === 'memory') continue;
    server.listen(kind === 'unix' ? { path: path.join(folder, 'socket') } : { host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
  }

  return {
    upgrades,
    connect(kind) {
      if (kind === 'memory') {
        const near = new PipeEnd();
        near.peer = new PipeEnd(near);
        servers.memory.emit('connection', near.peer);
        return near;
      }
      const bound = servers[kind].address();
      const address = kind === 'unix' ? { path: bound } : { host: bound.address, port: bound.port };
      if (kind === 'http2') return connectHttp2(address);
      if (kind === 'tls') return tls.connect({ ...address, rejectUnauthorized: false });
      return net.connect({ ...address, noDelay: true });
    }
  };
}

module.exports = { PipeEnd, openTransports };
