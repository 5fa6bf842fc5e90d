'use strict';

// Measures what docs/figures.md shows, and draws it. Results are kept in benchmark/results/, so that a part can be
// measured anew, and everything drawn again, without the others.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const { summarize } = require('./support/digest');
const { machineLine } = require('./support/machine');
const { CHARTED, runPart } = require('./support/parts');
const { ROOT, generate } = require('./charts/files');

const RESULTS = path.join(__dirname, 'results');

const USAGE = `usage: npm run bench:charts -- [options]

Runs the benchmarks of docs/figures.md one after the other, writes their results to benchmark/results/, and draws
docs/charts/ and the tables of docs/figures.md and README.md from them. Takes about eleven minutes. Bun and Deno are
fetched from npm, unless they are on PATH. Close other programs first: a busy machine is noted in the results, and
written below each chart.

  --only <part>  measure only this part and keep the results of the others; may be given several times:
                 ${Object.keys(CHARTED).join(', ')}
  --quick        few and short turns: shows that the program works, not what to quote
  --draw         measure nothing, only draw
  --check        measure and write nothing; exit code 1 if a chart or a table is not what would be written
  --help         print this`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true, default: Object.keys(CHARTED) },
      quick: { type: 'boolean', default: false },
      draw: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false }
    }
  });
  const unknown = values.only.find((name) => !Object.hasOwn(CHARTED, name));
  if (unknown !== undefined)
    throw new RangeError(`--only takes ${Object.keys(CHARTED).join(', ')}, but was "${unknown}"`);
  return values;
}

/** @param {string} name of a part @returns {string} the file of its results */
function resultFile(name) {
  return path.join(RESULTS, `${name}.json`);
}

/** Measures parts. What was measured before a failure is kept. */
async function measure({ only, quick }) {
  fs.mkdirSync(RESULTS, { recursive: true });
  for (const [i, name] of only.entries()) {
    const time = quick ? '' : `, about ${CHARTED[name].minutes} minutes`;
    console.error(`part ${i + 1} of ${only.length}: ${name}${time}`);
    const unfinished = `${resultFile(name)}.unfinished`;
    try {
      const report = await runPart(name, { quick }, unfinished);
      fs.renameSync(unfinished, resultFile(name));
      for (const line of summarize(report)) console.log(line);
      if (report.noise.length > 0) console.log(`  noisy, not to be quoted: ${report.noise.join('; ')}`);
    } catch (error) {
      const rest = only.slice(i).map((part) => ` --only ${part}`);
      throw new Error(`${error.message}\nGo on with npm run bench:charts --${rest.join('')}`);
    }
  }
}

/**
 * @returns {Record<string, import('./support/report').Report>} all results, by part
 * @throws {Error} if one is missing, or if they are of several machines: one machine stands below all figures
 */
function readResults() {
  const results = Object.fromEntries(
    Object.keys(CHARTED).map((name) => {
      const file = resultFile(name);
      if (!fs.existsSync(file))
        throw new Error(`${path.relative(ROOT, file)} is missing: npm run bench:charts -- --only ${name} measures it`);
      return [name, JSON.parse(fs.readFileSync(file, 'utf8'))];
    })
  );
  const machines = new Set(Object.values(results).map(({ machine }) => machineLine(machine)));
  if (machines.size > 1)
    throw new Error(`benchmark/results/ has results of several machines; measure all: ${[...machines].join('; ')}`);
  return results;
}

/**
 * Writes what was drawn, or says which files differ from it.
 *
 * @param {boolean} check
 */
async function draw(check) {
  const files = await generate(readResults());
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(ROOT, name);
    const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').replaceAll('\r\n', '\n') : null;
    if (before === text) continue;
    if (check) {
      console.error(`${name} does not match benchmark/results/: npm run bench:charts -- --draw writes it`);
      process.exitCode = 1;
    } else {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
      console.log(`${name} written`);
    }
  }
}

async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return;
  }
  if (!options.check && !options.draw) await measure(options);
  await draw(options.check);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
