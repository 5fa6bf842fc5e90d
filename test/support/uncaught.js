'use strict';

/** @returns {Promise<Error[]>} what was thrown and not caught while `action` ran */
async function uncaught(action) {
  const errors = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => errors.push(error));
  try {
    await action();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
  return errors;
}

/** The same, the messages alone. */
const uncaughtMessages = async (action) => (await uncaught(action)).map(({ message }) => message);

module.exports = { uncaught, uncaughtMessages };
