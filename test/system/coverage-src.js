'use strict';

const path = require('node:path');
const { ROOT, faultsOf, outputOf } = require('../support/child');
const { installPython, pythonProgram } = require('../../scripts/support/install');
const { buildCopy, runTests } = require('./support/tests');

const COPY = path.join(ROOT, '.cache/coverage-src');
const TESTS = [
  'test/masking/native.js',
  'test/masking/mask.js',
  'test/masking/kernels.js',
  'test/codec/scan.js',
  'test/hazards/addon.js',
  'test/sockets/handlers.js'
];

module.exports = {
  summary: 'the lines of src/ that the tests run, by GCC and gcovr',
  details: `Works in a copy of the checkout, .cache/coverage-src. It needs GCC: $CXX or g++, $GCOV or gcov. A header's line
counts as run if it has run in one kernel. Kernels that this machine does not run are left out.`,
  files: `tests that call the addon; ${TESTS.join(', ')} by default`,
  linuxOnly: true,

  async run(_options, { files, results, progress }) {
    installPython('gcovr', ['gcovr==8.8'], progress);
    const gcovr = pythonProgram('gcovr', 'gcovr');
    // These come after the flags of binding.gyp. The counters need libraries that an addon without
    // `prebuild` does not link.
    const env = { CXXFLAGS: '--coverage -O1', LDFLAGS: '--coverage' };
    buildCopy(COPY, ['-Dprebuild=linux'], { env, progress });
    const tests = files.length > 0 ? files : TESTS;
    await results.add('tests', () => runTests(tests, { cwd: COPY, env: { FRAMEMASK_REQUIRE_NATIVE: '1' } }));
    const script = "console.log(require('./build/Release/framemask.node').kernels.join('|'))";
    const kernels = (await outputOf([process.execPath, '-e', script], { cwd: COPY })).trim();
    const filter = `src/(?!kernels/(?!(${kernels}|vector-loop)\\.))`;
    const command = [gcovr, '--root', '.', '--filter', filter, '--fail-under-line', '100', 'build/Release/obj.target'];
    await results.add('lines', () => faultsOf(command, { cwd: COPY }));
  }
};
