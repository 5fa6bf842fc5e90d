'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const { createProgress } = require('./progress');
const { ratio } = require('./race');
const { median, quartiles } = require('./statistics');

const CHILD = path.join(__dirname, 'measure-child.js');

/**
 * @param {object} job as measure-child.js takes it
 * @returns {*} its result
 * @throws {Error} if the process fails; its stderr was passed on
 */
function runChild(job) {
  const args = ['--expose-gc', CHILD, JSON.stringify(job)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
}

/**
 * A row of support/rows.js to be measured with one kernel. `size` is the payload length of a
 * masking row, null for others; `kernel` is what FRAMEMASK_KERNEL names, '' for the best.
 *
 * @typedef {{ name: string, row: string, size: number | null, kernel: string }} RowJob
 */

/**
 * A copy of framemask to be measured.
 *
 * @typedef {{ name: string, root: string, withoutTracing?: boolean }} Candidate
 */

/**
 * What one process has measured: the median nanoseconds of each candidate, and the median over
 * rounds of the second's time divided by the first's.
 *
 * @typedef {{ ns: Record<string, number>, ratio: number }} Sample
 */

/**
 * Races two candidates, each row in several processes. Every second process loads the candidates in
 * the other order. All rows have their first process before any has its second, so that a busy
 * minute of the machine does not fall on one row alone.
 *
 * @param {RowJob[]} rows
 * @param {[Candidate, Candidate]} candidates
 * @param {{ processes: number, rounds: number, turn: number }} options `turn` in milliseconds
 * @param {Map<string, Sample[]>} [samples] of these rows that were taken before
 * @returns {Map<string, Sample[]>} by the row's name
 */
function raceInProcesses(rows, candidates, { processes, rounds, turn }, samples = new Map()) {
  const progress = createProgress(rows.length * processes);
  const [first, second] = candidates.map(({ name }) => name);
  for (let i = 0; i < processes; i++) {
    const inOrder = i % 2 === 0 ? candidates : candidates.toReversed();
    for (const { name, ...job } of rows) {
      progress.step(name);
      const turns = runChild({ ...job, candidates: inOrder, rounds, turn });
      const ns = Object.fromEntries(Object.entries(turns).map(([who, values]) => [who, median(values)]));
      samples.set(name, [...(samples.get(name) ?? []), { ns, ratio: ratio(turns[first], turns[second]) }]);
    }
  }
  progress.end();
  return samples;
}

/**
 * @param {Sample[]} samples of one row
 * @returns {{ ns: Record<string, number>, candidates: Record<string, { ns: number[] }>,
 *   quartiles: number[], processes: number }} medians and quartiles over the processes, and the
 *   quartiles of the ratio
 */
function summarize(samples) {
  const candidates = Object.fromEntries(
    Object.keys(samples[0].ns).map((name) => [name, { ns: quartiles(samples.map(({ ns }) => ns[name])) }])
  );
  return {
    ns: Object.fromEntries(Object.entries(candidates).map(([name, { ns }]) => [name, ns[1]])),
    candidates,
    quartiles: quartiles(samples.map((sample) => sample.ratio)),
    processes: samples.length
  };
}

module.exports = { raceInProcesses, runChild, summarize };
