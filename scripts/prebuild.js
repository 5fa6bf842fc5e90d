'use strict';

// Builds prebuilds/ for all platforms on one Linux machine, and checks each file.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { check } = require('./prebuild/check');
const { ROOT, build, withoutSections } = require('./prebuild/build');
const { writeEntries } = require('./prebuild/entries');
const { TARGETS } = require('./prebuild/targets');
const { installToolchain } = require('./prebuild/toolchain');
const { createProgress } = require('./support/report');
const { select } = require('./support/select');

const USAGE = `usage: npm run build:prebuilds [-- [--only <target>[,<target>...]] [--out <folder>] [--help]]

Builds prebuilds/<platform>-<arch>/framemask.node for each target with prebuildify, and zig as its
compiler. Then checks each file: its imports, exports and libraries, the pages it is laid out for, and the instructions. Each kernel
must have its vector instructions; no other code may have one that the oldest supported processor
lacks. The same source gives the same bytes on every machine and in every folder. Also writes
lib/platforms/, the entries of all targets for bundlers.

Linux with make and python3. The first run installs zig, LIEF and Capstone from PyPI in .cache/.

  --only  only these targets; the files of the others stay as they are
  --out   another folder than prebuilds/
  --help  print this

targets: ${TARGETS.map(({ name }) => name).join(' ')}`;

/**
 * @param {import('./prebuild/targets').Target} target
 * @param {string} out
 * @returns {Promise<{ file: string, size: number, sum: string, kernels: string[] }>} `file` is its
 *   path below the output folder, `sum` a line of sha256sum
 * @throws {Error} if it can't be built, or a check fails
 */
async function make(target, out) {
  const built = await build(target, path.join(ROOT, '.cache/prebuild', target.name));
  const { faults, kernels } = await check(built, target);
  if (faults.length > 0) throw new Error(`${target.name}:\n  ${faults.slice(0, 20).join('\n  ')}`);

  const bytes = withoutSections(fs.readFileSync(built.file));
  put(bytes, path.join(out, target.file));
  const sum = `${createHash('sha256').update(bytes).digest('hex')}  ${target.file}`;
  return { file: target.file, size: bytes.length, sum, kernels };
}

/** Renamed into place: a program that has mapped the old file must not see it change. */
function put(bytes, file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(`${file}.new`, bytes, { mode: 0o644 });
  fs.renameSync(`${file}.new`, file);
}

function printTable(results) {
  const print = (file, bytes, note) => console.log(`${file.padEnd(38)} ${String(bytes).padStart(6)}  ${note}`);
  console.log();
  print('file', 'bytes', 'vector instructions in kernels');
  for (const { file, size, kernels } of results) print(file, size, kernels.join(', '));
  const total = results.reduce((sum, { size }) => sum + size, 0);
  print(`${results.length} files`, total, '');
  console.log();
  for (const { sum } of results) console.log(sum);
}

async function main() {
  const { values } = parseArgs({
    options: { only: { type: 'string', multiple: true }, out: { type: 'string' }, help: { type: 'boolean' } }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const progress = createProgress();
  const out = path.resolve(values.out ?? path.join(ROOT, 'prebuilds'));
  const targets = select('target', TARGETS, values.only);

  writeEntries(ROOT);
  installToolchain(progress);
  const results = [];
  const errors = [];
  let done = 0;
  const queue = targets.entries();
  const work = async () => {
    for (const [i, target] of queue) {
      try {
        results[i] = await make(target, out);
      } catch (error) {
        errors.push(error);
      }
      progress(`${++done}/${targets.length} ${target.name}: ${results[i] ? 'built and checked' : 'FAILED'}`);
    }
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, work));
  printTable(results.filter(Boolean));
  for (const { message } of errors) console.error(`\n${message}`);
  if (errors.length > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(`build:prebuilds: ${error.message}`);
  process.exitCode = 1;
});
