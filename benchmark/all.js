'use strict';

// Runs all benchmarks, one after the other, and ends in a summary.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { readArguments, refuse } = require('./support/arguments');
const { summarize } = require('./support/digest');
const { machineLine } = require('./support/machine');
const { PARTS, runPart } = require('./support/parts');

const USAGE = `usage: npm run bench -- [options]

Runs all benchmarks and prints how many times faster framemask is: for each kind of work from the weakest row to the
strongest one. Below 1 it is slower. Takes about ten minutes. Each benchmark prints all its rows when it is run alone,
such as node benchmark/decode.js, and npm run bench:charts draws them. Here the default is 5 rounds.

  --only <part>     only this part; may be given several times: ${Object.keys(PARTS).join(', ')}`;

/** Fewer than the nine of a benchmark that is run alone. */
const ROUNDS = '5';

/**
 * @param {import('./support/report').Report[]} reports
 * @param {string[]} failures
 * @returns {string}
 */
function formatSummary(reports, failures) {
  const lines = [machineLine(reports[0].machine), 'Below 1, framemask is slower.', ''];
  for (const report of reports) lines.push(...summarize(report));
  const noisy = reports.filter(({ noise }) => noise.length > 0);
  if (noisy.length > 0) lines.push('', 'Noisy, not to be quoted:');
  for (const { benchmark, noise } of noisy) lines.push(`  ${benchmark}: ${noise.join('; ')}`);
  return [...lines, ...failures].join('\n');
}

async function main() {
  const values = readArguments(USAGE, { only: { type: 'string', multiple: true, default: Object.keys(PARTS) } });
  const { quick, only, json } = values;
  const unknown = only.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined)
    refuse(new RangeError(`--only takes ${Object.keys(PARTS).join(', ')}, but was "${unknown}"`));

  const asked = process.argv.some((argument) => argument.startsWith('--rounds'));
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-bench-'));
  const reports = [];
  const failures = [];
  try {
    for (const [i, name] of only.entries()) {
      const time = quick ? '' : `, about ${PARTS[name].minutes} minutes`;
      console.error(`part ${i + 1} of ${only.length}: ${name}${time}`);
      // Each program has its own few rounds with --quick.
      const rounds = quick ? undefined : asked ? `${values.rounds}` : ROUNDS;
      try {
        reports.push(await runPart(name, { quick, few: quick, rounds }, path.join(folder, `${name}.json`)));
      } catch (error) {
        failures.push(`${name} failed: ${error.message}`);
        process.exitCode = 1;
      }
    }
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
  console.log(reports.length === 0 ? failures.join('\n') : `\n${formatSummary(reports, failures)}`);
  if (json !== undefined) fs.writeFileSync(json, `${JSON.stringify(reports, null, 2)}\n`);
}

main();
