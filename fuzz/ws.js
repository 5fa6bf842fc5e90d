'use strict';

// Runs random programs under ws and under framemask/ws, and compares what they show: events and
// their arguments, callbacks, return values, errors, and the frames on the wire. The differences
// that are meant to stay are in fuzz/ws/differences.js. `node fuzz/ws.js --help`

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { createRandom } = require('../test/support/random');
const { DIFFERENCES, explain, findDifferent } = require('./ws/differences');
const { createProgram, isLayered } = require('./ws/generator');
const { minimise } = require('./ws/minimise');
const { report } = require('./ws/report');
const { runProgram } = require('./ws/runner');
const { openTransports } = require('./ws/transports');

const OURS = path.join(__dirname, '..', 'ws.js');

/** How often a finding must come again. */
const REPEATED = 6;

const USAGE = `Usage: node fuzz/ws.js [options]

Runs random programs under ws and under framemask/ws: servers and clients over TCP, TLS, HTTP/2, Unix sockets and pipes in
memory, against each other and against raw peers. Both must show the same.

  --programs <n>     number of programs (default: no end)
  --seconds <n>      begin no program after that time (default: 60, or no end with --programs)
  --seed <n>         determines the programs (default: another one in each run)
  --program <n>      number of the first program (default 0); without --programs, only that one
  --together <n>     how many programs run at a time (default 12)
  --candidate <m>    the module to compare with ws, from the current folder or by its name (default: framemask/ws);
                     ws itself shows that the programs are deterministic
  --all              print the other differences, too, instead of stopping at the first
  --minimise         make the programs of findings smaller, as long as they differ in nothing else, and print those
  --verbose          print the program and the logs, also if they are the same
  --help             print this

The exit code is 0 if all programs were the same but for accepted differences, 1 after a finding, which is printed with
the command that repeats it, and 2 if the options are wrong.`;

/**
 * @typedef {object} Finding
 * @property {number} number of the program
 * @property {import('./ws/generator').Program} program
 * @property {Record<string, string[]>} theirs
 * @property {Record<string, string[]>} ours
 * @property {boolean} alone whether the program differs when it runs alone
 */

class Comparison {
  #seed;
  #transports;
  #reference;
  #candidate;
  counts = { programs: 0, stuck: 0 };
  kinds = {};
  /** How often each difference was accepted. */
  differences = Object.fromEntries(DIFFERENCES.map(({ name }) => [name, 0]));
  /** Programs that differed once, and not when they were repeated; and in what. */
  unstable = [];

  constructor({ seed, transports, reference, candidate }) {
    this.#seed = seed;
    this.#transports = transports;
    this.#reference = reference;
    this.#candidate = candidate;
  }

  /** Each program has a seed of its own, so that it can be made alone. */
  #make(number) {
    return createProgram(createRandom((this.#seed + Math.imul(number, 0x9e3779b9)) | 0));
  }

  async #runAll(programs, implementation) {
    const results = new Array(programs.length);
    // What a listener of one program throws in a tick can end the handshake by PSK of another.
    for (const isApart of [false, true]) {
      const run = async (program, i) => {
        if (isLayered(program.transport) !== isApart) return;
        results[i] = await runProgram(program, this.#transports, implementation, this.#reference);
      };
      await Promise.all(programs.map(run));
    }
    for (const { stuck } of results) if (stuck) this.counts.stuck++;
    return results;
  }

  /**
   * Runs some programs at a time under both.
   *
   * @param {number[]} numbers of the programs
   * @returns {Promise<Finding[]>}
   */
  async compare(numbers) {
    const programs = numbers.map((number) => this.#make(number));
    const theirs = await this.#runAll(programs, this.#reference);
    const ours = await this.#runAll(programs, this.#candidate);
    // Whose exception it is can be told when each runs alone.
    if (numbers.length > 1 && [...theirs, ...ours].some(({ logs }) => 'process.exceptions' in logs)) {
      const each = [];
      for (const number of numbers) each.push(...(await this.compare([number])));
      return each;
    }
    const findings = [];
    for (let i = 0; i < programs.length; i++) {
      const program = programs[i];
      this.counts.programs++;
      const kind = `${program.kind}, ${program.transport}`;
      this.kinds[kind] = (this.kinds[kind] ?? 0) + 1;
      const name = explain(program, theirs[i].logs, ours[i].logs, ours[i].sent);
      if (name !== undefined) {
        if (name !== '') this.differences[name]++;
        continue;
      }
      const finding = await this.#confirm(programs, i);
      if (finding === null)
        this.unstable.push(`${numbers[i]} (${findDifferent(theirs[i].logs, ours[i].logs).join(', ')})`);
      else findings.push({ number: numbers[i], program, ...finding });
    }
    return findings;
  }

  /**
   * Repeats a program, alone and then with the others, to tell findings from what a busy machine
   * does to sockets: no run of one may be like any of the other.
   *
   * @returns {Promise<{ theirs: object, ours: object, alone: boolean } | null>}
   */
  async #confirm(programs, i) {
    for (const alone of [true, false]) {
      const group = alone ? [programs[i]] : programs;
      const at = alone ? 0 : i;
      const theirs = [];
      const ours = [];
      const isFinding = () =>
        theirs.every((one) => findDifferent(theirs[0].logs, one.logs).length === 0) &&
        ours.every(({ logs, sent }) => explain(programs[i], theirs[0].logs, logs, sent) === undefined);
      for (let time = 0; time < REPEATED && isFinding(); time++) {
        theirs.push((await this.#runAll(group, this.#reference))[at]);
        ours.push((await this.#runAll(group, this.#candidate))[at]);
      }
      if (isFinding()) return { theirs: theirs[0].logs, ours: ours[0].logs, alone };
    }
    return null;
  }

  /**
   * Makes the program of a finding smaller. It differs in the same channels, or in fewer.
   *
   * @param {Finding} finding
   * @returns {Promise<Finding>}
   */
  async minimise(finding) {
    const channels = findDifferent(finding.theirs, finding.ours);
    const differs = async (program) => {
      const confirmed = await this.#confirm([program], 0);
      return (
        confirmed !== null && findDifferent(confirmed.theirs, confirmed.ours).every((name) => channels.includes(name))
      );
    };
    const program = await minimise(finding.program, differs);
    return { ...finding, program, ...(await this.#confirm([program], 0)) };
  }

  /** @returns {Promise<string>} a program and its logs */
  async show(number) {
    const program = this.#make(number);
    const [theirs] = await this.#runAll([program], this.#reference);
    return report(program, theirs.logs, {});
  }
}

function readOptions() {
  const number = { type: 'string' };
  const flag = { type: 'boolean' };
  const options = { programs: number, seconds: number, seed: number, program: number, together: number };
  const { values } = parseArgs({
    options: { ...options, candidate: number, all: flag, minimise: flag, verbose: flag, help: flag }
  });
  const settings = { ...values };
  for (const name of Object.keys(options)) {
    if (values[name] === undefined) continue;
    settings[name] = Number(values[name]);
    if (!(values[name] !== '' && settings[name] >= 0)) {
      throw new Error(`--${name} must be a number, but was '${values[name]}'`);
    }
  }
  settings.seed ??= Math.floor(Math.random() * 2 ** 32);
  if (settings.program !== undefined) settings.programs ??= 1;
  if (settings.programs === undefined) settings.seconds ??= 60;
  return { program: 0, programs: Infinity, seconds: Infinity, together: 12, ...settings };
}

/** @returns {object} the module that is compared with ws */
function loadCandidate(name) {
  if (name === undefined) {
    if (!fs.existsSync(OURS)) throw new Error('There is no ws.js yet: see --candidate');
    return require(OURS);
  }
  return require(name.startsWith('.') ? path.resolve(name) : name);
}

function printFinding({ number, program, theirs, ours, alone }, { seed, together, candidate }) {
  console.error(report(program, theirs, ours));
  const first = alone ? number : number - (number % together);
  const many = alone ? '' : ` --programs ${together} --together ${together}`;
  const other = candidate === undefined ? '' : ` --candidate ${candidate}`;
  console.error(`\nRepeat it: node fuzz/ws.js --seed ${seed} --program ${first}${many}${other}\n`);
}

async function main() {
  let settings;
  let candidate;
  try {
    settings = readOptions();
    if (settings.help) {
      console.log(USAGE);
      return 0;
    }
    candidate = loadCandidate(settings.candidate);
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  const { seed, program: first, programs, seconds, together, all, verbose, minimise: minimises } = settings;
  const transports = await openTransports();
  const comparison = new Comparison({ seed, transports, reference: require('ws'), candidate });
  const begun = performance.now();
  const perSecond = () => Math.round(comparison.counts.programs / ((performance.now() - begun) / 1000));
  let shown = begun;
  let found = 0;
  let unstable = 0;
  console.error(`seed ${seed}`);
  if (verbose) console.log(await comparison.show(first));
  for (let at = first; at < first + programs && performance.now() < begun + seconds * 1000; at += together) {
    const count = Math.min(together, first + programs - at);
    for (const finding of await comparison.compare(Array.from({ length: count }, (_, i) => at + i))) {
      found++;
      printFinding(finding.alone && minimises ? await comparison.minimise(finding) : finding, settings);
    }
    if (found > 0 && !all) break;
    for (const line of comparison.unstable.slice(unstable)) console.error(`Not the same when repeated: ${line}`);
    unstable = comparison.unstable.length;
    if (performance.now() > shown + 5000) {
      shown = performance.now();
      console.error(
        `${comparison.counts.programs} programs, ${perSecond()} a second, ${found} findings, ${unstable} unstable`
      );
    }
  }
  transports.close();
  const { counts, kinds, differences } = comparison;
  console.log(`${counts.programs} programs, ${perSecond()} a second, ${found} findings`);
  for (const [name, count] of Object.entries(kinds).sort(([, a], [, b]) => b - a)) console.log(`  ${name}: ${count}`);
  console.log('Accepted differences:');
  for (const [name, count] of Object.entries(differences)) console.log(`  ${name}: ${count}`);
  if (counts.stuck > 0) console.log(`Runs that did not come to rest: ${counts.stuck}`);
  if (unstable > 0) console.log(`Not the same when repeated: ${unstable}`);
  return found > 0 ? 1 : 0;
}

main().then((code) => {
  // Connections of a program that failed may still be open.
  process.exit(code);
});
