'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const { median } = require('./race');

const CHILD = path.join(__dirname, 'measure-child.js');

/** @returns {*} the result of a job of measure-child.js @throws {Error} if the process fails; its stderr was passed on */
function runChild(job) {
  const args = ['--expose-gc', CHILD, JSON.stringify(job)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
}

/**
 * Races copies of framemask in a process of their own. V8 compiles the same code better in one process
 * than in another, so the spread over processes is the noise that counts. The job names a row of codec-rows.js, and
 * its candidates, which are loaded in the order given.
 */
function raceInProcess(job) {
  const turns = runChild(job);
  const ns = Object.fromEntries(Object.entries(turns).map(([name, values]) => [name, median(values)]));
  return { ns, ratio: (own, peer) => median(turns[own].map((value, round) => value / turns[peer][round])) };
}

module.exports = { raceInProcess, runChild };
