'use strict';

const { once, setMaxListeners } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { HANDSHAKE, head } = require('../frames');

/** What is kept of a server's answers: enough for a Close frame. */
const KEPT = 256;
/** Milliseconds between the connections of an attack that is repeated. */
const BETWEEN = 10;

/** Runs an attack of attacks.js on a server: many connections at once, once or repeatedly. */
class Attacker {
  /**
   * @param {object} options
   * @param {number} options.port
   * @param {number} options.connections how many at once
   * @param {number} [options.bytes] the most that a connection sends in a flood
   * @param {number} [options.patience] milliseconds after which a flood ends that the server does
   *   not read
   * @param {number} [options.interval] milliseconds between the bytes of a slow connection
   * @param {boolean} [options.repeat] whether to begin again, until `stop`, when a connection is
   *   over
   */
  constructor({ port, connections, bytes = Infinity, patience = 2 ** 31 - 1, interval = 1000, repeat = false }) {
    Object.assign(this, { port, connections, bytes, patience, interval, repeat });
    this.stopping = new AbortController();
    setMaxListeners(0, this.stopping.signal); // one for each connection that sleeps
    this.sockets = new Set();
    /** How many connections were opened, and the last bytes that each one got. */
    this.opened = 0;
    this.answers = [];
  }

  /** @param {{ run: (attacker: Attacker, index: number) => Promise<void> }} attack */
  async run(attack) {
    await Promise.all(
      Array.from({ length: this.connections }, async (_, index) => {
        do {
          await attack.run(this, index);
          if (this.repeat) await this.sleep(BETWEEN);
        } while (this.repeat && !this.stopped);
      })
    );
  }

  get stopped() {
    return this.stopping.signal.aborted;
  }

  /** Ends all connections; `run` then ends too. */
  stop() {
    this.stopping.abort();
    for (const socket of this.sockets) socket.destroy();
  }

  /** Opens a connection, and forgets what it reads. If it fails, the socket is destroyed. */
  async connect() {
    const socket = net.connect(this.port, '127.0.0.1').on('error', () => {});
    this.opened++;
    const at = this.answers.push(Buffer.alloc(0)) - 1;
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      this.answers[at] = Buffer.concat([this.answers[at], chunk.subarray(-KEPT)]).subarray(-KEPT);
    });
    if (this.stopped) socket.destroy();
    await Promise.race([once(socket, 'connect').catch(() => {}), closed(socket)]);
    return socket;
  }

  /** Opens a connection, sends a handshake, and waits for the answer. */
  async open(lines = HANDSHAKE) {
    const socket = await this.connect();
    if (socket.destroyed) return socket;
    socket.write(head(...lines), 'latin1');
    await Promise.race([once(socket, 'data').catch(() => {}), closed(socket)]);
    return socket;
  }

  /**
   * @returns {Promise<boolean>} whether the system took the bytes before the connection or
   *   `patience` was over
   */
  async send(socket, bytes) {
    if (!socket.writable) return false;
    if (socket.write(bytes)) return true;
    return new Promise((resolve) => {
      const end = (taken) => {
        clearTimeout(timer);
        socket.off('drain', onDrain).off('close', onClose);
        resolve(taken);
      };
      const onDrain = () => end(true);
      const onClose = () => end(false);
      const timer = setTimeout(end, this.patience, false);
      socket.on('drain', onDrain).on('close', onClose);
    });
  }

  /** Sends a block again and again, until the server ends the connection or reads no more. */
  async flood(socket, block) {
    for (let sent = 0; sent < this.bytes && socket.writable; sent += block.length) {
      if (!(await this.send(socket, block))) return;
    }
    // A connection that has sent all is not followed by another that fills the memory further.
    if (this.repeat) await closed(socket);
  }

  /** Waits until the connection is over. */
  hold(socket) {
    return closed(socket);
  }

  /** Waits; ends early at `stop`. */
  async sleep(milliseconds) {
    await sleep(milliseconds, undefined, { signal: this.stopping.signal, ref: false }).catch(() => {});
  }
}

/** @returns {Promise<void>} when the connection is over */
function closed(socket) {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}

module.exports = { Attacker };
