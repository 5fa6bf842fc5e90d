'use strict';

// Runs the tests of the codec, of masking, of sockets, of framemask/ws and of frame ids in Bun and
// Deno, with the addon and in JavaScript. tap loads on neither, so test/support/tap-stand-in.js
// takes its place.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { CACHE, fetchNpm } = require('../test/support/fetch');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');
const { UNSUPPORTED } = require('./runtimes/unsupported');

const USAGE = `usage: npm run test:runtimes [-- [--only <runtime>] [--files <text>] [--kernel <name>] [--verbose] [--help]]

Runs the tests of the codec, of masking, of sockets, of framemask/ws, of tracing and of frame ids in Bun and Deno, each
with the addon (npm run build) and with the JavaScript fallback. Linux on x64. The first run downloads both from
npm to .cache/platforms/. scripts/runtimes/unsupported.js lists the tests that can't run there. The exit
code is 0 if all others passed.

  --only     only bun or only deno; node runs the tests with the stand-in for tap, too
  --files    only the test files whose path has this in it; may be given several times
  --kernel   only this value of FRAMEMASK_KERNEL; native stands for the best kernel
  --verbose  print skipped tests, too
  --help     print this`;

const ROOT = path.join(__dirname, '..');
const STAGED = [
  'index.js',
  'index.mjs',
  'ws.js',
  'ws.mjs',
  'package.json',
  'lib',
  'test',
  'src',
  'scripts',
  'fuzz',
  'build/Release'
];
const TESTS = /^test\/((codec|masking|shared|sockets|hazards|ws)\/.*|(tracing|frame-id)[^/]*)\.js$/;
const TIMEOUT = 900_000;

/** `node` is run only when --only asks for it: to compare the stand-in with tap. */
const DEFAULT_RUNTIMES = ['bun', 'deno'];
const KERNELS = ['native', 'js'];

const RUNTIMES = [
  {
    name: 'node',
    command: () => [process.execPath]
  },
  {
    name: 'bun',
    command: () => [path.join(fetchNpm('@oven/bun-linux-x64@1'), 'bin/bun')]
  },
  {
    name: 'deno',
    command() {
      const deno = path.join(fetchNpm('@deno/linux-x64-glibc@2'), 'deno');
      fs.chmodSync(deno, 0o755);
      // framemask needs ffi, read and env. Tests also make folders, programs and connections, some
      // of them over Unix sockets.
      const permissions = ['ffi', 'read', 'env', 'write', 'run', 'sys', 'net'];
      return [deno, 'run', ...permissions.map((name) => `--allow-${name}`)];
    },
    env: { DENO_DIR: path.join(CACHE, 'deno'), DENO_NO_UPDATE_CHECK: '1' }
  }
];

/**
 * Copies the project to a folder in which require('tap') loads the stand-in.
 *
 * @returns {string} the folder, removed when the process ends
 */
function stage() {
  fs.mkdirSync(CACHE, { recursive: true });
  const folder = fs.mkdtempSync(path.join(CACHE, '../runtimes-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const filter = (file) => !file.endsWith('obj.target');
  for (const name of STAGED) fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true, filter });
  const modules = path.join(folder, 'node_modules');
  fs.mkdirSync(path.join(modules, 'tap'), { recursive: true });
  fs.writeFileSync(path.join(modules, 'tap/package.json'), '{ "name": "tap", "main": "index.js" }\n');
  fs.writeFileSync(
    path.join(modules, 'tap/index.js'),
    "module.exports = require('../../test/support/tap-stand-in');\n"
  );
  for (const name of fs.readdirSync(path.join(ROOT, 'node_modules'))) {
    if (name === 'tap' || name.startsWith('.')) continue;
    fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  }
  return folder;
}

/** @returns {string[]} the test files, relative to the project */
function listFiles(wanted = ['']) {
  const files = fs
    .readdirSync(path.join(ROOT, 'test'), { recursive: true })
    .map((file) => path.posix.join('test', file))
    .filter((file) => TESTS.test(file))
    .sort();
  for (const { file } of UNSUPPORTED) if (!files.includes(file)) throw new Error(`unsupported.js: there is no ${file}`);
  const chosen = files.filter((file) => wanted.some((text) => file.includes(text)));
  if (chosen.length === 0) throw new Error(`no test file has ${wanted.join(' or ')} in its path`);
  return chosen;
}

/**
 * Runs one test file.
 *
 * @returns {Promise<{ passed: number, failed: number, skipped: number, output: string }>} how many
 *   tests and assertions passed, failed or were skipped, and what to print
 */
async function runFile({ name, command, env }, kernel, folder, file) {
  const entries = UNSUPPORTED.filter((entry) => entry.file === file && entry.runtimes.includes(name));
  const whole = entries.find(({ tests }) => tests === undefined);
  if (whole) return { passed: 0, failed: 0, skipped: 1, output: `skipped: ${whole.reason}` };

  const [program, ...args] = command();
  const variables =
    kernel === 'native' ? { FRAMEMASK_REQUIRE_NATIVE: '1', FRAMEMASK_KERNEL: '' } : { FRAMEMASK_KERNEL: kernel };
  const reasons = new Map(entries.flatMap(({ tests, reason }) => tests.map((test) => [test, reason])));
  const skipped = JSON.stringify(Object.fromEntries(reasons));
  const options = {
    cwd: folder,
    env: { ...process.env, ...env, ...variables, FRAMEMASK_TEST_SKIPPED: skipped },
    maxBuffer: 2 ** 28,
    timeout: TIMEOUT
  };
  const { error, stdout, stderr } = await new Promise((resolve) => {
    execFile(program, [...args, path.join(folder, file)], options, (error, stdout, stderr) =>
      resolve({ error, stdout, stderr })
    );
  });
  const lines = stdout.trim().split('\n');
  const last = lines.pop();
  const counts = last.startsWith('{"passed"') ? JSON.parse(last) : { passed: 0, failed: 0, skipped: 0 };
  // The list must not keep tests that were renamed or removed.
  for (const test of reasons.keys()) {
    if (!lines.some((line) => line.startsWith('skipped: ') && line.includes(test))) {
      counts.failed++;
      lines.push(`failed: unsupported.js names a test that is not there: ${test}`);
    }
  }
  const ran = counts.passed > 0 || counts.skipped > 0;
  if (error === null && counts.failed === 0 && ran) return { ...counts, output: lines.join('\n') };
  const ended = `failed: ${error === null ? 'no test ran' : `exit code ${error.code}, signal ${error.signal}`}`;
  return { ...counts, failed: Math.max(counts.failed, 1), output: [...lines, last, stderr, ended].join('\n') };
}

/** @returns {string} the result of a file */
function describe({ passed, failed, skipped }) {
  if (failed > 0) return 'FAILED';
  return [passed > 0 && `${passed} passed`, skipped > 0 && `${skipped} skipped`].filter(Boolean).join(', ');
}

/** Calls `work` with each item, as many at a time as there are cores. */
async function forEachInParallel(items, work) {
  const queue = [...items];
  async function next() {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  }
  await Promise.all(Array.from({ length: os.availableParallelism() }, next));
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      files: { type: 'string', multiple: true },
      kernel: { type: 'string', multiple: true },
      verbose: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('runs on Linux x64 only');
  const runtimes = select('runtime', RUNTIMES, values.only ?? DEFAULT_RUNTIMES);
  const files = listFiles(values.files);
  const folder = stage();
  const progress = createProgress();
  const rows = [];
  for (const runtime of runtimes) {
    for (const kernel of values.kernel ?? KERNELS) {
      const total = { passed: 0, failed: 0, skipped: 0 };
      await forEachInParallel(files, async (file) => {
        const { output, ...counts } = await runFile(runtime, kernel, folder, file);
        for (const key of Object.keys(total)) total[key] += counts[key];
        progress(`${runtime.name}, ${kernel}: ${file}: ${describe(counts)}`);
        if (counts.failed > 0 || values.verbose) console.log(output);
      });
      rows.push([runtime.name, kernel, ...Object.entries(total).map(([key, count]) => `${count} ${key}`)]);
    }
  }
  printRows(rows);
  if (rows.some((row) => row[3] !== '0 failed')) process.exitCode = 1;
}

main().catch((error) => {
  console.error(`test:runtimes: ${error.message}`);
  process.exitCode = 1;
});
