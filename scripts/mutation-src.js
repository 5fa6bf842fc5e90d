'use strict';

// Changes src/ in the ways that scripts/mutation/src-mutants.js lists, one at a time, and looks
// whether a test fails.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { MUTANTS } = require('./mutation/src-mutants');
const { build, rebuild } = require('./node-gyp');
const { copyCheckout } = require('../test/support/copy-checkout');
const { createProgress } = require('../test/support/report');
const { select } = require('../test/support/select');

const USAGE = `usage: npm run test:mutation-src [-- [options]]

Applies each mutant of scripts/mutation/src-mutants.js to a copy of the checkout in .cache/mutation-src,
builds the addon there, and runs the tests of the addon until one fails, the likely ones first. Mutants that
no test can notice are skipped, and so are those of kernels that this machine does not run.

  --only names   the mutants of these names, separated by commas, also those that no test can notice
  --equivalents  all mutants, also those that no test can notice: if one is killed, the list is wrong
  --list         print the mutants
  --help         print this

The exit code is 1 if a mutant survives or can't be built, or if the list is wrong.`;

const ROOT = path.join(__dirname, '..');
const COPY = path.join(ROOT, '.cache/mutation-src');

/** The tests that call the addon, and programs that tests run, with their arguments. */
const TESTS = [
  'test/support/random-calls.js addon 1 20000',
  'test/support/random-calls.js bind 1 0',
  'test/masking/native.js',
  'test/hazards/addon.js',
  'test/hazards/codec.js',
  'test/codec/scan.js',
  'test/masking/mask.js',
  'test/masking/kernels.js'
];

/** The tests that are likely to notice, by file: they run before the others. */
const LIKELY = {
  'src/addon.cc': [
    'test/masking/native.js',
    'test/support/random-calls.js addon 1 20000',
    'test/support/random-calls.js bind 1 0',
    'test/hazards/addon.js',
    'test/codec/scan.js'
  ],
  'src/dispatch.cc': ['test/masking/native.js']
};
const LIKELY_ELSEWHERE = ['test/codec/scan.js', 'test/masking/kernels.js'];

/** @param {string} message */
function fail(message) {
  console.error(`mutation-src: ${message}`);
  process.exit(1);
}

/**
 * @param {string} test
 * @param {number} timeout in milliseconds
 * @returns {Promise<boolean>} whether it passed
 */
function runTest(test, timeout) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, test.split(' '), {
      cwd: COPY,
      stdio: 'ignore',
      // Its processes, too, end with it.
      detached: true,
      env: {
        ...process.env,
        TAP_BAIL: '1',
        TAP_TIMEOUT: '600',
        FRAMEMASK_TEST: 'all',
        FRAMEMASK_TEST_SEED: '1',
        FRAMEMASK_REQUIRE_NATIVE: '1'
      }
    });
    const timer = setTimeout(() => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }, timeout);
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve(status === 0);
    });
  });
}

/**
 * Runs each test without a mutant; if one fails, this process exits.
 *
 * @returns {Promise<{ test: string, milliseconds: number }[]>} the fastest first
 */
async function runBaseline() {
  const tests = [];
  for (const test of TESTS) {
    const begun = Date.now();
    if (!(await runTest(test, 600_000))) fail(`${test} fails without a mutant`);
    tests.push({ test, milliseconds: Date.now() - begun });
  }
  return tests.sort((a, b) => a.milliseconds - b.milliseconds);
}

/**
 * @param {import('./mutation/src-mutants').SourceMutant} mutant
 * @param {{ test: string, milliseconds: number }[]} tests
 * @returns {Promise<{ outcome: 'killed' | 'survived' | 'not built', by: string }>}
 */
async function tryMutant({ file, original, replacement }, tests) {
  const target = path.join(COPY, file);
  const source = fs.readFileSync(target, 'utf8');
  try {
    fs.writeFileSync(
      target,
      source.replace(original, () => replacement)
    );
    const { status, stdout, stderr } = build(COPY, 'pipe');
    if (status !== 0) return { outcome: 'not built', by: `make:\n${stdout}${stderr}` };
    const likely = LIKELY[file] ?? LIKELY_ELSEWHERE;
    const rank = ({ test }) => (likely.includes(test) ? likely.indexOf(test) : likely.length);
    for (const { test, milliseconds } of tests.toSorted((a, b) => rank(a) - rank(b))) {
      // A mutant that never ends is killed, too.
      if (!(await runTest(test, 5 * milliseconds + 30_000))) return { outcome: 'killed', by: test };
    }
    return { outcome: 'survived', by: '' };
  } finally {
    // make builds it anew, for it is younger than the object file.
    fs.writeFileSync(target, source);
  }
}

/** @returns {string[]} the kernels that this machine runs, by the addon of the copy */
function kernelsHere() {
  const script = "console.log(JSON.stringify(require('./build/Release/framemask.node').kernels))";
  return JSON.parse(spawnSync(process.execPath, ['-e', script], { cwd: COPY, encoding: 'utf8' }).stdout);
}

/** Exits unless names differ and each original occurs once. */
function checkList() {
  const names = new Set();
  for (const { name, file, original } of MUTANTS) {
    if (names.has(name)) fail(`two mutants are called ${name}`);
    names.add(name);
    const times = fs.readFileSync(path.join(ROOT, file), 'utf8').split(original).length - 1;
    if (times !== 1) fail(`${name}: the original text occurs ${times} times in ${file}`);
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      equivalents: { type: 'boolean' },
      list: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  checkList();
  if (values.list) {
    for (const { name, file, reason, equivalent } of MUTANTS) {
      console.log(`${name} (${file}): ${reason}${equivalent === undefined ? '' : `; no test: ${equivalent}`}`);
    }
    return;
  }
  const all = values.equivalents || values.only !== undefined;
  const wanted = select('mutant', MUTANTS, values.only).filter(({ equivalent }) => all || equivalent === undefined);

  const progress = createProgress();
  progress('copying the checkout and building its addon');
  copyCheckout(ROOT, COPY);
  const { status, stdout, stderr } = rebuild(COPY, 'pipe');
  if (status !== 0) fail(`the build failed:\n${stdout}${stderr}`);
  const kernels = kernelsHere();
  progress(`kernels: ${kernels.join(', ')}; running the tests without a mutant`);
  const tests = await runBaseline();
  progress(`${tests.length} tests pass`);

  const wrong = [];
  const counts = { killed: 0, survived: 0, 'not built': 0, skipped: MUTANTS.length - wanted.length };
  for (const mutant of wanted) {
    const { name, kernel, equivalent } = mutant;
    if (kernel !== undefined && !kernels.includes(kernel)) {
      counts.skipped++;
      progress(`${name}: skipped, this machine does not run ${kernel}`);
      continue;
    }
    const { outcome, by } = await tryMutant(mutant, tests);
    counts[outcome]++;
    const expected = equivalent === undefined ? 'killed' : 'survived';
    if (outcome !== expected) wrong.push(`${name}, ${outcome} (${mutant.file}): ${mutant.reason}`);
    const note = equivalent !== undefined && outcome === expected ? ', as the list says' : '';
    progress(`${name}: ${outcome}${by === '' ? note : ` by ${by}`}`);
  }
  const summary = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
  progress(`${MUTANTS.length} mutants: ${summary.join(', ')}`);
  for (const line of wrong) console.log(line);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

main();
