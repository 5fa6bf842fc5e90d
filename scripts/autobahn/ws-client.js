'use strict';

// Runs a client of `ws`, or of what stands in for it, through the cases of a fuzzing server:
//
//     node ws-client.js LIBRARY URL AGENT

const { limits } = require('./ws-limits');
const { runCases } = require('./run-cases');

const [library, url, agent] = process.argv.slice(2);
const { WebSocket } = require(library);

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

runCases(agent, echo);
