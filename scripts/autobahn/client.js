'use strict';

// Lets examples/client.js go through the cases of a fuzzing server:  node client.js URL AGENT

const { connect } = require('../../examples/client');

/** Starting takes the server a while: so often, and so many milliseconds apart, the first request is made. */
const TRIES = 100;
const PAUSE = 200;
/** No case takes so many milliseconds. */
const CASE_TIMEOUT = 120_000;

const [url, agent] = process.argv.slice(2);

/**
 * Opens a connection, sends back what comes if it is for a case, and waits until it is over. The largest message has 16 MiB.
 *
 * @param {string} path
 * @returns {Promise<{ opened: boolean, last: Buffer | null }>} `last` is the message that came last
 */
function echo(path) {
  return new Promise((resolve) => {
    const result = { opened: false, last: null };
    const connection = connect(url + path, {
      text: 'buffer',
      maxPayload: 16 * 1024 * 1024,
      onOpen() {
        result.opened = true;
      },
      onMessage(data, isBinary) {
        result.last = data;
        // Nothing else is asked for an echo, and the suite takes what it gets there for a command.
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

/** @returns {Promise<number>} */
async function countCases() {
  for (let i = 0; i < TRIES; i++) {
    const { opened, last } = await echo('/getCaseCount');
    if (opened) return Number(last.toString());
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Error(`Nobody answers at ${url}`);
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
