'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const { median } = require('./race');

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
 * Races copies of framemask in a process of their own. V8 compiles the same code better in one
 * process than in another, so the spread over processes is the noise that counts.
 *
 * @param {{ row: string, size: number | null, kernel: string, rounds: number, turn: number,
 *   candidates: { name: string, root: string, withoutTracing?: boolean }[] }} job a row of rows.js; `size`
 *   is the payload length of a masking row, null for others; candidates are loaded in the order given
 * @returns {{ ns: Record<string, number>, ratio: (own: string, peer: string) => number }} the median
 *   nanoseconds of each, and the median over rounds of the time of `own` divided by that of `peer`
 */
function raceInProcess(job) {
  const turns = runChild(job);
  const ns = Object.fromEntries(Object.entries(turns).map(([name, values]) => [name, median(values)]));
  return { ns, ratio: (own, peer) => median(turns[own].map((value, round) => value / turns[peer][round])) };
}

module.exports = { raceInProcess, runChild };
