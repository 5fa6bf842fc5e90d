'use strict';

// Runs the tests of `ws` itself, with framemask/ws in its place.

const fs = require('node:fs');
const path = require('node:path');
const { placeFramemask } = require('../../test/support/install');
const { CACHE, fetchWs, linkModules, runNode } = require('./stage');

/** For a file of tests; websocket.test.js waits for several timeouts of 30 s. */
const TIMEOUT = 300_000;
/** The most that is shown of an error. */
const LINES = 8;

/**
 * What the tests load from `lib/`, and what framemask/ws exports in its place. Other modules, such
 * as the constants, are those of the `ws` that framemask/ws itself uses.
 */
const EXPORTS = {
  'receiver.js': 'Receiver',
  'sender.js': 'Sender',
  'stream.js': 'createWebSocketStream',
  'websocket-server.js': 'WebSocketServer',
  'websocket.js': 'WebSocket'
};

/**
 * Lays out a folder like a checkout of `ws`, whose modules pass on what the library exports.
 *
 * @param {string} suite a folder with test/*.test.js and mocha
 * @param {string} version of `ws`
 * @param {string} library `ws` or `framemask/ws`
 * @returns {string} the folder
 */
function stageSuite(suite, version, library) {
  const ws = fetchWs(version);
  const folder = path.join(CACHE, 'suite');
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(path.join(suite, 'test'), path.join(folder, 'test'), { recursive: true });
  const modules = path.join(folder, 'node_modules');
  linkModules(path.join(suite, 'node_modules'), modules, ['ws', 'framemask', 'node-gyp-build']);
  fs.cpSync(ws, path.join(modules, 'ws'), { recursive: true });
  placeFramemask(folder);

  fs.writeFileSync(path.join(folder, 'package.json'), '{ "main": "index.js" }\n');
  fs.writeFileSync(path.join(folder, 'index.js'), `module.exports = require('${library}');\n`);
  fs.mkdirSync(path.join(folder, 'lib'));
  for (const file of fs.readdirSync(path.join(ws, 'lib'))) {
    const name = EXPORTS[file];
    const own = `require('../node_modules/ws/lib/${file}')`;
    const text = name === undefined || library === 'ws' ? own : `require('${library}').${name}`;
    fs.writeFileSync(path.join(folder, 'lib', file), `module.exports = ${text};\n`);
  }
  return folder;
}

/**
 * @typedef {object} Outcome
 * @property {number} passed
 * @property {number} pending
 * @property {Map<string, string>} failures by the test's name, what it says
 */

/**
 * Adds the tests of a file.
 *
 * @param {string} folder
 * @param {string} file
 * @param {Outcome} outcome
 */
function runFile(folder, file, outcome) {
  const mocha = path.join(folder, 'node_modules/mocha/bin/mocha');
  // Timeouts are longer than the 2 s of mocha: a busy machine is no failure. `--exit`: a test that
  // fails may leave a connection open.
  const options = ['--throw-deprecation', '--exit', '--timeout', '10000', '--reporter', 'json'];
  const { stdout, stderr } = runNode([mocha, ...options, path.join('test', file)], { cwd: folder, timeout: TIMEOUT });
  try {
    const report = JSON.parse(stdout.slice(stdout.indexOf('{\n  "stats"')));
    outcome.passed += report.stats.passes;
    outcome.pending += report.stats.pending;
    for (const { fullTitle, err } of report.failures) {
      outcome.failures.set(fullTitle, `${err.stack ?? err.message}`.split('\n').slice(0, LINES).join('\n'));
    }
  } catch {
    outcome.failures.set(`all of ${file}`, (stderr + stdout).slice(0, 1000));
  }
}

/**
 * @param {string} folder of stageSuite
 * @param {string | undefined} only a part of the names of the files to run
 * @param {(message: string) => void} progress
 * @returns {Outcome}
 */
function runSuite(folder, only, progress) {
  const outcome = { passed: 0, pending: 0, failures: new Map() };
  for (const file of fs.readdirSync(path.join(folder, 'test'))) {
    if (!file.endsWith('.test.js') || !file.includes(only ?? '')) continue;
    const { passed, failures } = outcome;
    const before = [passed, failures.size];
    runFile(folder, file, outcome);
    progress(`${file}: ${outcome.passed - before[0]} passed, ${failures.size - before[1]} failed`);
  }
  return outcome;
}

module.exports = { runSuite, stageSuite };
