'use strict';

// What does a frame id cost, and which way to make, format and parse one is the fastest? Three
// questions:
//   peers   frameId, formatFrameId and parseFrameId beside Node's own functions and npm's uuid
//   matrix  sizes of the entropy batch × ways of formatting (as in nodejs/node#37243)
//   tables  the ways that were tried, formatting alone and parsing alone
// The candidates of a question work by turns, in one process, so that whatever else the machine
// does affects all alike.

const crypto = require('node:crypto');
const { parseArgs } = require('node:util');
const { frameId, formatFrameId, parseFrameId } = require('../lib/frame-id');
const { FORMATS, PARSES, createSlabSource, createSource } = require('./support/frame-id-candidates');
const { fresh, timesFaster } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { quartiles } = require('./support/statistics');
const { kernel } = require('../index.js');

const HELP = `Usage: node benchmark/frame-id.js [options]

Times frame ids. Prints the median nanoseconds a call, and how many times faster each way is than the
first of its table. Takes about a minute.

  --only <names>     the questions, separated by commas: peers, matrix, tables (default: all)
  --rounds <n>       how many rounds; the median counts (default: 31)
  --calls <n>        calls of each candidate in each round (default: 20000)
  --uuid <path>      the folder of npm's uuid, if it is not installed here
  --json <file>      also write the results to a file, as JSON
  --quiet            no progress on stderr
  --help             print this

The result of each call is used, because a string that Node made of pieces costs most when it is first
read:
  written   copied into a Buffer, as for a log line
  map key   a key of a Map
  key       a property name of an object
  dropped   not used at all
`;

const QUESTIONS = ['peers', 'matrix', 'tables'];
const KIB = 1024;

/** The ways to use a result. */
const SINKS = {
  written: (make, calls, inputs, output) => {
    let sum = 0;
    for (let i = 0; i < calls; i++) sum += output.latin1Write(make(inputs[i & 1023]), 0);
    return sum;
  },
  'map key': (make, calls, inputs) => {
    const map = new Map();
    for (let i = 0; i < calls; i++) {
      map.set(make(inputs[i & 1023]), i);
      if ((i & 255) === 255) map.clear();
    }
    return map.size;
  },
  key: (make, calls, inputs) => {
    let object = {};
    for (let i = 0; i < calls; i++) {
      object[make(inputs[i & 1023])] = i;
      if ((i & 63) === 63) object = {};
    }
    return object;
  },
  dropped: (make, calls, inputs) => {
    let sum = 0;
    for (let i = 0; i < calls; i++) sum += make(inputs[i & 1023]).length;
    return sum;
  },
  read: (make, calls, inputs) => {
    let sum = 0;
    for (let i = 0; i < calls; i++) sum += make(inputs[i & 1023])[i & 15];
    return sum;
  }
};

/**
 * @param {string} title
 * @param {string} sink a name in SINKS
 * @param {Record<string, Function>} candidates the others are compared with the first
 * @param {{ rounds: number, calls: number, inputs: Array,
 *   progress: (text: string, isFirst: boolean) => void }} context
 * @returns {{ title: string, sink: string, baseline: string,
 *   results: { name: string, ns: number[], times: number[] }[] }} quartiles
 */
function race(title, sink, candidates, { rounds, calls, inputs, progress }) {
  const output = Buffer.alloc(64);
  const runners = Object.entries(candidates).map(([name, make]) => ({
    name,
    make,
    use: fresh(SINKS[sink]),
    times: []
  }));
  for (const { use, make } of runners) {
    // Called twice before the timed rounds, so that V8 has compiled it.
    use(make, calls, inputs, output);
    use(make, calls, inputs, output);
  }
  for (let round = 0; round < rounds; round++) {
    progress(`${title}, ${sink}: round ${round + 1} of ${rounds}`, round === 0);
    for (const { use, make, times } of runners) {
      const start = process.hrtime.bigint();
      use(make, calls, inputs, output);
      times.push(Number(process.hrtime.bigint() - start) / calls);
    }
  }
  return {
    title,
    sink,
    baseline: runners[0].name,
    results: runners.map(({ name, times }) => ({
      name,
      ns: quartiles(times),
      times: timesFaster(times, runners[0].times)
    }))
  };
}

function askPeers(context, uuid) {
  const generate = { 'crypto.randomUUID()': () => crypto.randomUUID(), 'frameId()': () => frameId() };
  const ordered = { 'frameId({ version: 7 })': () => frameId({ version: 7 }) };
  if (crypto.randomUUIDv7) Object.assign(generate, { 'crypto.randomUUIDv7()': () => crypto.randomUUIDv7() });
  Object.assign(generate, ordered);
  if (uuid) Object.assign(generate, { 'uuid v7()': () => uuid.v7() });

  const tables = [];
  for (const sink of ['written', 'map key', 'key', 'dropped']) tables.push(race('make an id', sink, generate, context));
  if (crypto.randomUUIDv7) {
    const both = { 'crypto.randomUUIDv7()': () => crypto.randomUUIDv7(), ...ordered };
    for (const sink of ['written', 'map key', 'key']) tables.push(race('make a version 7 id', sink, both, context));
  }
  if (uuid) {
    const ids = Array.from({ length: 1024 }, () => Buffer.from(crypto.randomUUID()).latin1Slice());
    const bytes = ids.map((id) => parseFrameId(id));
    const target = new Uint8Array(16);
    const format = { 'uuid stringify': (from) => uuid.stringify(from), formatFrameId: (from) => formatFrameId(from) };
    const parse = {
      'uuid parse': (id) => uuid.parse(id),
      parseFrameId: (id) => parseFrameId(id),
      'parseFrameId, into a target': (id) => parseFrameId(id, target)
    };
    tables.push(race('format 16 bytes', 'written', format, { ...context, inputs: bytes }));
    tables.push(race('format 16 bytes', 'map key', format, { ...context, inputs: bytes }));
    tables.push(race('parse an id', 'read', parse, { ...context, inputs: ids }));
  }
  return tables;
}

function askMatrix(context) {
  const tables = [];
  for (const sink of ['written', 'map key']) {
    const candidates = { 'crypto.randomUUID()': () => crypto.randomUUID() };
    for (const kib of [1, 2, 3, 4, 5, 8, 16]) {
      for (const [name, format] of Object.entries(FORMATS)) {
        candidates[`${kib} KiB, ${name}`] = createSource(kib * KIB, format());
      }
      candidates[`${kib} KiB, one string a batch`] = createSlabSource(kib * KIB);
    }
    tables.push(race('batch × formatting', sink, candidates, context));
  }
  return tables;
}

function askTables(context) {
  const words = Array.from({ length: 1024 }, () => crypto.randomBytes(16));
  const ids = words.map((bytes) => formatFrameId(bytes));
  const formats = {};
  for (const [name, make] of Object.entries(FORMATS)) {
    const format = make();
    formats[name] = (bytes) =>
      format(bytes.readInt32BE(0), bytes.readInt32BE(4), bytes.readInt32BE(8), bytes.readInt32BE(12));
  }
  const parses = Object.fromEntries(Object.entries(PARSES).map(([name, make]) => [name, make()]));
  return [
    race('ways to format', 'written', formats, { ...context, inputs: words }),
    race('ways to format', 'map key', formats, { ...context, inputs: words }),
    race('ways to parse', 'read', parses, { ...context, inputs: ids })
  ];
}

/** @returns {import('./support/report').Row} */
function toRow({ title, sink, baseline, results }) {
  return {
    name: `${title}, ${sink}`,
    group: title,
    candidates: Object.fromEntries(results.map(({ name, ns }) => [name, { ns }])),
    timesFaster: results.slice(1).map(({ name, times }) => ({ own: name, peer: baseline, times }))
  };
}

/** @returns {string} */
function formatRow({ title, sink, baseline, results }) {
  const width = Math.max(...results.map(({ name }) => name.length));
  const lines = results.map(
    ({ name, ns, times }) =>
      `  ${name.padEnd(width)}  ${ns[1].toFixed(1).padStart(8)} ns  ${times[1].toFixed(2).padStart(6)}×`
  );
  return [`${title} (${sink}): nanoseconds, times faster than ${baseline}`, ...lines].join('\n');
}

async function findUuid(path) {
  try {
    return await import(path ? require('node:url').pathToFileURL(require.resolve(path)).href : 'uuid');
  } catch (error) {
    if (path !== undefined) throw error;
    return undefined;
  }
}

function positiveInteger(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${name} must be a whole number from 1 on, but was "${text}"`);
  return value;
}

function readArguments() {
  const { values: options } = parseArgs({
    options: {
      only: { type: 'string', default: QUESTIONS.join() },
      rounds: { type: 'string', default: '31' },
      calls: { type: 'string', default: '20000' },
      uuid: { type: 'string' },
      json: { type: 'string' },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false }
    }
  });
  const only = options.only.split(',');
  const unknown = only.find((name) => !QUESTIONS.includes(name));
  if (unknown !== undefined) throw new Error(`--only takes ${QUESTIONS.join(', ')}, but was "${unknown}"`);
  return {
    ...options,
    only,
    rounds: positiveInteger('rounds', options.rounds),
    calls: positiveInteger('calls', options.calls)
  };
}

async function main() {
  const { help, json, quiet, only, rounds, calls, uuid: path } = readArguments();
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  const uuid = await findUuid(path);
  // A terminal shows each round, a log one line for each table.
  const progress = (text, isFirst) => {
    if (quiet) return;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
    else if (isFirst) process.stderr.write(`${text}\n`);
  };
  if (!uuid && !quiet) process.stderr.write("npm's uuid is not installed; its rows are left out (see --uuid)\n");

  const finish = await startReport('frame-id');
  const context = { rounds, calls, inputs: [], progress };
  const ask = {
    peers: () => askPeers(context, uuid),
    matrix: () => askMatrix(context),
    tables: () => askTables(context)
  };
  const tables = only.flatMap((name) => ask[name]());
  progress('', false);

  const quick = rounds < 9;
  const versions = uuid && path === undefined ? { uuid: require('uuid/package.json').version } : {};
  const report = await finish({ quick, rounds, calls, kernel, versions, rows: tables.map(toRow) });
  publish(report, json, [reportLine(report), ...tables.map(formatRow)].join('\n\n'));
}

main().catch((error) => {
  console.error(`benchmark/frame-id.js: ${error.message}`);
  process.exitCode = 1;
});
