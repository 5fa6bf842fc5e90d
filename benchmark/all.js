'use strict';

// Runs all benchmarks, one after the other, ends in a summary, and draws what docs/figures.md shows.

require('./support/packages');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { generateDocs, generateLocal } = require('./charts/pages');
const { loadFramemask, ROOT } = require('./support/modules');
const { COMMON, flag, readOptions, refuse, texts } = require('./support/options');
const { describeMachine, machineLine } = require('./support/report');
const { summarize } = require('./support/tables');

const COMMITTED = path.join(__dirname, 'results');
const LOCAL = path.join(COMMITTED, 'local');

/** The parts whose results are kept in benchmark/results/. */
const CHARTED = ['masking', 'decode', 'encode', 'echo', 'ws', 'broadcast', 'idle-memory'];

/** The arguments of each benchmark for a run of a few seconds, and for a whole run. */
const PARTS = {
  masking: ['--only 125 --only 512 --turn 1', '--turn 5'],
  decode: ['--only binary --turn 1'],
  encode: ['--only server: --turn 1'],
  echo: ['--only 100 --turn 60 --servers framemask --servers ws', '--turn 250'],
  ws: ['--only 100 --only idle --idle 200 --turn 60', '--turn 250'],
  broadcast: ['--clients 100 --turn 30', '--turn 250'],
  http2: ['--only 100 --turn 150', '--turn 250'],
  'idle-memory': ['--pairs 2000 --rounds 1'],
  deflate: ['--only 128'],
  'cold-start': ['--rounds 1'],
  'frame-id': ['--only written --turn 1']
};

const USAGE = `usage: npm run bench -- [options]
       npm run bench:charts -- [options]

Runs all benchmarks, or those of docs/figures.md, one after the other, and prints how many times faster framemask is:
for each kind of work from the weakest row to the strongest one. Below 1 it is slower. Takes about 14 minutes, or 11.
Each benchmark prints all its rows when it is run alone, such as node benchmark/decode.js.

Results, charts and tables are written to benchmark/results/local/, which git ignores: open figures.md there. Close
other programs first: a busy machine is noted in the results, and written below each chart.`;

const OPTIONS = {
  only: texts('<part>', `only this part; may be given several times: ${Object.keys(PARTS).join(', ')}`),
  quick: COMMON.quick,
  charts: flag('only what docs/figures.md shows, as npm run bench:charts does'),
  commit: flag('when all is measured, replace benchmark/results/ and what docs/ and README.md show of it'),
  draw: flag('measure nothing; draw docs/ and README.md again from benchmark/results/'),
  check: flag('measure and write nothing; exit code 1 if docs/ or README.md do not show benchmark/results/'),
  help: COMMON.help
};

const readReport = (folder, name) => JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`), 'utf8'));

/** @returns {Record<string, import('./support/report').Report>} the results in a folder, by part */
function readResults(folder) {
  const found = CHARTED.filter((name) => fs.existsSync(path.join(folder, `${name}.json`)));
  return Object.fromEntries(found.map((name) => [name, readReport(folder, name)]));
}

/** Runs a benchmark in a process of its own. @returns {import('./support/report').Report} never half written */
function runPart(name, quick) {
  const file = path.join(LOCAL, `${name}.json`);
  const [few, whole = ''] = PARTS[name];
  const args = (quick ? `${few} --quick` : whole).split(' ').filter((word) => word !== '');
  args.unshift(path.join(__dirname, `${name}.js`), '--json', `${file}.unfinished`);
  fs.mkdirSync(LOCAL, { recursive: true });
  const { status, signal } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`benchmark/${name}.js ended with ${signal ?? `exit code ${status}`}`);
  fs.renameSync(`${file}.unfinished`, file);
  return readReport(LOCAL, name);
}

/** @throws {RangeError} if parts can't be run or committed: one machine stands below all figures */
function checkParts(names, known, { commit, quick }) {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new RangeError(`--only takes ${known.join(', ')}, but was "${unknown}"`);
  if (!commit) return;
  if (quick) throw new RangeError('--commit does not go with --quick');
  const own = machineLine(describeMachine(loadFramemask().kernel));
  const others = Object.entries(readResults(COMMITTED))
    .filter(([name, { machine }]) => !names.includes(name) && machineLine(machine) !== own)
    .map(([name]) => name);
  if (others.length > 0) throw new RangeError(`the results of ${others.join(', ')} are of another machine than ${own}`);
}

/** Writes files, or with `check` says which differ. */
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
    console.error(`${name} written`);
  }
}

/** Runs parts, prints a summary, and draws their charts. */
async function runParts(names, quick) {
  const lines = [];
  for (const [i, name] of names.entries()) {
    console.error(`part ${i + 1} of ${names.length}: ${name}`);
    const report = runPart(name, quick);
    lines.push(...summarize(report));
    if (report.noise.length > 0) lines.push(`  ${name} was noisy, not to be quoted: ${report.noise.join('; ')}`);
  }
  console.log(lines.join('\n'));
  writeFiles(await generateLocal(readResults(LOCAL), LOCAL));
}

async function main() {
  const options = readOptions(USAGE, OPTIONS);
  const { only, quick, charts, commit, draw, check } = options;
  const known = charts || commit ? CHARTED : Object.keys(PARTS);
  const names = only.length > 0 ? only : known;
  checkParts(names, known, options);
  if (!draw && !check) {
    await runParts(names, quick);
    if (!commit) return;
    for (const name of names) fs.copyFileSync(path.join(LOCAL, `${name}.json`), path.join(COMMITTED, `${name}.json`));
  }
  writeFiles(await generateDocs(readResults(COMMITTED), ROOT), check);
}

main().catch((error) => {
  if (error instanceof RangeError) refuse(error);
  console.error(error.message);
  process.exitCode = 1;
});
