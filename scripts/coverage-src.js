'use strict';

// Runs the tests of the addon on a build that counts how often each line runs.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { rebuild } = require('./node-gyp');
const { copyCheckout } = require('../test/support/copy-checkout');
const { createProgress, failuresIn, printRows } = require('../test/support/report');

const USAGE = `usage: npm run test:coverage-src [-- [--help] [file...]]

Copies the checkout to .cache/coverage-src, builds the addon there with GCC's --coverage, runs the tests
that call it, or the given files (such as test/codec/scan.js), and prints how many lines of src/ have run.
A header's line counts as run if it has run in one kernel. src/windows.cc and src/kernels/neon.cc are for
other machines. Linux with GCC ($CXX or g++, $GCOV or gcov). The exit code is 0 if every test passes and
every line has run.

  --help  print this`;

const ROOT = path.join(__dirname, '..');
const COPY = path.join(ROOT, '.cache/coverage-src');
const OBJECTS = path.join(COPY, 'build/Release/obj.target');

const TESTS = [
  'test/masking/native.js',
  'test/masking/mask.js',
  'test/masking/kernels.js',
  'test/codec/scan.js',
  'test/hazards/addon.js'
];

/** @param {string} message */
function fail(message) {
  console.error(`coverage-src: ${message}`);
  process.exit(1);
}

/** Builds the addon of the copy with counters. */
function buildWithCounters() {
  // They come behind the flags of binding.gyp.
  process.env.CXXFLAGS = '--coverage -O1';
  process.env.LDFLAGS = '--coverage';
  // The counters need libraries that an addon without prebuild does not link.
  const { status, stdout, stderr } = rebuild(COPY, 'pipe', ['--', '-Dprebuild=linux']);
  if (status !== 0) fail(`the build failed:\n${stdout}${stderr}`);
}

/**
 * @param {string} file
 * @returns {boolean} whether it passed
 */
function runTest(file) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: COPY,
    env: { ...process.env, FRAMEMASK_REQUIRE_NATIVE: '1', TAP_TIMEOUT: '1200' },
    encoding: 'utf8',
    maxBuffer: 2 ** 28
  });
  if (status !== 0) console.log(failuresIn(stdout, { after: 12, tail: 4 }), stderr);
  return status === 0;
}

/**
 * @returns {Map<string, Map<number, number>>} how often each line with code has run, by file of
 *   src/ and number
 */
function readCounters() {
  const files = fs.readdirSync(OBJECTS, { recursive: true }).filter((file) => file.endsWith('.gcda'));
  if (files.length === 0) fail('no process has written its counters');
  const lines = new Map();
  for (const file of files) {
    const { status, stdout, stderr } = spawnSync(
      process.env.GCOV || 'gcov',
      ['--json-format', '--stdout', path.join(OBJECTS, file)],
      { cwd: path.join(COPY, 'build'), encoding: 'utf8', maxBuffer: 2 ** 28 }
    );
    if (status !== 0) fail(`gcov failed: ${stderr}`);
    for (const source of JSON.parse(stdout).files) {
      const name = path.relative(COPY, path.resolve(COPY, 'build', source.file));
      if (!name.startsWith('src/')) continue;
      if (!lines.has(name)) lines.set(name, new Map());
      const counts = lines.get(name);
      for (const { line_number, count } of source.lines) {
        counts.set(line_number, (counts.get(line_number) ?? 0) + count);
      }
    }
  }
  return lines;
}

/**
 * Prints a table of files, and the lines that have not run.
 *
 * @param {Map<string, Map<number, number>>} lines
 * @returns {boolean} whether all have run
 */
function printCoverage(lines) {
  const rows = [['file', 'lines', 'run']];
  const missing = [];
  const total = { lines: 0, run: 0 };
  for (const [file, counts] of [...lines].sort(([a], [b]) => a.localeCompare(b))) {
    const text = fs.readFileSync(path.join(COPY, file), 'utf8').split('\n');
    const run = [...counts.values()].filter((count) => count > 0).length;
    rows.push([file, String(counts.size), String(run)]);
    total.lines += counts.size;
    total.run += run;
    for (const [line, count] of counts) if (count === 0) missing.push(`${file}:${line}: ${text[line - 1].trim()}`);
  }
  rows.push(['all', String(total.lines), String(total.run)]);
  printRows(rows);
  for (const line of missing) console.log(`not run: ${line}`);
  return missing.length === 0;
}

function main() {
  const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux') fail('runs on Linux only');

  const progress = createProgress();
  progress('copying the checkout and building its addon with counters');
  copyCheckout(ROOT, COPY);
  buildWithCounters();
  const failed = (positionals.length > 0 ? positionals : TESTS).filter((file) => {
    const passed = runTest(file);
    progress(`${passed ? 'ok' : 'NOT OK'} ${file}`);
    return !passed;
  });
  const complete = printCoverage(readCounters());
  process.exitCode = failed.length === 0 && complete ? 0 : 1;
}

main();
