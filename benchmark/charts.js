'use strict';

// Measures what docs/figures.md shows, and draws it: beside the committed results, unless it is told
// to replace them.

require('./support/packages');
const fs = require('node:fs');
const path = require('node:path');
const { generateDocs, generateLocal } = require('./charts/pages');
const { loadFramemask } = require('./support/modules');
const { COMMON, flag, readOptions, refuse, texts } = require('./support/options');
const { CHARTED, checkParts, runParts } = require('./support/parts');
const { describeMachine, machineLine } = require('./support/report');
const { summarize } = require('./support/tables');

const ROOT = path.join(__dirname, '..');
const COMMITTED = path.join(__dirname, 'results');
const LOCAL = path.join(COMMITTED, 'local');

const USAGE = `usage: npm run bench:charts -- [options]

Runs the benchmarks of docs/figures.md one after the other, and writes their results, charts and tables to
benchmark/results/local/, which git ignores: open figures.md there. Takes about eleven minutes. Bun and Deno are
fetched from npm, unless they are on PATH. Close other programs first: a busy machine is noted in the results, and
written below each chart.`;

const OPTIONS = {
  only: texts('<part>', `measure only this part; may be given several times: ${Object.keys(CHARTED).join(', ')}`),
  quick: COMMON.quick,
  commit: flag('when all is measured, replace benchmark/results/ and what docs/ and README.md show of it'),
  draw: flag('measure nothing; draw docs/ and README.md again from benchmark/results/'),
  check: flag('measure and write nothing; exit code 1 if docs/ or README.md do not show benchmark/results/'),
  help: COMMON.help
};

/** @returns {Record<string, import('./support/report').Report>} the results in a folder, by part */
function readResults(folder) {
  const results = Object.keys(CHARTED)
    .map((name) => [name, path.join(folder, `${name}.json`)])
    .filter(([, file]) => fs.existsSync(file))
    .map(([name, file]) => [name, JSON.parse(fs.readFileSync(file, 'utf8'))]);
  return Object.fromEntries(results);
}

/**
 * @param {string[]} names of the parts that are to be measured and committed
 * @throws {RangeError} if the others are of another machine: one machine stands below all figures
 */
function checkMachine(names) {
  const own = machineLine(describeMachine(loadFramemask().kernel));
  const others = Object.entries(readResults(COMMITTED))
    .filter(([name, { machine }]) => !names.includes(name) && machineLine(machine) !== own)
    .map(([name]) => name);
  if (others.length > 0)
    throw new RangeError(
      `--commit without ${others.join(', ')}, whose results are of another machine than this: ${own}`
    );
}

/**
 * @param {Record<string, string>} files texts by path
 * @param {boolean} [check] true to write nothing, and say which files differ
 */
function writeFiles(files, check = false) {
  for (const [file, text] of Object.entries(files)) {
    const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').replaceAll('\r\n', '\n') : null;
    if (before === text) continue;
    const name = path.relative(ROOT, file);
    if (check) {
      console.error(`${name} does not show benchmark/results/: npm run bench:charts -- --draw writes it`);
      process.exitCode = 1;
      continue;
    }
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    console.log(`${name} written`);
  }
}

function onReport(report) {
  for (const line of summarize(report)) console.log(line);
  if (report.noise.length > 0) console.log(`  noisy, not to be quoted: ${report.noise.join('; ')}`);
}

async function main() {
  const { only, quick, commit, draw, check } = readOptions(USAGE, OPTIONS);
  const names = only.length > 0 ? only : Object.keys(CHARTED);
  try {
    checkParts(only, CHARTED);
    if (commit && quick) throw new RangeError('--commit does not go with --quick');
    if (commit) checkMachine(names);
  } catch (error) {
    refuse(error);
  }
  if (!draw && !check) {
    await runParts(names, quick, LOCAL, onReport);
    writeFiles(await generateLocal(readResults(LOCAL), LOCAL));
    if (!commit) return;
    for (const name of names) fs.copyFileSync(path.join(LOCAL, `${name}.json`), path.join(COMMITTED, `${name}.json`));
  }
  writeFiles(await generateDocs(readResults(COMMITTED), ROOT), check);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
