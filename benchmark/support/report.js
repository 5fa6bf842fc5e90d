'use strict';

// What a benchmark has measured, in the one form that `--json` writes and that the charts, the
// tables of docs/figures.md and the summary of `npm run bench` are made of.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const { describeMachine, machineLine } = require('./machine');
const { median } = require('./statistics');

/** The first quartile, the median and the third quartile over the rounds. */
/** @typedef {[number, number, number]} Quartiles */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {string} group rows that the summary puts into one range
 * @property {number} [bytes] of a message, or of the payload of a call
 * @property {Record<string, Record<string, Quartiles>>} candidates by name, then by figure: `ns` or
 *   `microseconds` a message, `rate` in messages a second, `heap` in bytes, ...; the first one's
 *   spread counts
 * @property {{ own: string, peer: string, times: Quartiles }[]} timesFaster above 1 where `own` is
 *   the faster one
 * @property {{ own: string, peer: string, times: Quartiles }[]} [timesCheaper] the same for the
 *   processor time of servers
 *
 * @typedef {object} Report
 * @property {string} benchmark
 * @property {string} date ISO 8601, when it ended
 * @property {boolean} quick
 * @property {number} rounds
 * @property {ReturnType<typeof describeMachine>} machine
 * @property {Record<string, string>} versions of framemask and its peers
 * @property {{ average: [number, number], others: [number, number] }} load before and after: the
 *   load average of a minute, and the share of all cores that other processes took
 * @property {number} spread the median, over rows and candidates, of the distance of the quartiles
 *   as a share of the median
 * @property {string[]} noise why the figures are not to be quoted; empty on a quiet machine
 * @property {Row[]} rows
 */

/** How long other processes are watched before and after a benchmark, in milliseconds. */
const WATCH = 300;
/** Until children that were ended, and their sockets, are gone. */
const SETTLE = 100;
/** Above these, a machine counts as noisy. */
const MOST_OTHERS = 0.1;
const MOST_SPREAD = 0.2;
/**
 * For each core. A benchmark of a server and a client loads two cores fully, so what is run before
 * a benchmark may leave an average of about one.
 */
const MOST_AVERAGE = 1.5;

/** @returns {{ busy: number, all: number }} processor time of all cores since the system started */
function coreTimes() {
  let busy = 0;
  let all = 0;
  for (const { times } of os.cpus()) {
    const sum = Object.values(times).reduce((total, time) => total + time, 0);
    all += sum;
    busy += sum - times.idle;
  }
  return { busy, all };
}

/** @returns {Promise<number>} the share of all cores that is busy while this process sleeps */
async function watchOthers() {
  await sleep(SETTLE);
  const before = coreTimes();
  await sleep(WATCH);
  const after = coreTimes();
  return after.all === before.all ? 0 : (after.busy - before.busy) / (after.all - before.all);
}

/** @param {Row[]} rows @returns {number} */
function spreadOf(rows) {
  const spreads = rows
    .flatMap(({ candidates }) => Object.values(candidates))
    .map((figures) => Object.values(figures)[0])
    .map(([low, middle, high]) => (high - low) / middle)
    .filter(Number.isFinite);
  return spreads.length === 0 ? 0 : median(spreads);
}

/** @returns {string[]} */
function findNoise({ quick, load, spread, machine }) {
  const percent = (share) => `${Math.round(share * 100)} %`;
  const noise = [];
  if (quick) noise.push('few and short turns (--quick)');
  const average = Math.max(...load.average);
  if (average > MOST_AVERAGE * machine.cores)
    noise.push(`a load average of ${average.toFixed(1)} on ${machine.cores} cores`);
  const others = Math.max(...load.others);
  if (others > MOST_OTHERS) noise.push(`other processes took ${percent(others)} of the cores`);
  if (spread > MOST_SPREAD) noise.push(`half of all figures have quartiles ${percent(spread)} apart or more`);
  return noise;
}

/** @param {string} name of an installed package @returns {string} */
function versionOf(name) {
  return require(`${name}/package.json`).version;
}

/**
 * Notes how busy the machine is before a benchmark.
 *
 * @param {string} benchmark its name
 * @returns {Promise<(result: { quick: boolean, rounds: number, kernel: string, rows: Row[],
 *   peers?: string[], versions?: Record<string, string> }) => Promise<Report>>} is called when it
 *   has ended; `peers` are installed packages whose versions matter, other properties are added
 */
async function startReport(benchmark) {
  const [average] = os.loadavg();
  const others = await watchOthers();
  return async ({ quick, rounds, kernel, rows, peers = [], versions = {}, ...rest }) => {
    const machine = describeMachine(kernel);
    const load = {
      average: [average, os.loadavg()[0]].map((value) => Number(value.toFixed(2))),
      others: [others, await watchOthers()].map((value) => Number(value.toFixed(3)))
    };
    const spread = Number(spreadOf(rows).toFixed(3));
    const report = { benchmark, date: new Date().toISOString(), quick, rounds, machine };
    report.versions = {
      framemask: require('../../package.json').version,
      ...Object.fromEntries(peers.map((name) => [name, versionOf(name)])),
      ...versions
    };
    return { ...report, load, spread, noise: findNoise({ quick, load, spread, machine }), ...rest, rows };
  };
}

/** @param {Report} report @param {string} [more] @returns {string} what to print above its table */
function reportLine({ machine, rounds, versions, noise }, more) {
  const peers = Object.entries(versions)
    .filter(([name]) => name !== 'framemask')
    .map((pair) => pair.join(' '));
  const facts = [[machineLine(machine), ...peers].join(', '), `medians of ${rounds} rounds`];
  const line = [...facts, ...(more === undefined ? [] : [more])].join('; ');
  return noise.length === 0 ? line : `${line}\nNoisy, not to be quoted: ${noise.join('; ')}`;
}

/** Numbers of a chart need no more than five digits, and a file of them can be read. */
function shorten(_key, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
}

/** The longest line of a list or an object that is put into one. */
const LINE = 110;

/** @param {object} value @returns {string} JSON, with short lists and objects in one line each */
function toJson(value) {
  const join = (text) => {
    const line = text.replace(/\n\s*/g, ' ').replace('[ ', '[').replace(' ]', ']');
    return line.length <= LINE ? line : text;
  };
  const text = JSON.stringify(value, shorten, 2).replace(/\[[^[\]{}]*\]/g, join);
  return `${text.replace(/\{[^{}]*\}/g, join)}\n`;
}

/**
 * Prints what was measured, and writes it to the file of `--json`.
 *
 * @param {object} report
 * @param {string | undefined} file
 * @param {string} text the tables
 */
function publish(report, file, text) {
  console.log(text);
  if (file === undefined) return;
  fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  fs.writeFileSync(file, toJson(report));
}

module.exports = { publish, reportLine, startReport };
