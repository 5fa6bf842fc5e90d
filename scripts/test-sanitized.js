'use strict';

// Runs the tests on an addon that is built with AddressSanitizer and UndefinedBehaviorSanitizer. It
// works in a copy, so the checkout keeps its build.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { rebuild } = require('./node-gyp');
const { copyCheckout } = require('../test/support/copy-checkout');
const { failuresIn } = require('../test/support/report');

const USAGE = `usage: npm run test:sanitized [-- [--help] [file...]]

Copies the checkout to .cache/sanitized, builds the addon there with AddressSanitizer and
UndefinedBehaviorSanitizer, and runs all tests, or the given files (such as test/masking/kernels.js). Linux
with GCC ($CXX or g++). The exit code is 0 if every test passes and no process gets a report of a
sanitizer.

  --help  print this`;

const ROOT = path.join(__dirname, '..');
const COPY = path.join(ROOT, '.cache/sanitized');
const REPORTS = path.join(COPY, '.reports');
const ADDON = path.join(COPY, 'build/Release/framemask.node');

function fail(message) {
  console.error(`test-sanitized: ${message}`);
  process.exit(1);
}

function progress(message) {
  console.log(`== ${message}`);
}

/** @returns {string} the output of a program; if it fails, this process exits */
function outputOf(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    ...options
  });
  if (status !== 0) fail(`${program} ${args[0]} failed: ${error ? error.message : stderr}`);
  return stdout;
}

/**
 * @returns {string[]} the sanitizers' libraries, which must be preloaded because Node.js is built
 *   without them
 */
function findRuntimes() {
  return ['libasan.so', 'libubsan.so'].map((library) => {
    const file = outputOf(process.env.CXX || 'g++', [`-print-file-name=${library}`]).trim();
    if (!path.isAbsolute(file)) fail(`the compiler has no ${library}`);
    return fs.realpathSync(file);
  });
}

function makeEnvironment() {
  const report = `log_path=${REPORTS}/report`;
  return {
    ...process.env,
    LD_PRELOAD: findRuntimes().join(' '),
    // No leak check: Node.js does not free all memory at exit.
    ASAN_OPTIONS: `detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1:${report}`,
    UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:${report}`,
    FRAMEMASK_REQUIRE_NATIVE: '1',
    // Tests are several times slower.
    TAP_TIMEOUT: '1200'
  };
}

/** Exits unless both sanitizers are in the addon, and the tests will load it. */
function proveLoaded(env) {
  const symbols = fs.readFileSync(ADDON, 'latin1');
  for (const symbol of ['__asan_report_load', '__asan_report_store', '__ubsan_handle_']) {
    if (!symbols.includes(symbol)) fail(`the addon lacks ${symbol}, so a sanitizer is missing`);
  }
  const script = `require('./index.js'); console.log(JSON.stringify(process.report.getReport().sharedObjects))`;
  const loaded = JSON.parse(outputOf(process.execPath, ['-e', script], { cwd: COPY, env }));
  const shown = loaded.filter((file) => /framemask|asan|ubsan/.test(path.basename(file)));
  if (!shown.some((file) => fs.realpathSync(file) === fs.realpathSync(ADDON))) fail(`${ADDON} was not loaded`);
  progress(`loaded: ${shown.join(', ')}`);
}

/** @returns {string[]} the files with reports of sanitizers, from all processes */
function findReports() {
  return fs.readdirSync(REPORTS).map((file) => path.join(REPORTS, file));
}

/** @returns {boolean} whether the test passed without a report */
function runTest(file, env) {
  const start = Date.now();
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: COPY,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28
  });
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  const reports = findReports();
  const passed = status === 0 && reports.length === 0;
  progress(`${passed ? 'ok' : 'NOT OK'} ${file}, ${seconds} s`);
  if (passed) return true;
  console.log(failuresIn(stdout, { after: 12, tail: 4 }), stderr);
  for (const report of reports) {
    console.log(fs.readFileSync(report, 'utf8'));
    fs.rmSync(report);
  }
  console.log(`exit code ${status}, signal ${signal}, ${reports.length} reports`);
  return false;
}

function main() {
  const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux') fail('runs on Linux only');

  const env = makeEnvironment();
  progress(`copying the checkout to ${path.relative(process.cwd(), COPY)}`);
  copyCheckout(ROOT, COPY);
  fs.mkdirSync(REPORTS);
  progress('building the addon with ASan and UBSan');
  const { status, stdout, stderr } = rebuild(COPY, 'pipe', ['--', '-Dsanitize=address,undefined']);
  if (status !== 0) fail(`the build failed:\n${stdout}${stderr}`);
  proveLoaded(env);

  const all = fs
    .readdirSync(path.join(COPY, 'test'), { recursive: true })
    .filter((file) => file.endsWith('.js') && !/^(support|platform)\//.test(file));
  const files = positionals.length > 0 ? positionals : all.map((file) => `test/${file}`);
  const failed = files.filter((file) => !runTest(file, env));
  process.exitCode = failed.length === 0 ? 0 : 1;
  if (failed.length === 0) progress(`${files.length} files passed, nothing reported`);
  else progress(`${failed.length} of ${files.length} failed: ${failed.join(', ')}`);
}

main();
