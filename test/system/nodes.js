'use strict';

const path = require('node:path');
const { select } = require('../support/select');
const { ROOT, run } = require('./support/child');
const { Results } = require('./support/results');
const runtimes = require('./support/runtimes');

const VERSIONS = ['20', '22', '24', '26'];
const TAP = path.join(ROOT, 'node_modules/tap/dist/esm/run.mjs');

module.exports = {
  summary: `the tests on Node.js ${VERSIONS.join(', ')}`,
  files: 'tests such as test/ws/*.js; all by default, which takes about three minutes on each version',
  linuxOnly: true,
  options: { only: { type: 'string', multiple: true, value: 'versions', text: 'only these, with commas between' } },

  async run({ only }, { files, progress }) {
    const results = new Results([], progress);
    for (const version of select('version', VERSIONS, only, String)) {
      await results.add(`Node.js ${version}`, async () => {
        const program = runtimes.node(version);
        // Some tests start `node`.
        const env = { PATH: path.dirname(program) + path.delimiter + process.env.PATH };
        const { status, why } = await run([program, TAP, ...files], { env, timeout: 3_600_000, show: true });
        return { faults: status === 0 ? [] : [why] };
      });
    }
    return results.end();
  }
};
