'use strict';

// Runs one of the checks of this folder: each is a file, or a folder with an index.js.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { NotHere } = require('../support/fetch');
const { createProgress } = require('../support/report');
const { dependencies } = require('./package.json');

/**
 * @typedef {object} Check
 * @property {string} summary one line for --list
 * @property {string} [details] more for --help
 * @property {Record<string, Option>} [options] as node:util's parseArgs takes them
 * @property {string} [files] the files that the command line may name, for --help
 * @property {boolean} [linuxOnly] whether it needs Linux on x64
 * @property {boolean} [packages] whether it needs those of test/system/package.json
 * @property {(options: object, context: { files: string[], progress: (message: string) => void }) =>
 *   boolean | Promise<boolean>} run returns whether all is well; throws NotHere if this machine can't
 *   run it
 *
 * @typedef {{ type: 'string' | 'boolean', multiple?: boolean, default?: string, value?: string,
 *   text: string }} Option `value` names its value, and `text` says the rest, for --help
 */

const USAGE = `usage: npm run test:system -- NAME [options of the check]
       npm run test:system -- NAME --help
       npm run test:system -- --list

Runs a check of test/system/. It installs what it needs in .cache/ and test/system/node_modules/. With CI=true,
a part that can't be run is a failure.

Exit code: 0 if all is well, 1 if something failed, 2 if this machine can't run the check or an option is wrong.`;

/** An error of the command line. */
class WrongUsage extends Error {}

/** @returns {Map<string, string>} the files of all checks, by their names */
function findChecks() {
  const files = fs
    .readdirSync(__dirname)
    .sort()
    .flatMap((name) => {
      if (name.endsWith('.js')) return name === 'run.js' ? [] : [[name.slice(0, -3), path.join(__dirname, name)]];
      const file = path.join(__dirname, name, 'index.js');
      return fs.existsSync(file) ? [[name, file]] : [];
    });
  return new Map(files);
}

/** @param {[string, string][]} rows @returns {string} two columns */
function columns(rows) {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}

/** @param {Check} check @returns {string} what --help prints */
function describe(name, { summary, details, options = {}, files }) {
  const rows = Object.entries(options).map(([option, { value, text }]) => [
    value === undefined ? `--${option}` : `--${option} <${value}>`,
    text
  ]);
  const usage = `usage: npm run test:system -- ${name} [options]${files === undefined ? '' : ' [file...]'}`;
  const parts = [usage, `${summary[0].toUpperCase()}${summary.slice(1)}.`, details];
  if (files !== undefined) parts.push(`file: ${files}`);
  parts.push(columns([...rows, ['--help', 'print this']]));
  return parts.filter(Boolean).join('\n\n');
}

/** Installs the packages of this folder, unless it has these versions. */
function installPackages(progress) {
  const stamp = path.join(__dirname, 'node_modules/.installed.json');
  const wanted = JSON.stringify(dependencies);
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return;
  progress(`installing ${Object.keys(dependencies).join(', ')} in test/system/`);
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  const shell = process.platform === 'win32';
  const { status } = spawnSync('npm', args, { cwd: __dirname, stdio: ['ignore', 'inherit', 'inherit'], shell });
  if (status !== 0) throw new Error('npm install failed in test/system/');
  fs.writeFileSync(stamp, wanted);
}

/** @returns {Promise<number>} the exit code */
async function main([name, ...args]) {
  if (name === undefined || name === '--help') {
    console.log(USAGE);
    return name === undefined ? 2 : 0;
  }
  if (name === '--list') {
    console.log(columns([...findChecks()].map(([one, file]) => [one, require(file).summary])));
    return 0;
  }
  const checks = findChecks();
  if (!checks.has(name)) throw new WrongUsage(`There is no check ${name}; there are ${[...checks.keys()].join(', ')}`);
  /** @type {Check} */
  const check = require(checks.get(name));
  const { values, positionals } = readOptions(check, args);
  if (values.help) {
    console.log(describe(name, check));
    return 0;
  }
  if (check.linuxOnly && `${process.platform}-${process.arch}` !== 'linux-x64')
    throw new NotHere('It needs Linux on x64');
  const progress = createProgress();
  const began = performance.now();
  if (check.packages) installPackages(progress);
  const passed = await check.run(values, { files: positionals, progress });
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`\n${name}: ${passed ? 'passed' : 'FAILED'} in ${seconds} s`);
  return passed ? 0 : 1;
}

/** @param {Check} check @returns {{ values: object, positionals: string[] }} */
function readOptions({ options = {}, files }, args) {
  const known = Object.entries(options).map(([option, { value, text, ...rest }]) => [option, rest]);
  const help = { type: 'boolean' };
  try {
    return parseArgs({
      args,
      options: { ...Object.fromEntries(known), help },
      allowPositionals: files !== undefined
    });
  } catch (error) {
    throw new WrongUsage(
      `${error.message.split('. ')[0]}. The options are ${[...known.map(([key]) => `--${key}`), '--help'].join(', ')}`
    );
  }
}

// An exit ends the processes that the check has started.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    const isUsage = error instanceof WrongUsage || error instanceof RangeError;
    const isNotHere = error instanceof NotHere;
    console.error(isUsage ? error.message : isNotHere ? `NOT RUN: ${error.message}` : error.stack);
    process.exit(isUsage || isNotHere ? 2 : 1);
  }
);
