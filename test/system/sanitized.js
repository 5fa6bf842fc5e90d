'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { ROOT, outputOf } = require('../support/child');
const { NotHere } = require('../../scripts/support/fetch');
const { buildCopy, runTests } = require('./support/tests');

const COPY = path.join(ROOT, '.cache/sanitized');
const REPORTS = path.join(COPY, '.reports');
const ADDON = path.join(COPY, 'build/Release/framemask.node');

/** @returns {Promise<string>} a sanitizer's path, to be preloaded: Node.js is built without them */
async function findRuntime(library) {
  const file = (await outputOf([process.env.CXX || 'g++', `-print-file-name=${library}`])).trim();
  if (!path.isAbsolute(file)) throw new NotHere(`the compiler has no ${library}`);
  return fs.realpathSync(file);
}

/** @throws {Error} unless both sanitizers are in the addon, and the tests will load it */
async function proveLoaded(env) {
  const symbols = fs.readFileSync(ADDON, 'latin1');
  for (const symbol of ['__asan_report_load', '__asan_report_store', '__ubsan_handle_']) {
    if (!symbols.includes(symbol)) throw new Error(`the addon lacks ${symbol}, so a sanitizer is missing`);
  }
  const script = `require('./index.js'); console.log(JSON.stringify(process.report.getReport().sharedObjects))`;
  const loaded = JSON.parse(await outputOf([process.execPath, '-e', script], { cwd: COPY, env }));
  if (!loaded.includes(fs.realpathSync(ADDON))) throw new Error(`${ADDON} was not loaded`);
}

module.exports = {
  summary: 'the tests with AddressSanitizer and UndefinedBehaviorSanitizer in the addon',
  details: 'Works in a copy of the checkout, .cache/sanitized. It needs GCC: $CXX or g++.',
  files: 'tests such as test/masking/kernels.js; all by default',
  linuxOnly: true,

  async run(_options, { files, results, progress }) {
    const report = `log_path=${REPORTS}/report`;
    const env = {
      LD_PRELOAD: `${await findRuntime('libasan.so')} ${await findRuntime('libubsan.so')}`,
      // No leak check: Node.js does not free all memory at exit.
      ASAN_OPTIONS: `detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:${report}`,
      UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:${report}`,
      FRAMEMASK_REQUIRE_NATIVE: '1'
    };
    buildCopy(COPY, ['-Dsanitize=address,undefined'], { progress });
    fs.mkdirSync(REPORTS);
    await proveLoaded(env);
    await results.add('tests', () => runTests(files, { cwd: COPY, env }));
    await results.add('sanitizers', async () =>
      fs.readdirSync(REPORTS).map((file) => fs.readFileSync(path.join(REPORTS, file), 'utf8'))
    );
  }
};
