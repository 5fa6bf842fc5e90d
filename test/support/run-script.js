'use strict';

const path = require('node:path');
const { run } = require('./child');

/**
 * Runs a script in a process of its own.
 *
 * @param {string} script its path
 * @param {Array} args
 * @param {object} [options]
 * @param {string[]} [options.execArgv] options of Node.js
 * @returns {Promise<string>} what it printed
 * @throws {Error} if it failed: its message has the arguments, and the message of the error in the
 *   script
 */
async function runScript(script, args, { execArgv = [] } = {}) {
  const { status, stdout, stderr, why } = await run([process.execPath, ...execArgv, script, ...args]);
  if (status === 0) return stdout;
  const messages = stderr.split('\n').filter((line) => /^(\[cause\]: )?\s*\w*Error\b.*:/.test(line.trim()));
  const call = [path.basename(script), ...args].join(' ');
  throw new Error(`${call}, ${why}: ${messages.join('; ') || stderr.trim().slice(-500)}`);
}

module.exports = { runScript };
