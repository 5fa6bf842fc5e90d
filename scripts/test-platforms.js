'use strict';

// Runs what is in prebuilds/ on each platform that this machine can run or emulate.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { CACHE, NotHere, asRoot } = require('./platforms/fetch');
const { PLATFORMS, ROOT_ARGUMENT, SMOKE } = require('./platforms/platforms');
const { ROOT, stage } = require('./platforms/stage');
const { installToolchain } = require('./prebuild/toolchain');
const { createProgress, printRows } = require('./support/report');
const { select } = require('./support/select');

const USAGE = `usage: npm run test:platforms [-- [--only <platform>[,<platform>...]] [--ci] [--install] [--loaders <folder>]
                                   [--prebuilds <folder>] [--help]]

Masks and scans with the files of prebuilds/ (npm run prebuild makes them), and compares with JavaScript, in Node.js, Bun
and Deno, under other C libraries, on emulated processors and under Wine. Linux on x64. Runtimes come from npm, PyPI and
Debian, once, into .cache/platforms/. What can't be run is listed as NOT RUN; the exit code is 0 if all that ran passed.

  --only       these platforms alone
  --ci         the shorter list of the workflows, where NOT RUN is a failure, too
  --install    install what is missing of Debian's packages, with apt-get
  --loaders    a folder with foreign.cc, a loader for the files of macOS and of Windows on ARM; else one is looked for
               beside the checkout
  --prebuilds  another folder than prebuilds/
  --help       print this

platforms: ${PLATFORMS.map(({ name }) => name).join(' ')}`;

const TIMEOUT = 300_000;

/**
 * @typedef {object} Result
 * @property {import('./platforms/platforms').Platform} platform
 * @property {'passed' | 'FAILED' | 'NOT RUN'} outcome
 * @property {string} detail what ran, or why it failed, or why it did not run
 * @property {number} seconds
 */

/** @returns {string[]} those of Debian's packages that are not installed */
function missing(packages) {
  return packages.filter((name) => {
    const { status, stdout } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' });
    return status !== 0 || !/^Status: .* installed$/m.test(stdout);
  });
}

/** Installs what the platforms take, all at once. */
function installPackages(platforms, progress) {
  const packages = missing([...new Set(platforms.flatMap((platform) => platform.packages))]);
  if (packages.length === 0) return;
  progress(`installing ${packages.join(' ')}`);
  asRoot('apt-get', ['update', '-qq']);
  asRoot('apt-get', ['install', '-qq', '--yes', '--no-install-recommends', ...packages]);
}

/** @returns {string | null} a folder with loaders for other systems' files */
function findLoaders(given) {
  if (given !== undefined) return path.resolve(given);
  const beside = path.join(ROOT, '..');
  const folders = fs.readdirSync(beside).map((name) => path.join(beside, name, 'platforms'));
  return folders.find((folder) => fs.existsSync(path.join(folder, 'foreign.cc'))) ?? null;
}

/** Runs a program with its output in files: under Wine, a pipe is none. */
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

/** @returns {string} what ran @throws {Error} what is wrong */
function judge(platform, { status, signal, error, output, errors }) {
  if (status !== 0) {
    const why = error ? error.message : `exit code ${status}, signal ${signal}`;
    const lines = `${output}${errors}`.trim().split('\n').filter(Boolean);
    const telling = lines.filter((line) => /Error|illegal|Illegal|panic/.test(line));
    throw new Error(`${why}: ${(telling.length > 0 ? telling : lines.slice(-3)).join(' ').slice(0, 400)}`);
  }
  const said = JSON.parse(output.slice(output.indexOf('{')));
  const [os, arch] = platform.prebuild.split('-');
  if (platform.kernel ? said.kernel !== platform.kernel : !/^(sse2|avx2|avx512|neon)$/.test(said.kernel)) {
    throw new Error(`the kernel is ${said.kernel}, not ${platform.kernel ?? 'one of vectors'}`);
  }
  // Files for macOS and Windows on ARM run in a program for Linux.
  if (said.arch !== arch || (said.platform !== os && said.platform !== 'linux')) {
    throw new Error(`ran on ${said.platform}-${said.arch}`);
  }
  if (!(said.checks > 0)) throw new Error('nothing was checked');
  return `${said.version}, ${said.kernel} of ${said.kernels.join(' ')}, ${said.checks} checks`;
}

/** @returns {Promise<Result>} */
async function test(platform, context) {
  const start = Date.now();
  const result = (outcome, detail) => ({ platform, outcome, detail, seconds: (Date.now() - start) / 1000 });
  try {
    const packages = missing(platform.packages);
    if (packages.length > 0) throw new NotHere(`not installed: ${packages.join(' ')} (--install)`);
    const { command, args = ROOT_ARGUMENT(context.app), env } = await platform.prepare(context);
    // Where the file system is another one, the command has the test's name already.
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
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('only on Linux, x64');
  const progress = createProgress();
  const all = select('platform', PLATFORMS, values.only);
  const platforms = values.ci && values.only === undefined ? all.filter(({ ci }) => ci) : all;
  const prebuilds = path.resolve(values.prebuilds ?? path.join(ROOT, 'prebuilds'));
  if (!fs.existsSync(prebuilds)) throw new Error(`there is no ${prebuilds}: npm run prebuild makes it`);

  if (values.install) installPackages(platforms, progress);
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
  console.error(`test-platforms: ${error.message}`);
  process.exitCode = 1;
});
