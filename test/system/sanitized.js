'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { NotHere } = require('../support/fetch');
const { copyCheckout } = require('../support/copy-checkout');
const { rebuild } = require('../support/node-gyp');
const { ROOT, outputOf, runTests, testFiles } = require('./support/child');

const COPY = path.join(ROOT, '.cache/sanitized');
const REPORTS = path.join(COPY, '.reports');
const ADDON = path.join(COPY, 'build/Release/framemask.node');

/**
 * @returns {Promise<string[]>} the sanitizers' libraries, which must be preloaded because Node.js is
 *   built without them
 */
function findRuntimes() {
  return Promise.all(
    ['libasan.so', 'libubsan.so'].map(async (library) => {
      const file = (await outputOf([process.env.CXX || 'g++', `-print-file-name=${library}`])).trim();
      if (!path.isAbsolute(file)) throw new NotHere(`the compiler has no ${library}`);
      return fs.realpathSync(file);
    })
  );
}

async function createEnvironment() {
  const report = `log_path=${REPORTS}/report`;
  return {
    LD_PRELOAD: (await findRuntimes()).join(' '),
    // No leak check: Node.js does not free all memory at exit.
    ASAN_OPTIONS: `detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:${report}`,
    UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:${report}`,
    FRAMEMASK_REQUIRE_NATIVE: '1'
  };
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

/** @returns {string[]} the reports of sanitizers, from all processes, which are removed */
function takeReports() {
  const files = fs.readdirSync(REPORTS).map((file) => path.join(REPORTS, file));
  return files.map((file) => {
    const text = fs.readFileSync(file, 'utf8');
    fs.rmSync(file);
    return text;
  });
}

module.exports = {
  summary: 'the tests with AddressSanitizer and UndefinedBehaviorSanitizer in the addon',
  details: 'Works in a copy of the checkout, .cache/sanitized. It needs GCC: $CXX or g++.',
  files: 'tests such as test/masking/kernels.js; all by default',
  linuxOnly: true,

  async run(_options, { files, progress }) {
    const env = await createEnvironment();
    progress('building a copy of the checkout with ASan and UBSan');
    copyCheckout(ROOT, COPY);
    fs.mkdirSync(REPORTS);
    const { status, stdout, stderr } = rebuild(COPY, {
      stdio: 'pipe',
      options: ['--', '-Dsanitize=address,undefined']
    });
    if (status !== 0) throw new Error(`the build failed:\n${stdout}${stderr}`);
    await proveLoaded(env);
    const failed = await runTests(files.length > 0 ? files : testFiles(COPY), {
      cwd: COPY,
      env,
      progress,
      find: takeReports
    });
    return failed.length === 0;
  }
};
