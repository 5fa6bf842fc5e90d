'use strict';

// tap loads in neither Bun nor Deno, so test/support/tap-stand-in.js takes its place.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ROOT, run } = require('../../support/child');
const { copyCheckout } = require('../../support/copy-checkout');
const { filesOf } = require('../../support/modules');
const { DENO_ENV, bun, denoRun } = require('../support/runtimes');
const { UNSUPPORTED } = require('./unsupported');

const COPY = path.join(ROOT, '.cache/runtimes');
const TESTS =
  /^(fuzz\/test\/.*|test\/((codec|connection|masking|shared|sockets|streams|hazards|ws)\/.*|(tracing|frame-id)[^/]*))\.js$/;

const KERNELS = { native: { FRAMEMASK_REQUIRE_NATIVE: '1', FRAMEMASK_KERNEL: '' }, js: { FRAMEMASK_KERNEL: 'js' } };

/**
 * Each runtime with each kernel. Tests make folders, programs and connections, some of them over
 * Unix sockets.
 */
const RUNTIMES = Object.entries({
  bun: { command: () => [bun()] },
  deno: { command: () => denoRun(['write', 'run', 'net']), env: DENO_ENV },
  node: { command: () => [process.execPath] }
}).flatMap(([runtime, { command, env }]) =>
  Object.entries(KERNELS).map(([kernel, ofKernel]) => ({
    name: `${runtime}-${kernel}`,
    runtime,
    command,
    env: { ...env, ...ofKernel }
  }))
);

/** Copies the checkout; there, require('tap') loads the stand-in. */
function stage() {
  copyCheckout(ROOT, COPY, { addon: true, without: ['tap'] });
  const tap = path.join(COPY, 'node_modules/tap');
  fs.mkdirSync(tap);
  fs.writeFileSync(path.join(tap, 'package.json'), '{ "name": "tap", "main": "index.js" }\n');
  fs.writeFileSync(path.join(tap, 'index.js'), "module.exports = require('../../test/support/tap-stand-in');\n");
}

/** @returns {string[]} the files of tests that have one of these texts in their path */
function listFiles(wanted) {
  const files = ['test', 'fuzz/test'].flatMap((folder) => filesOf(folder, TESTS));
  for (const { file } of UNSUPPORTED) if (!files.includes(file)) throw new Error(`unsupported.js: there is no ${file}`);
  const chosen = files.filter((file) => wanted.length === 0 || wanted.some((text) => file.includes(text)));
  if (chosen.length === 0) throw new RangeError(`no test file has ${wanted.join(' or ')} in its path`);
  return chosen;
}

/**
 * @returns {Promise<{ passed: number, failed: number, skipped: number, fault?: string }>} of one
 *   file
 */
async function runFile({ runtime, command, env }, file) {
  const entries = UNSUPPORTED.filter((entry) => entry.file === file && entry.runtimes.includes(runtime));
  if (entries.some(({ tests }) => tests.length === 0)) return { passed: 0, failed: 0, skipped: 1 };
  const reasons = Object.fromEntries(entries.flatMap(({ tests, reason }) => tests.map((test) => [test, reason])));
  const { status, stdout, stderr, why } = await run([...command(), path.join(COPY, file)], {
    cwd: COPY,
    env: { ...env, FRAMEMASK_TEST_SKIPPED: JSON.stringify(reasons) },
    timeout: 900_000
  });
  const lines = stdout.trim().split('\n');
  const last = lines.pop();
  const counts = last.startsWith('{"passed"') ? JSON.parse(last) : { passed: 0, failed: 0, skipped: 0 };
  const skipped = lines.filter((line) => line.startsWith('skipped: '));
  const faults = Object.keys(reasons)
    .filter((test) => !skipped.some((line) => line.includes(test)))
    .map((test) => `unsupported.js names a test that is not there: ${test}`);
  if (status !== 0 || counts.passed + counts.skipped === 0) faults.push(stdout, stderr, why);
  return { ...counts, fault: faults.length + counts.failed > 0 ? [...faults, ...lines].join('\n') : undefined };
}

module.exports = {
  summary: 'the tests of the codec, connections, masking, sockets, framemask/ws and frame ids in Bun and Deno',
  details: `With the addon (npm run build) and with JavaScript. unsupported.js lists the tests that can't run there. Node.js runs
if it is named, to compare the stand-in for tap.`,
  files: 'parts of the paths of tests; all by default',
  linuxOnly: true,
  only: ['runtime', RUNTIMES],
  columns: ['passed', 'skipped'],

  async run({ only }, { chosen, files, results, progress }) {
    const tests = listFiles(files);
    stage();
    for (const one of chosen.filter(({ runtime }) => only !== undefined || runtime !== 'node')) {
      await results.add(one.name, async () => {
        const total = { passed: 0, skipped: 0, faults: [] };
        const queue = tests.values();
        const work = async () => {
          for (const file of queue) {
            const { passed, failed, skipped, fault } = await runFile(one, file);
            total.passed += passed;
            total.skipped += skipped;
            if (fault !== undefined) total.faults.push(`${file}: ${fault}`);
            progress(`${one.name}, ${file}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
          }
        };
        await Promise.all(Array.from({ length: os.availableParallelism() }, work));
        return { cells: [`${total.passed}`, `${total.skipped}`], faults: total.faults };
      });
    }
  }
};
