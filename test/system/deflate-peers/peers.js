'use strict';

// Programs of others that echo messages.

const path = require('node:path');
const { outputOf, startServer } = require('../../support/child');
const { startChromium } = require('../../support/chromium');
const { buildGo, installPython, pythonProgram } = require('../../../scripts/support/install');

const ALL_WINDOWS = [9, 10, 11, 12, 13, 14, 15];

/**
 * @typedef {object} Peer
 * @property {(options: object) => Promise<{ port: number, close: () => void }>} [listen] starts an
 *   echo server; undefined if the peer can't be one
 * @property {(url: string, options: object) => Promise<void>} connect echoes what the server of
 *   that url sends, until it is closed
 * @property {() => Promise<void>} [stop]
 */

/** A program that takes options as JSON. @returns {Peer} */
const echoProgram = (...command) => ({
  listen: (options) => startServer([...command, JSON.stringify(options)]),
  connect: (url, options) => outputOf([...command, JSON.stringify({ ...options, connect: url })], { timeout: 90_000 })
});

const python = {
  name: 'websockets',
  windows: ALL_WINDOWS,
  start({ progress }) {
    installPython('websockets', ['websockets==17.4'], progress);
    return echoProgram(pythonProgram('websockets', 'python'), path.join(__dirname, 'echo.py'));
  }
};

const go = {
  name: 'coder/websocket',
  // It declines other windows.
  windows: [15],
  optional: true,
  start: ({ progress }) => echoProgram(buildGo('.', progress, path.join(__dirname, 'go')))
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
