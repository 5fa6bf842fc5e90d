'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { generateApi } = require('./docs/api');

const ROOT = path.join(__dirname, '..');

const USAGE = `usage: npm run build:docs [-- --check]

Writes docs/api.md, which is generated from index.d.ts.

  --check  write nothing; exit code 1 if a file in docs/ is not what would be written
  --help   print this`;

/** The files of docs/ that are generated, and what generates them. */
const FILES = { 'docs/api.md': generateApi };

/** @param {string} file @returns {string | null} its text; null if there is no such file */
function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
}

async function main() {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  for (const [name, generate] of Object.entries(FILES)) {
    const file = path.join(ROOT, name);
    const text = await generate();
    if (read(file) === text) continue;
    if (values.check) {
      console.error(`${name} is out of date. Run npm run build:docs.`);
      process.exitCode = 1;
    } else {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
      console.log(`${name} written`);
    }
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
