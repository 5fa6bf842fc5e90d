'use strict';

// Checks src/ by .clang-format and .clang-tidy; with --write it formats the files instead.
// clang-format is a devDependency; clang-tidy is not on npm, so the first run installs it from
// PyPI. Where it can't, clang-tidy is skipped; with CI=true that is a failure.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { clangFormatPath } = require('clang-format-node');
const { installPython, pythonProgram } = require('./support/install');

const ROOT = path.join(__dirname, '..');

/** @returns {boolean} whether the program exited with 0 */
function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}

/** @returns {boolean} whether clang-tidy found nothing, or could be skipped */
function tidy() {
  try {
    installPython('clang-tidy', ['clang-tidy==23.1.4'], console.log);
  } catch (error) {
    console.log(`lint-cpp: no clang-tidy (${error.message}); only the format was checked`);
    return process.env.CI !== 'true';
  }
  // binding.gyp is JSON. Its sources are compiled on every platform.
  const { sources, defines } = JSON.parse(fs.readFileSync(path.join(ROOT, 'binding.gyp'), 'utf8')).targets[0];
  const flags = [
    '-std=c++17',
    ...defines.map((define) => `-D${define}`),
    `-isystem${require('node-api-headers').include_dir}`,
    `-isystem${path.dirname(require.resolve('node-addon-api'))}`
  ];
  return run(pythonProgram('clang-tidy', 'clang-tidy'), ['--quiet', ...sources, '--', ...flags]);
}

const { write } = parseArgs({ options: { write: { type: 'boolean' } } }).values;
const files = fs.readdirSync(path.join(ROOT, 'src'), { recursive: true }).filter((name) => /\.(cc|h)$/.test(name));
const isFormatted = run(clangFormatPath, [
  ...(write ? ['-i'] : ['--dry-run', '-Werror']),
  ...files.map((name) => path.join('src', name))
]);
const isTidy = write || tidy();
process.exitCode = isFormatted && isTidy ? 0 : 1;
