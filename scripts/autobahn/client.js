'use strict';

// Runs examples/client.js through the cases of a fuzzing server:  node client.js URL AGENT

const { connect } = require('../../examples/client');
const { runCases } = require('./run-cases');

/** The limit for a case, in milliseconds. */
const CASE_TIMEOUT = 120_000;

const [url, agent] = process.argv.slice(2);

/**
 * Opens a connection, echoes messages if it is for a case, and waits for its end. The largest
 * message has 16 MiB; one of 4 MiB comes in fragments of 64 bytes.
 *
 * @param {string} path
 * @returns {Promise<{ opened: boolean, last: Buffer | null }>} `last` is the last message
 */
function echo(path) {
  return new Promise((resolve) => {
    const result = { opened: false, last: null };
    const connection = connect(url + path, {
      text: 'buffer',
      maxPayload: 16 * 1024 * 1024,
      maxFragments: Number.POSITIVE_INFINITY,
      onOpen() {
        result.opened = true;
      },
      onMessage(data, isBinary) {
        result.last = data;
        // On other paths the suite would take an echo for a command.
        if (path.startsWith('/runCase') && !this.send(data, isBinary)) this.pause();
      },
      onDrain() {
        this.resume();
      },
      onClose() {
        clearTimeout(timer);
        resolve(result);
      }
    });
    const timer = setTimeout(() => connection.close(), CASE_TIMEOUT);
  });
}

runCases(agent, echo);
