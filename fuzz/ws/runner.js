'use strict';

// Runs a program of fuzz/ws.js under an implementation, step by step: each begins when what the one
// before has caused is over.

const { Endpoint, Thrown } = require('./endpoint');
const { isLayered } = require('./generator');
const { RawPeer } = require('./raw-peer');
const { Logs, describeError } = require('./recorder');
const { isZlibBusy } = require('./deterministic');

/**
 * So many turns of the event loop without a change mean rest. TLS and HTTP/2 have turns of their
 * own.
 */
const QUIET_TURNS = 4;
const QUIET_TURNS_LAYERED = 8;
const PATIENCE = 3000;

/** Functions for the option `generateMask`. */
const MASKS = {
  zero: () => (mask) => mask.fill(0),
  same: () => (mask) => mask.set([1, 2, 3, 255]),
  count() {
    let count = 0;
    return (mask) => mask.writeUInt32LE(Math.imul(++count, 0x9e3779b1) >>> 0);
  }
};

let serial = 0;
/** Those that run now. */
const running = new Set();

// An exception that nobody has caught belongs to one of them; alone, it is clear to which.
process.on('uncaughtException', (error) => {
  if (error instanceof Thrown) return;
  if (running.size === 0) throw error;
  for (const { logs } of running) logs.add('process.exceptions', describeError(error));
});

/** The bytes that an end has read; of HTTP/2, those that the server's session read and wrote. */
function bytesOf({ bytesRead, session }) {
  const { bytesRead: read = 0, bytesWritten: written = 0 } = session?.socket ?? {};
  return bytesRead ?? read + written;
}

class Run {
  #program;
  #transports;
  /** @type {Record<'server' | 'client', typeof import('ws')>} */
  #modules = {};
  #throws;
  #path = `/${serial++}`;
  #links = [];
  /** @type {Record<'server' | 'client', Endpoint | RawPeer>} */
  #ends = {};
  #server = null;
  /** Whether it ever waited in vain. */
  stuck = false;

  constructor(program, transports, implementation, other) {
    this.#program = program;
    this.#transports = transports;
    for (const role of ['server', 'client'])
      this.#modules[role] = program.tested.includes(role) ? implementation : other;
    // A connection of ws hangs for good when a listener throws. What the implementation under test
    // does then is compared with what ws does when nothing is thrown.
    this.#throws = implementation !== other;
    this.logs = new Logs(program.stalls ? ['server.callbacks', 'client.callbacks'] : []);
  }

  async execute() {
    const { steps } = this.#program;
    running.add(this);
    try {
      await this.#open();
      for (let i = 0; i < steps.length; i++) {
        this.logs.begin(`step ${i}`);
        for (const { side, ops } of steps[i]) await this.#ends[side]?.perform(ops, () => this.#rest());
        await this.#rest();
      }
      await this.#finish();
    } finally {
      running.delete(this);
      this.#transports.upgrades.delete(this.#path);
    }
  }

  /** The bytes of the raw peer after its handshake; null without one. */
  get sent() {
    const peer = Object.values(this.#ends).find((end) => end instanceof RawPeer);
    return peer === undefined ? null : Buffer.concat(peer.sent);
  }

  async #open() {
    const { kind, transport, slow, sides } = this.#program;
    const { upgrades, connect } = this.#transports;
    upgrades.set(this.#path, (request, socket, head) => {
      if (slow) socket.slow = true;
      this.#links.push({ from: near, to: socket }, { from: socket, to: near });
      if (kind === 'client') {
        this.#rawPeer('server', socket).respond(request);
        return;
      }
      this.#server = new this.#modules.server.WebSocketServer({ ...sides.server.options, noServer: true });
      this.#server.handleUpgrade(request, socket, head, (ws) => this.#endpoint('server', ws, socket));
    });
    const near = connect(transport);
    if (slow) near.slow = true;
    if (kind === 'server') {
      this.#rawPeer('client', near).request(this.#path);
    } else {
      const options = { ...sides.client.options, createConnection: () => near };
      if (options.generateMask !== undefined) options.generateMask = MASKS[options.generateMask]();
      this.#endpoint('client', new this.#modules.client.WebSocket(`ws://localhost${this.#path}`, options), near);
    }
    await this.#rest();
  }

  #endpoint(role, ws, socket) {
    const { sides, showsAmounts, tested } = this.#program;
    this.#ends[role] = new Endpoint(ws, socket, {
      side: sides[role],
      throws: this.#throws && tested.includes(role),
      createWebSocketStream: this.#modules[role].createWebSocketStream,
      showsAmounts,
      add: (channel, line) => this.logs.add(`${role}.${channel}`, line)
    });
  }

  #rawPeer(role, socket) {
    this.#ends[role] = new RawPeer(socket, role, this.#program, (line) => this.logs.add(`${role}.wire`, line));
    return this.#ends[role];
  }

  /** Whether bytes, or the end of a stream, are on their way to one who reads. */
  #isTravelling({ from, to }) {
    if (to.destroyed || to.readableEnded || to.isPaused()) return false;
    // A stream of HTTP/2 does not count its bytes.
    const isWaiting = from.bytesWritten === undefined && from.writableLength > 0;
    return isWaiting || from.bytesWritten > to.bytesRead || from.writableFinished || from.destroyed;
  }

  /** Waits until nothing happens any more. */
  async #rest() {
    let seen = -1;
    let quiet = 0;
    let until = performance.now() + PATIENCE;
    const turns = isLayered(this.#program.transport) ? QUIET_TURNS_LAYERED : QUIET_TURNS;
    while (quiet < turns) {
      await new Promise(setImmediate);
      let now = this.logs.count;
      for (const { to } of this.#links) now += bytesOf(to);
      if (now !== seen) {
        seen = now;
        quiet = 0;
        until = performance.now() + PATIENCE;
      } else if (isZlibBusy() || this.#links.length === 0 || this.#links.some(this.#isTravelling)) {
        quiet = 0;
        if (performance.now() > until) {
          this.stuck = true;
          return;
        }
        // Leaves the processor to the others.
        await new Promise((resolve) => setTimeout(resolve, 1));
      } else quiet++;
    }
  }

  /** Ends what the program has left open. */
  async #finish() {
    this.logs.begin('end');
    // What waits for a peer that has stopped reading arrives.
    if (this.#program.stalls) {
      for (const end of Object.values(this.#ends)) if (end instanceof RawPeer) end.socket.resume();
      await this.#rest();
    }
    for (const role of ['client', 'server']) {
      const end = this.#ends[role];
      if (end instanceof RawPeer) end.socket.destroy();
      else if (end !== undefined && end.ws.readyState !== 3) end.ws.terminate();
      await this.#rest();
    }
    for (const [role, end] of Object.entries(this.#ends)) {
      if (!(end instanceof Endpoint)) continue;
      const { readyState, protocol, extensions, bufferedAmount } = end.ws;
      const mayLeaveBytes = this.#program.large || this.#program.stalls || end.hasSentBlob;
      const amount = mayLeaveBytes ? '' : `, ${bufferedAmount} buffered`;
      this.logs.add(`${role}.events`, `in the end [${readyState}] ${protocol} ${extensions}${amount}`);
      await end.check();
    }
    if (this.#server === null) return;
    this.logs.add('server.events', `${this.#server.clients?.size} clients`);
    this.#server.close(() => this.logs.add('server.events', 'server closed'));
    await this.#rest();
  }
}

/**
 * @param {import('./generator').Program} program
 * @param {object} transports of `openTransports`
 * @param {typeof import('ws')} implementation of the endpoints that are tested
 * @param {typeof import('ws')} other that of the others
 */
async function runProgram(program, transports, implementation, other) {
  const run = new Run(program, transports, implementation, other);
  await run.execute();
  return { logs: run.logs.channels, stuck: run.stuck, sent: run.sent };
}

module.exports = { runProgram };
