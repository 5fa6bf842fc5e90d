'use strict';

// Checks src/ with clang-format and clang-tidy. clang-format is a devDependency; clang-tidy is not
// on npm, so the first run installs it from PyPI in .cache/.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const USAGE = `usage: node scripts/lint-cpp.js [--write] [--help]

Checks the C++ files in src/ by .clang-format and .clang-tidy. Exit code 1 if anything is found.

  --write  format the files, and don't run clang-tidy
  --help   print this

clang-tidy needs Python and, for the first run, the network. Without them it is skipped; with
CI=true that is a failure.`;

const CLANG_TIDY = '23.1.4';

const root = path.join(__dirname, '..');

/** @returns {string[]} the files of src/, relative to the root */
function findSources() {
  return fs
    .readdirSync(path.join(root, 'src'), { recursive: true })
    .filter((name) => /\.(cc|h)$/.test(name))
    .sort()
    .map((name) => path.join('src', name));
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {object} [options]
 * @returns {boolean} whether it ran and exited with 0
 */
function run(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) throw error;
  return status === 0;
}

/**
 * @param {string[]} sources
 * @param {boolean} write
 * @returns {boolean} whether the format is right
 */
function format(sources, write) {
  const { clangFormatPath } = require('clang-format-node');
  return run(clangFormatPath, [...(write ? ['-i'] : ['--dry-run', '-Werror']), ...sources]);
}

/** @returns {string} the path of clang-tidy, which is installed if it is missing */
function findClangTidy() {
  const folder = path.join(root, '.cache/lint', `clang-tidy-${CLANG_TIDY}`);
  const programs = path.join(folder, process.platform === 'win32' ? 'Scripts' : 'bin');
  const clangTidy = path.join(programs, process.platform === 'win32' ? 'clang-tidy.exe' : 'clang-tidy');
  if (fs.existsSync(clangTidy)) return clangTidy;

  console.log(`lint-cpp: installing clang-tidy ${CLANG_TIDY} in .cache/lint`);
  const steps = [
    [process.platform === 'win32' ? 'python' : 'python3', ['-m', 'venv', folder]],
    [path.join(programs, 'python'), ['-m', 'pip', 'install', '--quiet', `clang-tidy==${CLANG_TIDY}`]]
  ];
  for (const [program, args] of steps) {
    const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
    if (status === 0) continue;
    fs.rmSync(folder, { recursive: true, force: true });
    throw error ?? new Error(stderr.trim().split('\n').at(-1) || `${program} ${args.join(' ')} failed`);
  }
  return clangTidy;
}

/** @returns {boolean} whether clang-tidy found nothing, or could be skipped */
function tidy() {
  let clangTidy;
  try {
    clangTidy = findClangTidy();
  } catch (error) {
    console.log(`lint-cpp: no clang-tidy (${error.message}); only the format was checked`);
    return process.env.CI !== 'true';
  }
  // binding.gyp is JSON. Its sources are compiled on every platform.
  const { sources, defines } = JSON.parse(fs.readFileSync(path.join(root, 'binding.gyp'), 'utf8')).targets[0];
  const flags = [
    '-std=c++17',
    ...defines.map((define) => `-D${define}`),
    `-isystem${require('node-api-headers').include_dir}`,
    `-isystem${path.dirname(require.resolve('node-addon-api'))}`
  ];
  return run(clangTidy, ['--quiet', ...sources, '--', ...flags]);
}

/** @returns {number} the exit code */
function main() {
  const { values } = parseArgs({ options: { write: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const sources = findSources();
  const write = values.write === true;
  const results = [format(sources, write), write || tidy()];
  return results.every(Boolean) ? 0 : 1;
}

process.exitCode = main();
