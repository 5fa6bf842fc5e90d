'use strict';

const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { text } = require('node:stream/consumers');

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

/**
 * Runs Node.js, which may fail.
 *
 * @param {string[]} args
 * @param {object} [options] of `spawn`
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
async function runNode(args, options) {
  const child = spawn(process.execPath, args, options);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
}

module.exports = { runNode, runScript };
