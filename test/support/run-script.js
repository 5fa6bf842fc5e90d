'use strict';

const { execFile } = require('node:child_process');
const path = require('node:path');

/**
 * Runs a script in a process of its own.
 *
 * @param {string} script its path
 * @param {Array} args
 * @param {object} [options]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {string[]} [options.execArgv] options of Node.js
 * @returns {Promise<string>} what it printed
 * @throws {Error} if it failed: its message has the arguments, and the message of the error in the
 *   script
 */
function runScript(script, args, { env = process.env, execArgv = [] } = {}) {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...execArgv, script, ...args], { env }, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
        return;
      }
      const how = error.signal ?? `exit code ${error.code}`;
      const messages = stderr.split('\n').filter((line) => /^(\[cause\]: )?\s*\w*Error\b.*:/.test(line.trim()));
      const call = [path.basename(script), ...args].join(' ');
      reject(new Error(`${call}, ${how}: ${messages.join('; ') || stderr.trim().slice(-500)}`));
    });
  });
}

module.exports = { runScript };
