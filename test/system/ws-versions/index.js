'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { ROOT, run } = require('../../support/child');
const { copyCheckout } = require('../../support/copy-checkout');
const { installPackages } = require('../../../scripts/support/install');
const { filesOf } = require('../../support/modules');
const { runTests } = require('../support/tests');
const { runSuite } = require('./suite');

/** The oldest supported version, and the newest of each minor version after it. */
const VERSIONS = ['8.17.1', '8.18.3', '8.19.0', '8.20.1', '8.21.3', '8.22.2', '8.23.0'];
/** The first is just too old, the second has another API. */
const REFUSED = ['8.16.0', '7.5.10'];
const CACHE = path.join(ROOT, '.cache/ws-versions');

/** @param {string} version @returns {string} the folder of that ws */
function fetchWs(version) {
  const folder = path.join(CACHE, `ws-${version}`);
  installPackages(folder, { ws: version });
  return path.join(folder, 'node_modules/ws');
}

/** @returns {string} a copy of this checkout in which `require('ws')` finds that version */
function stage(version) {
  const folder = path.join(CACHE, 'checkout');
  copyCheckout(ROOT, folder, { addon: true, without: ['ws'] });
  // A copy, because a link's target would not find the bufferutil beside it.
  fs.cpSync(fetchWs(version), path.join(folder, 'node_modules/ws'), { recursive: true });
  return folder;
}

/** @returns {Promise<string[]>} faults, unless the error for that version says what is supported */
async function testRefusal(version) {
  const { status, stderr } = await run([process.execPath, '-e', "require('./ws.js')"], { cwd: stage(version) });
  if (status === 0) return ['framemask/ws loads'];
  const message = stderr.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? stderr;
  const clear = message.includes(version) && message.includes(VERSIONS[0]);
  return clear ? [] : [`the error names not both ${version} and ${VERSIONS[0]}: ${message}`];
}

module.exports = {
  summary: 'the tests of framemask/ws on each version of ws; with --suite, the tests of ws on framemask/ws',
  details: `Runs test/ws/ with ws ${VERSIONS.join(', ')}, in copies of this checkout, and
checks that framemask/ws refuses ${REFUSED.join(' and ')} by an error that says so. With --suite it runs the tests of ws instead, on
ws and on framemask/ws; a test fails if it passes on ws only.`,
  options: {
    suite: { value: 'folder', text: 'a checkout of ws in which `npm install` was run' }
  },
  only: ['version', [...REFUSED, ...VERSIONS]],
  columns: ['passed', 'failed'],

  async run({ suite }, { chosen, results }) {
    if (suite !== undefined) return runSuite(path.resolve(suite), { cache: CACHE, fetchWs, results });
    for (const version of chosen) {
      if (REFUSED.includes(version)) await results.add(`ws ${version} is refused`, () => testRefusal(version));
      else {
        await results.add(`ws ${version}`, () => {
          const cwd = stage(version);
          return runTests([...filesOf('test/ws', /\.js$/), 'fuzz/test/differences.js'], { cwd });
        });
      }
    }
  }
};
