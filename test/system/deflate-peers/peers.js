'use strict';

// Programs of others that echo messages.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { startChromium } = require('../../support/chromium');
const { NotHere } = require('../../support/fetch');
const { ROOT, outputOf } = require('../support/child');
const { installPython } = require('../support/python');

const HOME = path.join(ROOT, '.cache/deflate-peers');
const ALL_WINDOWS = [9, 10, 11, 12, 13, 14, 15];

/**
 * @typedef {object} Peer
 * @property {(options: object) => Promise<number>} [listen] starts an echo server, and returns its
 *   port; undefined if the peer can't be a server
 * @property {(url: string, options: object) => Promise<void>} connect echoes what the server of
 *   that url sends, until it is closed
 * @property {() => Promise<void>} stop
 */

/** A process that takes commands as lines of JSON, and answers so. */
class EchoProcess {
  constructor(program, args) {
    this._child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this._waiting = new Map();
    this._id = 0;
    createInterface({ input: this._child.stdout }).on('line', (line) => {
      const { id, port, error } = JSON.parse(line);
      const { resolve, reject } = this._waiting.get(id);
      this._waiting.delete(id);
      if (error === undefined) resolve(port);
      else reject(new Error(`the peer: ${error}`));
    });
    this._child.on('exit', (code) => this._end(new Error(`${path.basename(program)} exited with ${code}`)));
    this._child.on('error', (error) => this._end(error));
  }

  listen(options) {
    return this._ask({ ...options, listen: true });
  }

  connect(url, options) {
    return this._ask({ ...options, connect: url });
  }

  async stop() {
    this._child.kill();
  }

  _ask(command) {
    const id = ++this._id;
    return new Promise((resolve, reject) => {
      this._waiting.set(id, { resolve, reject });
      this._child.stdin.write(`${JSON.stringify({ ...command, id })}\n`);
    });
  }

  _end(error) {
    for (const { reject } of this._waiting.values()) reject(error);
    this._waiting.clear();
  }
}

const python = {
  name: 'websockets',
  windows: ALL_WINDOWS,
  async start({ progress }) {
    const programs = await installPython('websockets', ['websockets==17.4'], progress);
    return new EchoProcess(path.join(programs, 'python'), [path.join(__dirname, 'echo.py')]);
  }
};

const go = {
  name: 'coder/websocket',
  // It declines other windows.
  windows: [15],
  optional: true,
  async start({ progress }) {
    if (spawnSync('go', ['version']).status !== 0) throw new NotHere('there is no Go in the PATH');
    const program = path.join(HOME, process.platform === 'win32' ? 'go-echo.exe' : 'go-echo');
    progress('building with Go, which downloads its module');
    fs.mkdirSync(HOME, { recursive: true });
    await outputOf(['go', 'build', '-o', program, '.'], { cwd: path.join(__dirname, 'go') });
    return new EchoProcess(program, []);
  }
};

const chromium = {
  name: 'chromium',
  windows: ALL_WINDOWS,
  async start({ install, progress }) {
    const playwright = require('playwright-core');
    const browser = await startChromium({ chromium: playwright.chromium, install, progress });
    const page = await browser.newPage();
    return {
      connect: (url) => page.evaluate(echoInPage, url),
      stop: () => browser.close()
    };
  }
};

/** Runs in the page. */
function echoInPage(url) {
  return new Promise((resolve, reject) => {
    const socket = new globalThis.WebSocket(url);
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => socket.send('ready');
    socket.onmessage = ({ data }) => socket.send(data);
    socket.onclose = ({ code, wasClean }) => (wasClean ? resolve() : reject(new Error(`closed with ${code}`)));
  });
}

module.exports = { PEERS: [chromium, python, go] };
