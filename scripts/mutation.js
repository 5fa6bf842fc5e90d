'use strict';

// Changes lib/ in small ways, by Stryker's mutators, and looks whether a test fails: a change that none notices is one
// that nobody would notice.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { instrument, sample } = require('./mutation/mutants');

const USAGE = `usage: node scripts/mutation.js [options] [file...]

Mutates the files named, or all of lib/codec and lib/masking, in a copy of the checkout in .cache/mutation. Each mutant is
run against the tests that reach it, the fastest first, until one fails.

  --sample n       how many mutants (default: 500; 0 for all)
  --seed n         determines the sample (default: 1)
  --concurrency n  tests at a time (default: the number of processors)
  --least n        the score in percent below which the exit code is 1 (default: 0)
  --help           print this

Prints the survivors and the score. Mutants of strings are left out, for most strings are messages. Tests that fail
without a mutant are left out and named.`;

const ROOT = path.join(__dirname, '..');
const COPY = path.join(ROOT, '.cache/mutation');
const MUTATED = ['lib/codec', 'lib/masking'];
const TESTS = ['test/codec', 'test/masking', 'test/shared', 'test/hazards'];
/** Tests of src/, or of processes and files: they take long and see little of the codec. */
const LEFT_OUT = ['test/masking/kernels.js', 'test/masking/worker-threads.js'];

/** @returns {string[]} the JavaScript files in a folder, from the root */
function filesIn(folder) {
  if (!fs.existsSync(path.join(ROOT, folder))) return [];
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true })
    .filter((name) => name.endsWith('.js'))
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .sort();
}

/** Copies what git has or would take; node_modules and the addon are linked. */
function copyCheckout() {
  fs.rmSync(COPY, { recursive: true, force: true });
  const list = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8'
  });
  for (const file of list.stdout.split('\0')) {
    if (file === '' || file === 'node_modules' || !fs.existsSync(path.join(ROOT, file))) continue;
    fs.cpSync(path.join(ROOT, file), path.join(COPY, file));
  }
  for (const folder of ['node_modules', 'build']) {
    if (fs.existsSync(path.join(ROOT, folder))) fs.symlinkSync(path.join(ROOT, folder), path.join(COPY, folder), 'dir');
  }
}

/**
 * @param {string} test
 * @param {object} env
 * @param {number} timeout in milliseconds
 * @param {string[]} [options] of node
 * @returns {Promise<boolean>} whether it passed
 */
function runTest(test, env, timeout, options = []) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...options, test], {
      cwd: COPY,
      stdio: 'ignore',
      // Its processes, too, end with it.
      detached: true,
      env: { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: '600', FRAMEMASK_TEST_SEED: '1', ...env }
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

/** Calls `work` with each item, so many at a time. */
async function forEach(items, concurrency, work) {
  const queue = [...items];
  const worker = async () => {
    while (queue.length > 0) await work(queue.shift());
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/**
 * Runs each test without a mutant.
 *
 * @returns {Promise<{ test: string, milliseconds: number, reaches: Set<string> }[]>} those that pass, the fastest first
 */
async function runBaseline(concurrency) {
  const tests = TESTS.flatMap(filesIn).filter((file) => !LEFT_OUT.includes(file));
  const hook = path.join(__dirname, 'mutation/note-coverage.js');
  const passed = [];
  await forEach(tests, concurrency, async (test) => {
    const coverageFile = path.join(COPY, `.coverage-${test.replaceAll('/', '-')}.json`);
    const begun = Date.now();
    if (!(await runTest(test, { COVERAGE_FILE: coverageFile }, 600_000, ['--require', hook]))) {
      console.log(`left out, since it fails without a mutant: ${test}`);
      return;
    }
    const reaches = new Set(JSON.parse(fs.readFileSync(coverageFile)));
    passed.push({ test, milliseconds: Date.now() - begun, reaches });
  });
  return passed.sort((a, b) => a.milliseconds - b.milliseconds);
}

async function main() {
  const { values, positionals } = parseArgs({
    options: {
      sample: { type: 'string', default: '500' },
      seed: { type: 'string', default: '1' },
      concurrency: { type: 'string', default: String(os.availableParallelism()) },
      least: { type: 'string', default: '0' },
      help: { type: 'boolean' }
    },
    allowPositionals: true
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const concurrency = Number(values.concurrency);
  copyCheckout();
  const names = positionals.length > 0 ? positionals : MUTATED.flatMap(filesIn);
  const sources = names.map((name) => ({ name, content: fs.readFileSync(path.join(ROOT, name), 'utf8') }));
  const { files, mutants: all } = await instrument(sources);
  for (const { name, content } of files) fs.writeFileSync(path.join(COPY, name), content);
  const mutants = values.sample === '0' ? all : sample(all, Number(values.sample), Number(values.seed));
  console.log(`${mutants.length} of ${all.length} mutants in ${names.length} files, seed ${values.seed}`);

  const begun = Date.now();
  const tests = await runBaseline(concurrency);
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  console.log(`${seconds()} s: ${tests.length} tests pass without a mutant`);

  const survivors = [];
  let done = 0;
  await forEach(mutants, concurrency, async (mutant) => {
    let killed = false;
    const reaching = tests.filter(({ reaches }) => reaches.has(mutant.id));
    for (const { test, milliseconds } of reaching) {
      // A mutant that never ends is killed, too.
      killed = !(await runTest(test, { __STRYKER_ACTIVE_MUTANT__: mutant.id }, 3 * milliseconds + 5000));
      if (killed) break;
    }
    if (!killed) survivors.push({ ...mutant, reached: reaching.length > 0 });
    done++;
    if (done % 20 === 0) console.log(`${seconds()} s: ${done} of ${mutants.length}, ${survivors.length} survive`);
  });

  survivors.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column);
  for (const { file, line, column, mutator, original, replacement, reached } of survivors) {
    console.log(`\n${file}:${line}:${column} ${mutator}${reached ? '' : ', reached by no test'}`);
    console.log(`- ${original.slice(0, 200)}\n+ ${replacement.slice(0, 200)}`);
  }
  const score = (100 * (mutants.length - survivors.length)) / mutants.length;
  console.log(
    `\n${mutants.length - survivors.length} of ${mutants.length} killed: ${score.toFixed(1)} %, ${seconds()} s`
  );
  if (score < Number(values.least)) process.exitCode = 1;
}

main();
