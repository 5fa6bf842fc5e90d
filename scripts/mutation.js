'use strict';

// Changes lib/ in small ways, by Stryker's mutators, and looks whether a test fails: a change that
// none notices is one that nobody would notice.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { findMutants, sample } = require('./mutation/mutants');
const { reasonOf, showSurvivor, summarize } = require('./mutation/report');
const { TestOrder, runMutant, runUnchanged } = require('./mutation/tests');
const { copyCheckout } = require('../test/support/copy-checkout');

const USAGE = `usage: node scripts/mutation.js [options] [file...]

Mutates the files named, or all of lib/codec and lib/masking, in copies of the checkout in
.cache/mutation. Each mutant is run against the tests that reach it, the most promising first, until
one fails or hangs.

  --sample n       how many mutants (default: 500; 0 for all)
  --seed n         determines the sample (default: 1)
  --survivors      only those that survived the last run, as reports/mutation.json has them
  --only ids       only these mutants, separated by commas
  --tests files    only these tests, separated by commas
  --slowest n      leaves out tests that take more than n seconds
  --concurrency n  tests at a time (default: the number of processors)
  --least n        the score in percent below which the exit code is 1 (default: 0)
  --help           print this

Prints each survivor and the score. scripts/mutation/equivalent.json has mutants that no test can
tell, with the reasons. They count as survivors; only --only runs them. Mutants of strings are left
out, for most strings are messages. Tests that fail without a mutant are left out and named.`;

const ROOT = path.join(__dirname, '..');
const COPIES = path.join(ROOT, '.cache/mutation');
const RESULTS = path.join(ROOT, 'reports/mutation.json');
const MUTATED = ['lib/codec', 'lib/masking'];
const TESTS = ['test/codec', 'test/masking', 'test/shared', 'test/hazards'];
/** Tests of src/, or of processes and files: they take long and see little of the codec. */
const LEFT_OUT = ['test/masking/kernels.js'];

/** @returns {string[]} the JavaScript files in a folder, from the root */
function filesIn(folder) {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true })
    .filter((name) => name.endsWith('.js'))
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .sort();
}

/**
 * Copies what git has or would take; node_modules and the addon are linked.
 *
 * @param {number} count
 * @returns {string[]} the folders of the copies
 */
function createCopies(count) {
  fs.rmSync(COPIES, { recursive: true, force: true });
  return Array.from({ length: count }, (_, i) => {
    const copy = path.join(COPIES, String(i));
    copyCheckout(ROOT, copy);
    const addon = path.join(ROOT, 'build');
    if (fs.existsSync(addon)) fs.symlinkSync(addon, path.join(copy, 'build'), 'dir');
    return copy;
  });
}

/** @returns {import('./mutation/mutants').Mutant[]} those that the options choose */
function choose(all, files, options) {
  if (options.only !== undefined || options.survivors) {
    const ids = options.only?.split(',') ?? readSurvivors();
    return all.filter(({ id }) => ids.includes(id));
  }
  const candidates = files.length === 0 ? all : all.filter(({ file }) => files.includes(file));
  if (options.sample === '0') return candidates;
  return sample(candidates, Number(options.sample), Number(options.seed));
}

/** @returns {string[]} the ids of those that survived the last run */
function readSurvivors() {
  const results = JSON.parse(fs.readFileSync(RESULTS));
  return results.filter(({ fate }) => fate === 'survived' || fate === 'not reached').map(({ id }) => id);
}

/** Calls `work` with each item and a copy that is free. */
async function forEach(items, copies, work) {
  const queue = [...items];
  const worker = async (copy) => {
    while (queue.length > 0) await work(queue.shift(), copy);
  };
  await Promise.all(copies.map(worker));
}

/** @returns {Promise<import('./mutation/tests').Test[]>} the tests that pass without a mutant */
async function runAllUnchanged(files, copies, mutants) {
  const tests = [];
  await forEach(files, copies, async (file, copy) => {
    const test = await runUnchanged(copy, file, mutants);
    if (test === null) console.log(`left out, since it fails without a mutant: ${file}`);
    else tests.push(test);
  });
  return tests;
}

async function main() {
  const { values: options, positionals } = parseArgs({
    options: {
      sample: { type: 'string', default: '500' },
      seed: { type: 'string', default: '1' },
      survivors: { type: 'boolean' },
      only: { type: 'string' },
      tests: { type: 'string' },
      slowest: { type: 'string', default: 'Infinity' },
      concurrency: { type: 'string', default: String(os.availableParallelism()) },
      least: { type: 'string', default: '0' },
      help: { type: 'boolean' }
    },
    allowPositionals: true
  });
  if (options.help) {
    console.log(USAGE);
    return;
  }
  const begun = Date.now();
  const say = (text) => console.log(`${Math.round((Date.now() - begun) / 1000)} s: ${text}`);
  const copies = createCopies(Number(options.concurrency));
  // Always all of them: a mutant has the same id in each run.
  const names = [...new Set([...MUTATED.flatMap(filesIn), ...positionals])];
  const all = await findMutants(
    names.map((name) => ({ name, content: fs.readFileSync(path.join(ROOT, name), 'utf8') }))
  );
  const mutants = choose(all, positionals, options);
  say(`${mutants.length} of ${all.length} mutants`);
  const files = options.tests?.split(',') ?? [...TESTS.flatMap(filesIn), 'test/tracing.js'];
  const passing = await runAllUnchanged(
    files.filter((file) => !LEFT_OUT.includes(file)),
    copies,
    mutants
  );
  const tests = passing.filter(({ seconds }) => seconds <= Number(options.slowest));
  say(`${passing.length} tests pass without a mutant, ${tests.length} are used`);

  const order = new TestOrder(tests);
  const results = [];
  await forEach(mutants, copies, async (mutant, copy) => {
    const known = options.only === undefined && reasonOf(mutant) !== undefined;
    const result = { ...mutant, ...(known ? { fate: 'equivalent' } : await runMutant(copy, mutant, order)) };
    results.push(result);
    const survived = ['survived', 'not reached'].includes(result.fate);
    if (survived) console.log(showSurvivor(result));
    if (survived || results.length % 10 === 0) say(`${results.length} of ${mutants.length}`);
  });
  const { text, score } = summarize(results);
  fs.mkdirSync(path.dirname(RESULTS), { recursive: true });
  fs.writeFileSync(RESULTS, JSON.stringify(results, null, 2));
  console.log(text);
  say('done');
  if (score < Number(options.least)) process.exitCode = 1;
}

main();
