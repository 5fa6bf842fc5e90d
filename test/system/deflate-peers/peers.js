'use strict';

// Programs of others that echo messages.

const path = require('node:path');
const { createInterface } = require('node:readline');
const { startChromium } = require('../../support/chromium');
const { buildGo, installPython, pythonProgram } = require('../../support/install');
const { start } = require('../support/child');

const ALL_WINDOWS = [9, 10, 11, 12, 13, 14, 15];

/**
 * @typedef {object} Peer
 * @property {(options: object) => Promise<number>} [listen] starts an echo server, and returns its
 *   port; undefined if the peer can't be a server
 * @property {(url: string, options: object) => Promise<void>} connect echoes what the server of
 *   that url sends, until it is closed
 * @property {() => Promise<void>} stop
 */

/** A process that takes commands as lines of JSON, and answers so. @returns {Peer} */
function startEcho(command) {
  const child = start(command, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  let id = 0;
  const end = (error) => {
    for (const { reject } of waiting.values()) reject(error);
  };
  child.on('exit', (code) => end(new Error(`${path.basename(command[0])} exited with ${code}`))).on('error', end);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, port, error } = JSON.parse(line);
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(port);
    else reject(new Error(`the peer: ${error}`));
  });
  const ask = (asked) =>
    new Promise((resolve, reject) => {
      waiting.set(++id, { resolve, reject });
      child.stdin.write(`${JSON.stringify({ ...asked, id })}\n`);
    });
  return {
    listen: (options) => ask({ ...options, listen: true }),
    connect: (url, options) => ask({ ...options, connect: url }),
    stop: () => child.kill()
  };
}

const python = {
  name: 'websockets',
  windows: ALL_WINDOWS,
  async start({ progress }) {
    installPython('websockets', ['websockets==17.4'], progress);
    return startEcho([pythonProgram('websockets', 'python'), path.join(__dirname, 'echo.py')]);
  }
};

const go = {
  name: 'coder/websocket',
  // It declines other windows.
  windows: [15],
  optional: true,
  start: async ({ progress }) => startEcho([buildGo('.', progress, path.join(__dirname, 'go'))])
};

const chromium = {
  name: 'chromium',
  windows: ALL_WINDOWS,
  async start({ install, progress }) {
    const browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
    const page = await browser.newPage();
    return { connect: (url) => page.evaluate(echoInPage, url), stop: () => browser.close() };
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
