'use strict';

/**
 * The server takes a while to start: the first request is tried so often, at intervals of so many
 * milliseconds.
 */
const TRIES = 100;
const PAUSE = 200;

/**
 * Runs a client through the cases of a fuzzing server. The exit code is 1 if there is no server.
 *
 * @param {string} agent the client's name in the reports
 * @param {(path: string) => Promise<{ opened: boolean, last: Buffer | string | null }>} echo opens
 *   a connection, echoes messages if it is for a case, and waits for its end; `last` is the last
 *   message outside of cases
 */
async function runCases(agent, echo) {
  try {
    const count = await countCases(echo);
    for (let i = 1; i <= count; i++) await echo(`/runCase?case=${i}&agent=${agent}`);
    await echo(`/updateReports?agent=${agent}`);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** @returns {Promise<number>} */
async function countCases(echo) {
  for (let i = 0; i < TRIES; i++) {
    const { opened, last } = await echo('/getCaseCount');
    if (opened) return Number(String(last));
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Error('No server answers');
}

module.exports = { runCases };
