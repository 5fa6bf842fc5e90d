'use strict';

// Programs of others that echo messages.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { startChromium } = require('../../test/support/chromium');
const { run } = require('../../test/support/install');

const HOME = path.join(__dirname, '../../.cache/deflate-peers');
const WEBSOCKETS = '17.4';
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

/** @returns {boolean} whether a program runs */
const works = (program, args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;

const python = {
  name: `websockets ${WEBSOCKETS} (Python)`,
  windows: ALL_WINDOWS,
  async start({ install, progress }) {
    const folder = path.join(HOME, 'python');
    const program = path.join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
    const check = ['-c', `import websockets; assert websockets.__version__ == '${WEBSOCKETS}'`];
    if (install && !works(program, check)) {
      progress(`installing websockets ${WEBSOCKETS}`);
      run('python3', ['-m', 'venv', folder], __dirname);
      run(program, ['-m', 'pip', 'install', '--quiet', `websockets==${WEBSOCKETS}`], __dirname);
    }
    if (!works(program, check)) throw new Error(`there is no websockets ${WEBSOCKETS} in .cache/: run with --install`);
    return new EchoProcess(program, [path.join(__dirname, 'echo.py')]);
  }
};

const go = {
  name: 'coder/websocket (Go)',
  // It declines other windows.
  windows: [15],
  async start({ install, progress }) {
    const program = path.join(HOME, process.platform === 'win32' ? 'go-echo.exe' : 'go-echo');
    if (install) {
      if (!works('go', ['version'])) throw new Error('there is no Go in the PATH');
      if (!fs.existsSync(program)) progress('building with Go');
      fs.mkdirSync(HOME, { recursive: true });
      // Downloads the module, unless it is there.
      run('go', ['build', '-o', program, '.'], path.join(__dirname, 'go'));
    }
    if (!fs.existsSync(program)) throw new Error('it is not built in .cache/: run with --install');
    return new EchoProcess(program, []);
  }
};

const chromium = {
  name: 'Chromium',
  windows: ALL_WINDOWS,
  async start({ install, progress }) {
    const browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
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
