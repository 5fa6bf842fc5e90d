'use strict';

// Runs the prebuilds on each platform that this machine can run or emulate.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { CACHE, NotHere } = require('../test/support/fetch');
const { PLATFORMS, ROOT_ARGUMENT, SMOKE } = require('./platforms/platforms');
const { ROOT, stage } = require('./platforms/stage');
const { installToolchain } = require('./prebuild/toolchain');
const { installDebian, missing } = require('../test/support/debian');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');

const USAGE = `usage: npm run test:platforms [-- [--only <platform>[,<platform>...]] [--ci] [--install] [--loaders <folder>]
                                   [--prebuilds <folder>] [--help]]

Loads the files of prebuilds/ (npm run build:prebuilds makes them), masks and scans with each
kernel, and compares with JavaScript: in Node.js, Bun and Deno, with other C libraries, on emulated
processors and under Wine. Linux on x64. The first run downloads the runtimes from npm, PyPI and
Debian to .cache/platforms/. Platforms that can't be run are listed as NOT RUN. The exit code is 0
if none failed.

  --only       only these platforms
  --ci         a shorter list, and NOT RUN is a failure
  --install    install missing Debian packages with apt-get
  --loaders    a folder with foreign.cc, a loader for files of macOS and of Windows on ARM; by default the first
               ../*/platforms/ that has one
  --prebuilds  another folder than prebuilds/
  --help       print this

platforms: ${PLATFORMS.map(({ name }) => name).join(' ')}`;

const TIMEOUT = 300_000;

/**
 * @typedef {object} Result
 * @property {import('./platforms/platforms').Platform} platform
 * @property {'passed' | 'FAILED' | 'NOT RUN'} outcome
 * @property {string} detail what ran, why it failed or why it did not run
 * @property {number} seconds
 */

/** @returns {string | null} a folder with a loader for files of other systems */
function findLoaders(given) {
  if (given !== undefined) return path.resolve(given);
  const beside = path.join(ROOT, '..');
  const folders = fs.readdirSync(beside).map((name) => path.join(beside, name, 'platforms'));
  return folders.find((folder) => fs.existsSync(path.join(folder, 'foreign.cc'))) ?? null;
}

/** Runs a program with its output in files: under Wine, writing to a pipe fails with EBADF. */
function runProgram([program, ...args], env, app) {
  const files = ['stdout', 'stderr'].map((name) => path.join(CACHE, `${name}.txt`));
  const [stdout, stderr] = files.map((file) => fs.openSync(file, 'w'));
  const { status, signal, error } = spawnSync(program, args, {
    cwd: app,
    env: { ...process.env, ...env },
    stdio: ['ignore', stdout, stderr],
    timeout: TIMEOUT
  });
  for (const descriptor of [stdout, stderr]) fs.closeSync(descriptor);
  return {
    status,
    signal,
    error,
    output: fs.readFileSync(files[0], 'utf8'),
    errors: fs.readFileSync(files[1], 'utf8')
  };
}

/** @returns {string} what ran @throws {Error} if the test failed */
function judge(platform, { status, signal, error, output, errors }) {
  if (status !== 0) {
    const why = error ? error.message : `exit code ${status}, signal ${signal}`;
    const lines = `${output}${errors}`.trim().split('\n').filter(Boolean);
    const telling = lines.filter((line) => /Error|illegal|Illegal|panic/.test(line));
    throw new Error(`${why}: ${(telling.length > 0 ? telling : lines.slice(-3)).join(' ').slice(0, 400)}`);
  }
  const report = JSON.parse(output.slice(output.indexOf('{')));
  const [os, arch] = platform.prebuild.split('-');
  if (platform.kernel ? report.kernel !== platform.kernel : !/^(sse2|avx2|avx512|neon)$/.test(report.kernel)) {
    throw new Error(`the kernel is ${report.kernel}, not ${platform.kernel ?? 'one with vectors'}`);
  }
  // The files for macOS and for Windows on ARM run in a Node.js for Linux.
  if (report.arch !== arch || (report.platform !== os && report.platform !== 'linux')) {
    throw new Error(`ran on ${report.platform}-${report.arch}`);
  }
  if (!(report.checks > 0)) throw new Error('nothing was checked');
  return `${report.version}, ${report.kernel} of ${report.kernels.join(' ')}, ${report.checks} checks`;
}

/** @returns {Promise<Result>} */
async function test(platform, context) {
  const start = Date.now();
  const result = (outcome, detail) => ({ platform, outcome, detail, seconds: (Date.now() - start) / 1000 });
  try {
    const packages = missing(platform.packages);
    if (packages.length > 0) throw new NotHere(`not installed: ${packages.join(' ')} (--install)`);
    const { command, args = ROOT_ARGUMENT(context.app), env } = await platform.prepare(context);
    // With another root folder, the command already names the test.
    const test = command.at(-1).endsWith('smoke.cjs') ? [] : [SMOKE(context.app)];
    const quick = platform.quick ? ['--quick'] : [];
    return result('passed', judge(platform, runProgram([...command, ...test, ...args, ...quick], env, context.app)));
  } catch (error) {
    return result(error instanceof NotHere ? 'NOT RUN' : 'FAILED', error.message.replace(/\s+/g, ' '));
  }
}

function printTable(results) {
  const rows = results.map(({ platform, outcome, detail, seconds }) => [
    platform.name,
    platform.prebuild,
    outcome === 'NOT RUN' ? '' : `${seconds.toFixed(1)} s`,
    outcome,
    outcome === 'passed' ? `${detail}; ${platform.by}` : detail
  ]);
  printRows(rows);
  const count = (outcome) => results.filter((result) => result.outcome === outcome).length;
  console.log(`\n${count('passed')} passed, ${count('FAILED')} failed, ${count('NOT RUN')} not run`);
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      ci: { type: 'boolean' },
      install: { type: 'boolean' },
      loaders: { type: 'string' },
      prebuilds: { type: 'string' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('runs on Linux x64 only');
  const progress = createProgress();
  const all = select('platform', PLATFORMS, values.only);
  const platforms = values.ci && values.only === undefined ? all.filter(({ ci }) => ci) : all;
  const prebuilds = path.resolve(values.prebuilds ?? path.join(ROOT, 'prebuilds'));
  if (!fs.existsSync(prebuilds)) throw new Error(`there is no ${prebuilds}: npm run build:prebuilds makes it`);

  if (values.install) installDebian([...new Set(platforms.flatMap(({ packages }) => packages))], progress);
  const loaders = findLoaders(values.loaders);
  if (loaders !== null && platforms.some(({ by }) => by.startsWith('a loader'))) await installToolchain(progress);
  const context = { app: stage(prebuilds), loaders };
  const results = [];
  for (const platform of platforms) {
    const result = await test(platform, context);
    results.push(result);
    progress(`${results.length}/${platforms.length} ${platform.name}: ${result.outcome}`);
  }
  printTable(results);
  const bad = (outcome) => outcome === 'FAILED' || (values.ci && outcome === 'NOT RUN');
  if (results.some(({ outcome }) => bad(outcome))) process.exitCode = 1;
}

main().catch((error) => {
  console.error(`test:platforms: ${error.message}`);
  process.exitCode = 1;
});
