'use strict';

// Packs the package, checks the tarball, and installs it with each package manager.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { findNamespace, runIsolated } = require('./package/isolated');
const { lint } = require('./package/lint');
const { MANAGERS } = require('./package/managers');
const { KINDS } = require('./package/programs');
const { ROOT, checkTarball, pack, packFolder, unpack } = require('./package/tarball');
const { checkWs } = require('./package/ws');
const { NotHere, fetchNpm } = require('../test/support/fetch');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');

const USAGE = `usage: npm run test:package [-- [--only <manager>[,<manager>...]] [--tarball <file>] [--ci] [--help]]

Packs this checkout, which builds all prebuilds, and checks the tarball: its size, its files, its
entries, framemask/ws with and without ws, and what publint and arethetypeswrong report. Then each
package manager installs it in an empty project, as a file and by its name from a registry on this
machine, without a compiler and without a network; npm, pnpm and Yarn also as bufferutil beside ws 7 and
8.16. If a manager prints more than its summary, or
installs other files than those of the tarball, it fails. Programs run there as CommonJS, as ES
modules and, once for each manager, as TypeScript (strict, nodenext), and must get a native kernel.
Linux on x64. The first run downloads the managers from npm to .cache/platforms/. What can't be run
is listed as NOT RUN. The exit code is 0 if none failed.

  --only     only these managers
  --tarball  test this file and pack nothing
  --ci       NOT RUN is a failure
  --help     print this

managers: ${MANAGERS.map(({ name }) => name).join(' ')}`;

/**
 * @typedef {object} Result
 * @property {string} manager
 * @property {string} source
 * @property {'passed' | 'FAILED' | 'NOT RUN'} outcome
 * @property {string[]} cells of its row in the table
 * @property {string[]} faults
 */

/** @returns {{ tasks: import('./package/isolated').Task[], notRun: Result[] }} */
function prepare(managers) {
  const tasks = [];
  const notRun = [];
  for (const { name, sources, oldWs = [], prepare: get } of managers) {
    try {
      const commands = get();
      for (const [i, source] of sources.entries()) {
        // The types are the same files for both sources.
        const kinds = i === 0 ? ['commonjs', 'module', 'typescript'] : ['commonjs', 'module'];
        tasks.push({ manager: name, source, commands, kinds });
      }
      for (const ws of oldWs) tasks.push({ manager: name, source: `ws ${ws}`, ws, commands, kinds: ['oldWs'] });
    } catch (error) {
      if (!(error instanceof NotHere)) throw error;
      notRun.push({ manager: name, source: '', outcome: 'NOT RUN', cells: [error.message], faults: [] });
    }
  }
  return { tasks, notRun };
}

/**
 * @param {import('./package/isolated').Task} task
 * @param {import('./package/isolated').Report} report
 * @returns {Result}
 */
function judge({ manager, source, commands, kinds }, { remarks, traces, outcomes, kernels, error }) {
  if (error !== null) {
    const cells = [commands.version, 'an error', '', '', '', '', '', ''];
    return { manager, source, outcome: 'FAILED', cells, faults: [error] };
  }
  const faults = [
    ...(remarks.length === 0 ? [] : [`it printed\n${remarks.join('\n')}`]),
    ...traces,
    ...kinds.filter((kind) => outcomes[kind] !== 'passed').map((kind) => `${kind}: ${outcomes[kind]}`)
  ];
  const cells = [
    commands.version,
    remarks.length === 0 ? 'nothing' : 'a remark',
    traces.length === 0 ? 'none' : 'SOME',
    ...KINDS.map((kind) => (!kinds.includes(kind) ? '-' : outcomes[kind] === 'passed' ? 'passed' : 'FAILED')),
    kernels.join(', ')
  ];
  return { manager, source, outcome: faults.length === 0 ? 'passed' : 'FAILED', cells, faults };
}

function printTable(results) {
  const head = [
    'manager',
    'by',
    'version',
    'printed',
    'scripts',
    'CommonJS',
    'ES module',
    'TypeScript',
    'old ws',
    'kernel',
    ''
  ];
  const rows = results.map(({ manager, source, outcome, cells }) =>
    outcome === 'NOT RUN' ? [manager, source, `NOT RUN: ${cells[0]}`] : [manager, source, ...cells, outcome]
  );
  printRows([head, ...rows]);
  for (const { manager, source, faults } of results) {
    for (const fault of faults) console.log(`\n${manager}, by ${source}: ${fault}`);
  }
  const count = (outcome) => results.filter((result) => result.outcome === outcome).length;
  console.log(`\n${count('passed')} passed, ${count('FAILED')} failed, ${count('NOT RUN')} not run`);
}

/** @returns {boolean} whether the tarball passes all checks */
function inspect(tarball, { scratch, unpacked }, ci, progress) {
  const { size, faults } = checkTarball(unpack(tarball, unpacked));
  faults.push(...checkWs(unpacked, scratch));
  try {
    faults.push(...lint(tarball));
  } catch (error) {
    if (!(error instanceof NotHere)) throw error;
    progress(`publint and arethetypeswrong: NOT RUN: ${error.message}`);
    if (ci) faults.push('publint and arethetypeswrong did not run');
  }
  progress(`${path.basename(tarball)}: ${size} bytes unpacked, ${faults.length === 0 ? 'passed' : 'FAILED'}`);
  for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`);
  return faults.length === 0;
}

/** @returns {Promise<Result[]>} one for each install */
async function install(managers, { scratch, tarball, unpacked }, progress) {
  const { tasks, notRun } = prepare(managers);
  progress(`${tasks.length} installs`);
  const needsTypeScript = tasks.some(({ commands }) => commands.add !== undefined);
  const others = ['node-gyp-build', ...(needsTypeScript ? ['typescript', '@types/node', 'undici-types'] : [])];
  const oldWs = [...new Set(tasks.flatMap(({ ws }) => ws ?? []))].map((version) => fetchNpm(`ws@${version}`));
  const folders = [...others.map((name) => path.join(ROOT, 'node_modules', name)), ...oldWs];
  const plan = { scratch, tarball, unpacked, tasks, others: folders.map((folder) => packFolder(folder, scratch)) };
  const namespace = findNamespace();
  const results = [];
  await runIsolated(plan, namespace, (report) => {
    const task = tasks[results.length];
    const result = judge(task, report);
    results.push(result);
    progress(`${results.length}/${tasks.length} ${task.manager}, by ${task.source}: ${result.outcome}`);
  });
  const network = namespace ? 'none' : "this machine's, because unshare does not work here";
  progress(`network of the installs and programs: ${network}`);
  return [...results, ...notRun];
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      tarball: { type: 'string' },
      ci: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('runs on Linux x64 only');
  const managers = select('manager', MANAGERS, values.only);
  const progress = createProgress();
  const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-package-')));
  try {
    if (values.tarball === undefined) progress('npm pack');
    const tarball = values.tarball === undefined ? pack(scratch) : path.resolve(values.tarball);
    const unpacked = path.join(scratch, 'unpacked');
    const sound = inspect(tarball, { scratch, unpacked }, values.ci, progress);
    const results = await install(managers, { scratch, tarball, unpacked }, progress);
    printTable(results);
    const bad = (outcome) => outcome === 'FAILED' || (values.ci && outcome === 'NOT RUN');
    if (!sound) console.log('The tarball has faults: see above.');
    if (!sound || results.some(({ outcome }) => bad(outcome))) process.exitCode = 1;
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(`test:package: ${error.message}`);
  process.exitCode = 1;
});
