'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

/** @typedef {import('./server').State} State */

/** A server in a process of its own. */
class Target {
  /**
   * @param {'framemask' | 'framemask/ws' | 'ws'} library
   * @param {{ options?: object, env?: object }} [how] the options of the server, and environment
   *   variables for it
   * @returns {Promise<Target>} when it listens
   */
  static async start(library, { options = {}, env = {} } = {}) {
    const child = fork(path.join(__dirname, 'server.js'), [library, JSON.stringify(options)], {
      execArgv: ['--expose-gc'],
      env: { ...process.env, ...env }
    });
    const target = new Target(child);
    ({ port: target.port } = await target.answer());
    return target;
  }

  constructor(child) {
    this.child = child;
    this.port = 0;
    this.ended = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`The server has ended: ${signal ?? code}`);
    });
    this.ended.catch(() => {});
    child.on('error', () => {}); // a message to a server that has ended
  }

  /** @returns {Promise<any>} the next message of the server; rejects if it ends before */
  async answer() {
    const [message] = await Promise.race([once(this.child, 'message'), this.ended]);
    return message;
  }

  /** @returns {boolean} whether the process still runs */
  get alive() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** @returns {Promise<State>} @throws {Error} if the server has ended */
  state() {
    return this.ask('state');
  }

  /** @returns {Promise<number>} how many are open; @throws {Error} if the server has ended */
  connections() {
    return this.ask('connections');
  }

  ask(question) {
    if (this.alive) this.child.send(question);
    return this.answer();
  }

  async stop() {
    if (!this.alive) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}

module.exports = { Target };
