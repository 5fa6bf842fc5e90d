'use strict';

// Runs a client of `ws`, or of what stands in for it, through the cases of a fuzzing server:
//
//     node ws-client.js LIBRARY URL AGENT

const { limits } = require('./ws-limits');

const [library, url, agent] = process.argv.slice(2);
const { WebSocket } = require(library);

/**
 * The server takes a while to start: the first request is tried so often, at intervals of so many
 * milliseconds.
 */
const TRIES = 100;
const PAUSE = 200;
/** The suite gives a case 480 s. */
const CASE_TIMEOUT = 500_000;

/**
 * Opens a connection, echoes messages if it is for a case, and waits for its end.
 *
 * @param {string} path
 * @returns {Promise<{ opened: boolean, last: string }>} `last` is the last message outside of cases
 */
function echo(path) {
  return new Promise((resolve) => {
    const socket = new WebSocket(url + path, limits);
    const result = { opened: false, last: '' };
    const timer = setTimeout(() => socket.terminate(), CASE_TIMEOUT);
    socket.on('open', () => {
      result.opened = true;
    });
    socket.on('message', (data, isBinary) => {
      // On other paths the suite would take an echo for a command.
      if (path.startsWith('/runCase')) socket.send(data, { binary: isBinary });
      else result.last = String(data);
    });
    // There is no server yet, or the suite has broken a rule; 'close' follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(result);
    });
  });
}

/** @returns {Promise<number>} */
async function countCases() {
  for (let i = 0; i < TRIES; i++) {
    const { opened, last } = await echo('/getCaseCount');
    if (opened) return Number(last);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Error(`No server answers at ${url}`);
}

async function main() {
  const count = await countCases();
  for (let i = 1; i <= count; i++) await echo(`/runCase?case=${i}&agent=${agent}`);
  await echo(`/updateReports?agent=${agent}`);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
