'use strict';

// The tests of ws itself, with framemask/ws in its place.

const fs = require('node:fs');
const path = require('node:path');
const { run } = require('../../support/child');
const { linkPackages } = require('../../support/copy-checkout');
const { placeFramemask } = require('../../../scripts/support/install');

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
 * @param {string} ws the folder of the `ws` to use
 * @param {string} library `ws` or `framemask/ws`
 * @param {string} folder to write
 */
function stage(suite, ws, library, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(path.join(suite, 'test'), path.join(folder, 'test'), { recursive: true });
  const modules = path.join(folder, 'node_modules');
  linkPackages(path.join(suite, 'node_modules'), modules, ['ws', 'framemask', 'node-gyp-build']);
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
}

/** @returns {Promise<{ passes: number, failures: [name: string, error: string][] }>} */
async function runFile(folder, file) {
  const mocha = path.join(folder, 'node_modules/mocha/bin/mocha');
  // Timeouts are longer than the 2 s of mocha: a busy machine is no failure. `--exit`: a test that
  // fails may leave a connection open.
  const options = ['--throw-deprecation', '--exit', '--timeout', '10000', '--reporter', 'json'];
  const { stdout, stderr } = await run([process.execPath, mocha, ...options, `test/${file}`], { cwd: folder });
  try {
    const report = JSON.parse(stdout.slice(stdout.indexOf('{\n  "stats"')));
    const failures = report.failures.map(({ fullTitle, err }) => [fullTitle, `${err.stack ?? err.message}`]);
    return { passes: report.stats.passes, failures };
  } catch {
    return { passes: 0, failures: [[`all of ${file}`, stderr + stdout]] };
  }
}

async function runSuite(suite, { cache, fetchWs, results }) {
  if (!fs.existsSync(path.join(suite, 'node_modules/mocha')))
    throw new RangeError(`no mocha in ${suite}: npm install there`);
  const { version } = JSON.parse(fs.readFileSync(path.join(suite, 'package.json'), 'utf8'));
  const folder = path.join(cache, 'suite');
  const known = new Set();
  for (const library of ['ws', 'framemask/ws']) {
    stage(suite, fetchWs(version), library, folder);
    for (const file of fs.readdirSync(path.join(folder, 'test')).filter((name) => name.endsWith('.test.js'))) {
      await results.add(`${library}, ${file}`, async () => {
        const { passes, failures } = await runFile(folder, file);
        if (library === 'ws') for (const [name] of failures) known.add(name);
        const faults = failures
          .filter(([name]) => !known.has(name))
          .map(([name, error]) => `${name}\n${error.split('\n').slice(0, LINES).join('\n')}`);
        return { cells: [`${passes}`, `${failures.length}`], faults };
      });
    }
  }
}

module.exports = { runSuite };
