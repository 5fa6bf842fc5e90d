'use strict';

// Runs random programs under ws and under framemask/ws, and compares what they show: events and
// their arguments, callbacks, return values, errors, and the frames on the wire. The differences
// that are meant to stay are in fuzz/ws/differences.js. `node fuzz/ws.js --help`

const { AssertionError } = require('node:assert');
const { inspect } = require('node:util');
const ws = require('ws');
const framemask = require('../ws');
const { Finding, runProgram: runFuzzer, show } = require('./program');
const { explain, findDifferent } = require('./ws/differences');
const { createProgram } = require('./ws/generator');
const { runProgram } = require('./ws/runner');
const { openTransports } = require('./ws/transports');

/** How many programs run at a time: most of them wait. */
const TOGETHER = 12;
/** How often a finding must come again. */
const REPEATED = 6;

const PURPOSE = `Runs random programs under ws and under framemask/ws, ${TOGETHER} at a time: servers and clients over TCP, TLS, HTTP/2,
Unix sockets and pipes in memory, against each other and against raw peers. Both must show the same.`;

let transports = null;
/** Programs that will run together, with the functions that settle their rounds. */
const waiting = [];

/** @type {import('./program').Round} */
function round(random, count) {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) setImmediate(() => compareAll(waiting.splice(0)));
    waiting.push({ program: createProgram(random), count, resolve, reject });
  });
}

async function compareAll(batch) {
  transports ??= await openTransports();
  const programs = batch.map(({ program }) => program);
  const theirs = await runAll(programs, ws);
  const ours = await runAll(programs, framemask);
  // Whose exception it is can be told when each runs alone.
  if (batch.length > 1 && [...theirs, ...ours].some(({ logs }) => 'process.exceptions' in logs)) {
    for (const one of batch) await compareAll([one]);
    return;
  }
  for (const [i, { program, count, resolve, reject }] of batch.entries()) {
    count(`${program.kind}, ${program.transport}`);
    if (theirs[i].stuck || ours[i].stuck) count('did not come to rest');
    const name = explain(program, theirs[i].logs, ours[i].logs, ours[i].sent);
    if (name) count(`differs: ${name}`);
    const finding = name === undefined ? await confirm(programs, i) : null;
    if (name === undefined && finding === null) count('not the same when repeated');
    if (finding === null) resolve();
    else reject(finding);
  }
}

const runAll = (programs, implementation) =>
  Promise.all(programs.map((program) => runProgram(program, transports, implementation, ws)));

/**
 * Repeats a program, alone and then with the others, to tell findings from what a busy machine
 * does to sockets: no run of one may be like any of the other.
 */
async function confirm(programs, i) {
  const groups = programs.length === 1 ? [programs] : [[programs[i]], programs];
  for (const group of groups) {
    const at = group.indexOf(programs[i]);
    const theirs = [];
    const ours = [];
    const isFinding = () =>
      theirs.every(({ logs }) => findDifferent(theirs[0].logs, logs).length === 0) &&
      ours.every(({ logs, sent }) => explain(programs[i], theirs[0].logs, logs, sent) === undefined);
    for (let time = 0; time < REPEATED && isFinding(); time++) {
      theirs.push((await runAll(group, ws))[at]);
      ours.push((await runAll(group, framemask))[at]);
    }
    if (!isFinding()) continue;
    const others = group.length > 1 ? `\nOnly with the others: --rounds ${TOGETHER}, and --from for the first` : '';
    return new Finding(report(programs[i], theirs[0].logs, ours[0].logs) + others);
  }
  return null;
}

/** @returns {string} the program, and the difference of each log that differs */
function report(program, theirs, ours) {
  const plain = JSON.parse(show(program));
  const parts = findDifferent(theirs, ours).map((name) => {
    const message = `${name}: + framemask/ws, - ws`;
    const logs = { actual: ours[name], expected: theirs[name] };
    return `${message}\n${new AssertionError({ ...logs, operator: 'deepStrictEqual' }).message}`;
  });
  return ['', inspect(plain, { depth: 12, breakLength: 140, maxStringLength: 700, compact: 5 }), ...parts].join('\n\n');
}

runFuzzer('ws.js', PURPOSE, round, TOGETHER).then(() => {
  // Connections of a program that failed may still be open.
  process.exit();
});
