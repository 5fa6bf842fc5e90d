'use strict';

// Runs one of the checks of this folder: each is a file, or a folder with an index.js.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { NotHere } = require('../../scripts/support/fetch');
const { installDependencies } = require('../../scripts/support/install');
const { nameOf, select } = require('../../scripts/support/select');
const { Results } = require('./support/results');

/**
 * @typedef {object} Check
 * @property {string} summary one line for --list
 * @property {string} [details] more for --help
 * @property {Record<string, { text: string, value?: string, default?: string }>} [options] `text`
 *   is for --help; an option takes a value if `value` names it
 * @property {[kind: string, items: (string | { name: string })[]]} [only] the items that --only
 *   names
 * @property {string} [files] the files that the command line may name, for --help
 * @property {string[]} [columns] of the table of results
 * @property {boolean} [linuxOnly] whether it needs Linux on x64
 * @property {boolean} [packages] whether it needs those of test/system/package.json
 * @property {(options: object, context: { files: string[], chosen: any[], results: Results,
 *   progress: (message: string) => void }) => Promise<void>} run adds results; throws NotHere if
 *   this machine can't run it. `chosen` has the items that --only names, or all
 */

const USAGE = `usage: npm run test:system -- NAME [options of the check]
       npm run test:system -- NAME --help
       npm run test:system -- --list

Runs a check of test/system/. It installs what it needs in .cache/ and test/system/node_modules/. With CI=true,
a part that can't be run is a failure.

Exit code: 0 if all is well, 1 if something failed, 2 if this machine can't run the check or an option is wrong.`;

/** @returns {Map<string, string>} the files of all checks, by their names */
function findChecks() {
  const names = fs.readdirSync(__dirname).filter((name) => name !== 'run.js');
  const files = names.map((name) => path.join(__dirname, name, name.endsWith('.js') ? '' : 'index.js'));
  return new Map(files.flatMap((file, i) => (fs.existsSync(file) ? [[path.parse(names[i]).name, file]] : [])));
}

/** @param {[string, string][]} rows @returns {string} two columns */
function columns(rows) {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

/** @param {Check} check @returns {Check['options']} with those that run.js adds */
function optionsOf({ options = {}, only }) {
  const added = { help: { text: 'print this' } };
  if (only) added.only = { value: `${only[0]}s`, text: 'only these, with commas between' };
  return { ...options, ...added };
}

/** @param {Check} check @returns {string} what --help prints */
function describe(name, check) {
  const { summary, details, files, only } = check;
  const rows = Object.entries(optionsOf(check)).map(([option, { value, text, default: given }]) => [
    value === undefined ? `--${option}` : `--${option} <${value}>`,
    given === undefined ? text : `${text} (${given})`
  ]);
  const parts = [
    `usage: npm run test:system -- ${name} [options]${files === undefined ? '' : ' [file...]'}`,
    `${summary[0].toUpperCase()}${summary.slice(1)}.`,
    details,
    files && `file: ${files}`,
    only && `${only[0]}s: ${only[1].map(nameOf).join(' ')}`,
    columns(rows)
  ];
  return parts.filter(Boolean).join('\n\n');
}

/**
 * @param {Check} check
 * @returns {{ values: object, positionals: string[] }}
 * @throws {RangeError}
 */
function readOptions(check, args) {
  const known = Object.entries(optionsOf(check)).map(([option, { value, default: given }]) => [
    option,
    { type: value === undefined ? 'boolean' : 'string', ...(given !== undefined && { default: given }) }
  ]);
  try {
    return parseArgs({ args, options: Object.fromEntries(known), allowPositionals: check.files !== undefined });
  } catch (error) {
    throw new RangeError(
      `${error.message.split('. ')[0]}. The options are ${known.map(([key]) => `--${key}`).join(', ')}`
    );
  }
}

/** @returns {Promise<number>} the exit code */
async function main([name, ...args]) {
  if (name === undefined || name === '--help') {
    console.log(USAGE);
    return name === undefined ? 2 : 0;
  }
  const checks = findChecks();
  if (name === '--list') {
    console.log(columns([...checks].map(([one, file]) => [one, require(file).summary])));
    return 0;
  }
  if (!checks.has(name)) throw new RangeError(`There is no check ${name}; there are ${[...checks.keys()].join(', ')}`);
  /** @type {Check} */
  const check = require(checks.get(name));
  const { values, positionals: files } = readOptions(check, args);
  if (values.help) {
    console.log(describe(name, check));
    return 0;
  }
  if (check.linuxOnly && `${process.platform}-${process.arch}` !== 'linux-x64')
    throw new NotHere('It needs Linux on x64');
  const results = new Results(check.columns);
  const chosen = check.only && select(...check.only, values.only && [values.only]);
  if (check.packages) installDependencies(__dirname);
  await check.run(values, { files, chosen, results, progress: results.progress });
  const passed = results.end();
  console.log(`\n${name}: ${passed ? 'passed' : 'FAILED'} in ${(performance.now() / 1000).toFixed(0)} s`);
  return passed ? 0 : 1;
}

// An exit ends the processes that the check has started.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

main(process.argv.slice(2))
  .catch((error) => {
    const isNotHere = error instanceof NotHere;
    const isUsage = error instanceof RangeError;
    console.error(isUsage ? error.message : isNotHere ? `NOT RUN: ${error.message}` : error.stack);
    return isUsage || isNotHere ? 2 : 1;
  })
  // A part that failed may have left connections and programs.
  .then((code) => process.exit(code));
