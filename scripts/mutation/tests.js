'use strict';

// Runs the tests of a mutated copy of the checkout, and orders them for a mutant.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { mutate } = require('./mutants');

/**
 * @typedef {import('./mutants').Mutant} Mutant
 *
 * @typedef {object} Test
 * @property {string} file
 * @property {number} seconds that it takes without a mutant
 * @property {Set<string>} reaches the ids of the mutants that it runs
 */

/** The first processes of the groups that run. */
const running = new Set();

// A group of its own gets no Ctrl+C.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    running.forEach(killGroup);
    process.exit(1);
  });
}

/**
 * Runs a test file until its first failure. One that loops forever ends by a limit of processor
 * time, which comes no sooner on a busy machine; the limit of time is for one that waits forever.
 *
 * @param {string} folder the copy
 * @param {string} file
 * @param {number} cpuSeconds
 * @param {number} seconds
 * @param {object} [environment]
 * @returns {Promise<'passed' | 'failed' | 'timed out'>}
 */
function runTest(folder, file, cpuSeconds, seconds, environment = {}) {
  return new Promise((resolve) => {
    const command = `ulimit -t ${Math.ceil(cpuSeconds)} && exec "$0" "$1"`;
    const child = spawn('sh', ['-c', command, process.execPath, file], {
      cwd: folder,
      stdio: 'ignore',
      // A process group, so that its processes end with it.
      detached: true,
      env: { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: '600', FRAMEMASK_TEST_SEED: '1', ...environment }
    });
    running.add(child);
    const timer = setTimeout(killGroup, seconds * 1000, child);
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      running.delete(child);
      killGroup(child);
      if (signal === 'SIGKILL' || signal === 'SIGXCPU') resolve('timed out');
      else resolve(status === 0 ? 'passed' : 'failed');
    });
  });
}

/** @param {import('node:child_process').ChildProcess} child */
function killGroup(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/**
 * Runs a test without a mutant.
 *
 * @param {string} folder the copy
 * @param {string} file
 * @param {Mutant[]} mutants
 * @returns {Promise<Test | null>} null if it fails
 */
async function runUnchanged(folder, file, mutants) {
  const coverage = path.join(folder, '.coverage', file.replaceAll('/', '-'));
  const begun = Date.now();
  const result = await runTest(folder, file, 600, 600, { NODE_V8_COVERAGE: coverage });
  const seconds = (Date.now() - begun) / 1000;
  if (result !== 'passed') return null;
  const reaches = new Set();
  // One file for each process and thread of the test.
  for (const name of fs.readdirSync(coverage)) {
    const { result: scripts } = JSON.parse(fs.readFileSync(path.join(coverage, name)));
    for (const { url, functions } of scripts) {
      // tap's mocks have a query.
      const [address] = url.split('?');
      for (const { id, file, start } of mutants) {
        if (address.endsWith(`/${file}`) && runs(functions, start)) reaches.add(id);
      }
    }
  }
  return { file, seconds, reaches };
}

/** @returns {boolean} whether V8 has run the code at that index: the smallest range there decides */
function runs(functions, index) {
  let smallest = null;
  for (const range of functions.flatMap(({ ranges }) => ranges)) {
    if (range.startOffset > index || range.endOffset <= index) continue;
    if (smallest === null || range.endOffset - range.startOffset < smallest.endOffset - smallest.startOffset) {
      smallest = range;
    }
  }
  return smallest !== null && smallest.count > 0;
}

/** Knows which test has killed how many mutants of which file, to try the most promising first. */
class TestOrder {
  /** @param {Test[]} tests */
  constructor(tests) {
    this._tests = tests;
    /** Runs and kills by test and mutated file. */
    this._counts = new Map();
  }

  /**
   * @param {Mutant} mutant
   * @returns {Test[]} the tests that reach it, the one with the most kills a second first
   */
  for(mutant) {
    const rate = (test) => {
      const { runs, kills } = this._countsOf(test, mutant);
      return (kills + 1) / (runs + 2) / test.seconds;
    };
    return this._tests.filter(({ reaches }) => reaches.has(mutant.id)).sort((a, b) => rate(b) - rate(a));
  }

  /**
   * @param {Test} test
   * @param {Mutant} mutant
   * @param {boolean} killed
   */
  note(test, mutant, killed) {
    const counts = this._countsOf(test, mutant);
    counts.runs++;
    if (killed) counts.kills++;
  }

  _countsOf(test, mutant) {
    const key = `${test.file} ${mutant.file}`;
    if (!this._counts.has(key)) this._counts.set(key, { runs: 0, kills: 0 });
    return this._counts.get(key);
  }
}

/**
 * Runs a mutant against the tests that reach it, until one fails.
 *
 * @param {string} folder the copy
 * @param {Mutant} mutant
 * @param {TestOrder} order
 * @returns {Promise<{ fate: 'killed' | 'timed out' | 'survived' | 'not reached', by?: string }>}
 */
async function runMutant(folder, mutant, order) {
  const file = path.join(folder, mutant.file);
  const content = fs.readFileSync(file, 'utf8');
  const tests = order.for(mutant);
  fs.writeFileSync(file, mutate(content, mutant));
  try {
    for (const test of tests) {
      const result = await runTest(folder, test.file, 2 * test.seconds + 2, 5 * test.seconds + 20);
      order.note(test, mutant, result !== 'passed');
      if (result !== 'passed') return { fate: result === 'failed' ? 'killed' : 'timed out', by: test.file };
    }
  } finally {
    fs.writeFileSync(file, content);
  }
  return { fate: tests.length === 0 ? 'not reached' : 'survived' };
}

module.exports = { TestOrder, runMutant, runUnchanged };
