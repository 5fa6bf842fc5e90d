'use strict';

const path = require('node:path');
const { ROOT, faultsOf } = require('../../support/child');

const STRYKER = path.join(__dirname, '../node_modules/@stryker-mutator/core/bin/stryker.js');

module.exports = {
  summary: 'small changes of lib/, one at a time, by Stryker: does a test fail each time?',
  details: `Prints the changes that no test notices, and the score; reports/mutation.html has all. lib/codec/header.js takes about
five minutes. Strings are left alone, for most of them are messages. See ${path.relative(ROOT, __dirname)}/stryker.json.`,
  files:
    'files to change, or lines of them, such as lib/codec/header.js:60-90; lib/codec, lib/deflate and lib/masking by default',
  packages: true,
  options: {
    concurrency: { value: 'n', text: 'changes at a time (default: one for each processor but one)' }
  },

  async run({ concurrency }, { files, results }) {
    const options = [
      ...(files.length > 0 ? ['--mutate', files.join(',')] : []),
      ...(concurrency === undefined ? [] : ['--concurrency', concurrency])
    ];
    // Each run of a test has the same random values.
    const env = { FRAMEMASK_TEST_SEED: '1', TAP_BAIL: '1', TAP_TIMEOUT: '600' };
    const config = path.join(__dirname, 'stryker.json');
    const timeout = 2 ** 31 - 1;
    const command = [process.execPath, STRYKER, 'run', config, ...options];
    await results.add('changes', () => faultsOf(command, { env, timeout }));
  }
};
