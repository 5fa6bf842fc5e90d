'use strict';

const path = require('node:path');
const { runTests } = require('./support/tests');
const runtimes = require('./support/runtimes');

const VERSIONS = ['20', '22', '24', '26'];

module.exports = {
  summary: `the tests on Node.js ${VERSIONS.join(', ')}`,
  files: 'tests such as test/ws/*.js; all by default, which takes about three minutes on each version',
  linuxOnly: true,
  only: ['version', VERSIONS],

  async run(_options, { chosen, files, results }) {
    for (const version of chosen) {
      await results.add(`Node.js ${version}`, async () => {
        const program = runtimes.node(version);
        // Some tests start `node`.
        const env = { PATH: path.dirname(program) + path.delimiter + process.env.PATH };
        return runTests(files, { program, options: [], env });
      });
    }
  }
};
