'use strict';

// Runs all benchmarks, one after the other, and ends in a summary.

require('./support/packages');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { COMMON, readOptions, refuse, texts } = require('./support/options');
const { PARTS, checkParts, runParts } = require('./support/parts');
const { machineLine } = require('./support/report');
const { summarize } = require('./support/tables');

const USAGE = `usage: npm run bench -- [options]

Runs all benchmarks and prints how many times faster framemask is: for each kind of work from the weakest row to the
strongest one. Below 1 it is slower. Takes about 14 minutes. Each benchmark prints all its rows when it is run alone,
such as node benchmark/decode.js, and npm run bench:charts draws them.`;

const OPTIONS = {
  only: texts('<part>', `only this part; may be given several times: ${Object.keys(PARTS).join(', ')}`),
  quick: COMMON.quick,
  help: COMMON.help
};

async function main() {
  const { only, quick } = readOptions(USAGE, OPTIONS);
  try {
    checkParts(only, PARTS);
  } catch (error) {
    refuse(error);
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-bench-'));
  const reports = [];
  let failure = null;
  try {
    await runParts(only.length > 0 ? only : Object.keys(PARTS), quick, folder, (report) => reports.push(report));
  } catch (error) {
    failure = error.message;
    process.exitCode = 1;
  }
  fs.rmSync(folder, { recursive: true });
  if (reports.length > 0) console.log(`\n${machineLine(reports[0].machine)}\nBelow 1, framemask is slower.\n`);
  for (const report of reports) for (const line of summarize(report)) console.log(line);
  for (const { benchmark, noise } of reports.filter(({ noise }) => noise.length > 0))
    console.log(`Noisy, not to be quoted: ${benchmark}: ${noise.join('; ')}`);
  if (failure !== null) console.error(failure);
}

main();
