'use strict';

// What a benchmark has measured, in the one form that `--json` writes and that the charts, the
// tables of docs/figures.md and the summary of `npm run bench` are made of.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const { setTimeout: sleep } = require('node:timers/promises');

const { median, quartiles } = require('./race');
const { formatRows } = require('./tables');

/**
 * @typedef {{ name: string, group: string, bytes?: number, medians: Record<string, object>, faster:
 *   { own: string, peer: string, times: [number, number, number] }[] }} Row the median figures of
 *   each candidate, and quartiles of each pair, above 1 where `own` is the faster one
 *
 * @typedef {object} Report the benchmark, its date, commit, rounds, machine, rows, and versions of
 *   its peers, and
 * @property {number} others the most that other processes took of all cores, before or after
 * @property {number} spread the median distance of quartiles, as a share of the median
 * @property {string[]} noise why the figures are not to be quoted; empty on a quiet machine
 */

/** How long other processes are watched before and after a benchmark, in milliseconds. */
const WATCH = 300;
/** Until children that were ended, and their sockets, are gone. */
const SETTLE = 100;
/** Above these, a machine counts as noisy. */
const MOST_OTHERS = 0.1;
const MOST_SPREAD = 0.2;

/** @returns {Promise<number>} how busy all cores are while this process sleeps, as a share */
async function watchOthers() {
  const read = () =>
    os.cpus().map(({ times }) => ({ idle: times.idle, all: Object.values(times).reduce((a, b) => a + b) }));
  await sleep(SETTLE);
  const before = read();
  await sleep(WATCH);
  const after = read();
  const passed = (key) => after.reduce((sum, core, i) => sum + core[key] - before[i][key], 0);
  return passed('all') === 0 ? 0 : 1 - passed('idle') / passed('all');
}

/**
 * @returns {Row & { spreads: number[] }} of the turns of each candidate; the first is compared with
 *   each other one
 */
function toRow({ name, group, bytes, pairs }, turns) {
  const [[first, [figures]], ...others] = Object.entries(turns);
  const [main] = Object.keys(figures);
  const values = (who, figure = main) => turns[who].map((turn) => turn[figure]);
  // Of a rate, more is better; of all other figures, less.
  const ratio = (own, peer) => (main === 'rate' ? own / peer : peer / own);
  const faster = (pairs ?? others.map(([peer]) => [first, peer]))
    .filter(([own, peer]) => own in turns && peer in turns)
    .map(([own, peer]) => {
      const peers = values(peer);
      return { own, peer, times: quartiles(values(own).map((value, i) => ratio(value, peers[i]))) };
    });
  const medians = {};
  const spreads = [];
  for (const [who, [first]] of Object.entries(turns)) {
    const figures = Object.keys(first).map((figure) => [figure, median(values(who, figure))]);
    medians[who] = Object.fromEntries(figures.filter(([, value]) => Number.isFinite(value)));
    const [low, middle, high] = quartiles(values(who));
    spreads.push((high - low) / middle);
  }
  return { name, group, bytes, medians, faster: faster.filter(({ times }) => Number.isFinite(times[1])), spreads };
}

const percent = (share) => `${Math.round(share * 100)} %`;

/** @returns {string[]} why the figures are not to be quoted */
function findNoise(quick, others, spread) {
  return [
    ...(quick ? ['few and short turns (--quick)'] : []),
    ...(others > MOST_OTHERS ? [`other processes took ${percent(others)} of the cores`] : []),
    ...(spread > MOST_SPREAD ? [`half of all figures have quartiles ${percent(spread)} apart or more`] : [])
  ];
}

/** @param {string} kernel that framemask uses @returns {Report['machine']} */
function describeMachine(kernel) {
  const cpus = os.cpus();
  return {
    cpu: (cpus[0]?.model ?? 'unknown processor').trim(),
    cores: cpus.length,
    system: `${process.platform}-${process.arch}`,
    release: `${os.type()} ${os.release()}`,
    runtime: `Node.js ${process.versions.node}`,
    kernel
  };
}

/** @param {Report['machine']} machine @returns {string} one line */
function machineLine({ cpu, cores, system, runtime, kernel }) {
  return `${cpu}, ${cores} cores, ${system}, ${runtime}, kernel ${kernel}`;
}

/** @returns {string} this checkout's, such as `1a2b3c4d5`; a + if library or benchmarks differ */
function readCommit() {
  const git = (...args) => spawnSync('git', args, { cwd: __dirname, encoding: 'utf8' }).stdout?.trim() ?? '';
  const changed = git('status', '--porcelain', '--', '../../lib', '../../src', '..', ':!../results');
  return git('rev-parse', '--short=9', 'HEAD') + (changed === '' ? '' : '+');
}

/**
 * Notes how busy the machine is before a benchmark.
 *
 * @returns {Promise<Function>} makes its Report, after it
 */
async function startReport(benchmark) {
  const before = await watchOthers();
  return async ({ options: { quick, rounds }, kernel, peers, versions = {}, rows }) => {
    const others = Math.max(before, await watchOthers());
    const spreads = rows.flatMap((row) => row.spreads).filter(Number.isFinite);
    const spread = spreads.length === 0 ? 0 : median(spreads);
    const installed = peers.map((name) => [name, require(`${name}/package.json`).version]);
    return {
      benchmark,
      date: new Date().toISOString(),
      commit: readCommit(),
      rounds,
      machine: describeMachine(kernel),
      versions: { framemask: require('../../package.json').version, ...Object.fromEntries(installed), ...versions },
      others,
      spread,
      noise: findNoise(quick, others, spread),
      rows: rows.map(({ spreads, ...row }) => row)
    };
  };
}

/**
 * @param {{ rows: object[] }} report
 * @returns {string} JSON with one line for each row and five digits for each number
 */
function toJson({ rows, ...facts }) {
  const shorten = (_key, value) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
  const line = (value) => JSON.stringify(value, shorten);
  return `${line(facts).slice(0, -1)},"rows":[\n${rows.map(line).join(',\n')}\n]}\n`;
}

/** Prints what was measured, and writes it to the file of `--json`. */
function publish(report, file, remarks = []) {
  const { machine, rounds, versions, noise, rows } = report;
  const peers = Object.entries(versions).slice(1);
  const facts = [machineLine(machine), ...peers.map((pair) => pair.join(' '))].join(', ');
  console.log(`${facts}; medians of ${rounds} rounds`);
  if (noise.length > 0) console.log(`Noisy, not to be quoted: ${noise.join('; ')}`);
  console.log(['', formatRows(rows), ...remarks].join('\n'));
  if (file !== undefined) fs.writeFileSync(file, toJson(report));
}

module.exports = { machineLine, percent, publish, startReport, toJson, toRow };
