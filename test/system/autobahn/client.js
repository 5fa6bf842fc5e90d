'use strict';

// Runs a client through the cases of a fuzzing server. KIND and ARGUMENT are those of server.js.
//
//     node client.js URL AGENT KIND [ARGUMENT]

const { setTimeout: sleep } = require('node:timers/promises');
const { Connection } = require('../../../index');
const gateway = require('./gateway');
const http2 = require('./http2');
const parts = require('./parts');
const { LIMITS, WS_OPTIONS, deflateOptions } = require('./limits');

/** Milliseconds for a case. The suite gives one with compressed messages 480 s. */
const CASE_TIMEOUT = 500_000;
/** The suite takes a while to start: the first request is tried so often, at these milliseconds. */
const TRIES = 100;
const PAUSE = 200;

const [url, agent, kind, argument] = process.argv.slice(2);

/** It stops reading while it can't send. */
function connect(address, on, deflate) {
  const options = {
    ...LIMITS,
    deflate,
    text: 'buffer',
    onMessage(data, isBinary) {
      on.message(data, () => this.send(data, { binary: isBinary }) || this.pause());
    },
    onDrain() {
      this.resume();
    },
    onClose: on.end
  };
  Connection.connect(address, options).then((connection) => on.open(() => connection.close()), on.end);
}

const CLIENTS = {
  codec: (address, on) => connect(address, on),
  deflate: (address, on) => connect(address, on, deflateOptions(argument)),
  gateway: (address, on) =>
    gateway
      .through(address, argument !== undefined && deflateOptions(argument))
      .then((through) => connect(through, on)),
  parts(address, on) {
    const data = [];
    const part = (bytes, isLast) => {
      data.push(bytes);
      let isEchoed = false;
      if (isLast) on.message(Buffer.concat(data.splice(0)), () => (isEchoed = true));
      return isLast && !isEchoed;
    };
    parts.connect(address, argument !== undefined && deflateOptions(argument), { ...on, part });
  },
  http2: (address, on) => http2.connect(address).then((socket) => serveWs(socket, on)),
  ws(address, on) {
    const { WebSocket } = require(argument);
    serveWs(new WebSocket(address, WS_OPTIONS), on);
  }
};

function serveWs(socket, on) {
  socket.on('open', () => on.open(() => socket.terminate()));
  socket.on('message', (data, isBinary) => on.message(data, () => socket.send(data, { binary: isBinary })));
  // There is no server yet, or the suite has broken a rule; 'close' follows.
  socket.on('error', () => {});
  socket.on('close', on.end);
}

/**
 * Opens a connection, echoes messages if it is for a case, and waits for its end.
 *
 * @param {string} path
 * @returns {Promise<{ opened: boolean, last: Buffer | null }>} `last` is the last message
 */
function echo(path) {
  return new Promise((resolve) => {
    const result = { opened: false, last: null };
    let timer;
    CLIENTS[kind](url + path, {
      open(close) {
        result.opened = true;
        timer = setTimeout(close, CASE_TIMEOUT);
      },
      message(data, send) {
        result.last = data;
        // On other paths the suite would take an echo for a command.
        if (path.startsWith('/runCase')) send();
      },
      end() {
        clearTimeout(timer);
        resolve(result);
      }
    });
  });
}

/** @returns {Promise<number>} */
async function countCases() {
  for (let i = 0; i < TRIES; i++) {
    const { opened, last } = await echo('/getCaseCount');
    if (opened) return Number(String(last));
    await sleep(PAUSE);
  }
  throw new Error('No server answers');
}

async function main() {
  const count = await countCases();
  for (let i = 1; i <= count; i++) await echo(`/runCase?case=${i}&agent=${agent}`);
  await echo(`/updateReports?agent=${agent}`);
}

main();
