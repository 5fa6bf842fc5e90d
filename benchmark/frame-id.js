'use strict';

// What does a frame id cost, and why is lib/frame-id.js made the way it is? Three questions:
//   peers   frameId, formatFrameId and parseFrameId against Node's own functions and npm's uuid
//   matrix  entropy batch × way of making the string, as nodejs/node#37243 chose crypto.randomUUID's
//   tables  formatting alone, and parsing alone, with the ways that were tried
// All candidates of a question run in turn, round after round in one process, so that a noisy neighbour meets them all.

const crypto = require('node:crypto');
const { parseArgs } = require('node:util');
const { frameId, formatFrameId, parseFrameId } = require('../lib/frame-id');

const HELP = `Usage: node benchmark/frame-id.js [options]

Times frame ids and prints medians, in nanoseconds a call, and ratios.

  --only <names>     questions to ask, separated by commas: peers, matrix, tables (default: all)
  --rounds <n>       rounds; the median of them is printed (default: 31)
  --calls <n>        calls of each candidate in each round (default: 20000)
  --uuid <path>      where npm's uuid is, if it can't be found from here
  --json             print JSON
  --quiet            no progress on stderr
  --help             this text

The result of each call is used, because a string that Node made of pieces costs most when it is first looked into:
  written   copied into a Buffer, as a log line is
  map key   a key of a Map
  key       a property name of an object
  dropped   not used at all
`;

const QUESTIONS = ['peers', 'matrix', 'tables'];
const KIB = 1024;

// --- The candidates of the matrix. Each is compiled anew for each cell (see `fresh`). ---

/* A source of version 4 ids, as in lib/frame-id.js, with the batch and the formatting open. */
function makeSource(batchBytes, format, randomFillSync) {
  const end = batchBytes / 4;
  const batch = new Uint32Array(end);
  let cursor = end;
  return () => {
    if (cursor === end) {
      randomFillSync(batch);
      cursor = 0;
    }
    const at = cursor;
    cursor += 4;
    const a = batch[at];
    const b = (batch[at + 1] & 0xffff0fff) | 0x4000;
    const c = (batch[at + 2] & 0x3fffffff) | 0x80000000;
    const d = batch[at + 3];
    batch[at] = batch[at + 1] = batch[at + 2] = batch[at + 3] = 0;
    return format(a, b, c, d);
  };
}

/* One batch formatted at once into one string of which each id is a piece: the piece keeps the whole alive. */
function makeSlabSource(batchBytes, write, randomFillSync) {
  const end = batchBytes / 16;
  const batch = new Uint32Array(batchBytes / 4);
  const bytes = Buffer.alloc(36 * end, '-');
  let text = '';
  let cursor = end;
  return () => {
    if (cursor === end) {
      randomFillSync(batch);
      for (let at = 0, to = 0; to < bytes.length; at += 4, to += 36) {
        const b = (batch[at + 1] & 0xffff0fff) | 0x4000;
        write(bytes, to, batch[at], b, (batch[at + 2] & 0x3fffffff) | 0x80000000, batch[at + 3]);
      }
      batch.fill(0);
      text = bytes.latin1Slice();
      cursor = 0;
    }
    const from = 36 * cursor;
    cursor++;
    return text.substring(from, from + 36);
  };
}

const strings = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const high = Uint8Array.from(strings, (pair) => pair.charCodeAt(0));
const low = Uint8Array.from(strings, (pair) => pair.charCodeAt(1));
const digits = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const values = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value++) {
  values[digits[value]] = value;
  values[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}
let strings16;

function makeStrings(table) {
  return (a, b, c, d) =>
    table[a >>> 24] +
    table[(a >>> 16) & 255] +
    table[(a >>> 8) & 255] +
    table[a & 255] +
    '-' +
    table[b >>> 24] +
    table[(b >>> 16) & 255] +
    '-' +
    table[(b >>> 8) & 255] +
    table[b & 255] +
    '-' +
    table[c >>> 24] +
    table[(c >>> 16) & 255] +
    '-' +
    table[(c >>> 8) & 255] +
    table[c & 255] +
    table[d >>> 24] +
    table[(d >>> 16) & 255] +
    table[(d >>> 8) & 255] +
    table[d & 255];
}

function makeStrings16(table) {
  return (a, b, c, d) =>
    table[a >>> 16] +
    table[a & 0xffff] +
    '-' +
    table[b >>> 16] +
    '-' +
    table[b & 0xffff] +
    '-' +
    table[c >>> 16] +
    '-' +
    table[c & 0xffff] +
    table[d >>> 16] +
    table[d & 0xffff];
}

function makeWrite(first, second) {
  const pair = (bytes, to, byte) => {
    bytes[to] = first[byte];
    bytes[to + 1] = second[byte];
  };
  return (bytes, to, a, b, c, d) => {
    pair(bytes, to, a >>> 24);
    pair(bytes, to + 2, (a >>> 16) & 255);
    pair(bytes, to + 4, (a >>> 8) & 255);
    pair(bytes, to + 6, a & 255);
    pair(bytes, to + 9, b >>> 24);
    pair(bytes, to + 11, (b >>> 16) & 255);
    pair(bytes, to + 14, (b >>> 8) & 255);
    pair(bytes, to + 16, b & 255);
    pair(bytes, to + 19, c >>> 24);
    pair(bytes, to + 21, (c >>> 16) & 255);
    pair(bytes, to + 24, (c >>> 8) & 255);
    pair(bytes, to + 26, c & 255);
    pair(bytes, to + 28, d >>> 24);
    pair(bytes, to + 30, (d >>> 16) & 255);
    pair(bytes, to + 32, (d >>> 8) & 255);
    pair(bytes, to + 34, d & 255);
  };
}

function makeSliced(write) {
  const scratch = Buffer.alloc(36, '-');
  return (a, b, c, d) => {
    write(scratch, 0, a, b, c, d);
    return scratch.latin1Slice(0, 36);
  };
}

function makeCodes(first, second, fromCharCode) {
  // biome-ignore format: one line for each word
  return (a, b, c, d) => fromCharCode(
    first[a >>> 24], second[a >>> 24], first[(a >>> 16) & 255], second[(a >>> 16) & 255],
    first[(a >>> 8) & 255], second[(a >>> 8) & 255], first[a & 255], second[a & 255], 45,
    first[b >>> 24], second[b >>> 24], first[(b >>> 16) & 255], second[(b >>> 16) & 255], 45,
    first[(b >>> 8) & 255], second[(b >>> 8) & 255], first[b & 255], second[b & 255], 45,
    first[c >>> 24], second[c >>> 24], first[(c >>> 16) & 255], second[(c >>> 16) & 255], 45,
    first[(c >>> 8) & 255], second[(c >>> 8) & 255], first[c & 255], second[c & 255],
    first[d >>> 24], second[d >>> 24], first[(d >>> 16) & 255], second[(d >>> 16) & 255],
    first[(d >>> 8) & 255], second[(d >>> 8) & 255], first[d & 255], second[d & 255]
  );
}

function makeNibbleCodes(digit, fromCharCode) {
  // biome-ignore format: one line for each word
  return (a, b, c, d) => fromCharCode(
    digit[a >>> 28], digit[(a >>> 24) & 15], digit[(a >>> 20) & 15], digit[(a >>> 16) & 15],
    digit[(a >>> 12) & 15], digit[(a >>> 8) & 15], digit[(a >>> 4) & 15], digit[a & 15], 45,
    digit[b >>> 28], digit[(b >>> 24) & 15], digit[(b >>> 20) & 15], digit[(b >>> 16) & 15], 45,
    digit[(b >>> 12) & 15], digit[(b >>> 8) & 15], digit[(b >>> 4) & 15], digit[b & 15], 45,
    digit[c >>> 28], digit[(c >>> 24) & 15], digit[(c >>> 20) & 15], digit[(c >>> 16) & 15], 45,
    digit[(c >>> 12) & 15], digit[(c >>> 8) & 15], digit[(c >>> 4) & 15], digit[c & 15],
    digit[d >>> 28], digit[(d >>> 24) & 15], digit[(d >>> 20) & 15], digit[(d >>> 16) & 15],
    digit[(d >>> 12) & 15], digit[(d >>> 8) & 15], digit[(d >>> 4) & 15], digit[d & 15]
  );
}

const { fromCharCode } = String;

const FORMATS = {
  'fromCharCode, 256 bytes': () => fresh(makeCodes)(high, low, fromCharCode),
  'fromCharCode, 16 digits': () => fresh(makeNibbleCodes)(digits, fromCharCode),
  'byte strings': () => fresh(makeStrings)(strings),
  '16-bit strings': () => {
    strings16 ??= Array.from({ length: 65536 }, (_, pair) => pair.toString(16).padStart(4, '0'));
    return fresh(makeStrings16)(strings16);
  },
  'Buffer, latin1Slice': () => fresh(makeSliced)(fresh(makeWrite)(high, low))
};

// --- The candidates for parsing ---

function makeCharCodes(table, allocate) {
  const read = (string, at) => {
    const a = string.charCodeAt(at);
    const b = string.charCodeAt(at + 1);
    const c = string.charCodeAt(at + 2);
    const d = string.charCodeAt(at + 3);
    if ((a | b | c | d) > 0x7f) return -1;
    return (table[a] << 12) | (table[b] << 8) | (table[c] << 4) | table[d];
  };
  const from = [0, 4, 9, 14, 19, 24, 28, 32];
  return (string) => {
    if (string.length !== 36) throw new RangeError(string);
    if (string[8] !== '-' || string[13] !== '-' || string[18] !== '-' || string[23] !== '-') {
      throw new RangeError(string);
    }
    const bytes = allocate(16);
    for (let i = 0; i < 8; i++) {
      const value = read(string, from[i]);
      if (value < 0) throw new RangeError(string);
      bytes[2 * i] = value >>> 8;
      bytes[2 * i + 1] = value;
    }
    return bytes;
  };
}

function makeRegExpHex(pattern) {
  return (string) => {
    if (!pattern.test(string)) throw new RangeError(string);
    return Buffer.from(string.replaceAll('-', ''), 'hex');
  };
}

function makeScratch(table, allocate) {
  const scratch = Buffer.alloc(128);
  const from = [0, 4, 9, 14, 19, 24, 28, 32];
  return (string) => {
    // A character beyond ASCII makes more bytes than one.
    if (string.length !== 36 || scratch.utf8Write(string, 0) !== 36) throw new RangeError(string);
    if (scratch[8] !== 45 || scratch[13] !== 45 || scratch[18] !== 45 || scratch[23] !== 45) {
      throw new RangeError(string);
    }
    const bytes = allocate(16);
    for (let i = 0; i < 8; i++) {
      const at = from[i];
      const value =
        (table[scratch[at]] << 12) |
        (table[scratch[at + 1]] << 8) |
        (table[scratch[at + 2]] << 4) |
        table[scratch[at + 3]];
      if (value < 0) throw new RangeError(string);
      bytes[2 * i] = value >>> 8;
      bytes[2 * i + 1] = value;
    }
    return bytes;
  };
}

// --- The ways of using a result ---

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
 * A copy of a function that shares no type feedback with the others made from the same text: what V8 learnt from one
 * candidate must not slow the next.
 *
 * @param {Function} original uses nothing but its arguments and globals
 * @returns {Function}
 */
function fresh(original) {
  return new Function(`return (${original})`)();
}

/**
 * @param {string} title
 * @param {string} sink a name in SINKS
 * @param {Record<string, Function>} candidates the first is what the others are compared with
 * @param {{ rounds: number, calls: number, inputs: Array, progress: (text: string, isFirst: boolean) => void }} context
 * @returns {{ title: string, sink: string, baseline: string, results: { name: string, ns: number, ratio: number }[] }}
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
    // Twice, so that all is compiled before the clock runs.
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
  const medians = runners.map(({ times }) => times.sort((a, b) => a - b)[times.length >> 1]);
  return {
    title,
    sink,
    baseline: runners[0].name,
    results: runners.map(({ name }, i) => ({ name, ns: medians[i], ratio: medians[0] / medians[i] }))
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
        candidates[`${kib} KiB, ${name}`] = fresh(makeSource)(kib * KIB, format(), crypto.randomFillSync);
      }
      const slab = fresh(makeSlabSource)(kib * KIB, fresh(makeWrite)(high, low), crypto.randomFillSync);
      candidates[`${kib} KiB, one string a batch`] = slab;
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
  const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
  const parses = {
    'character codes, allocUnsafeSlow': fresh(makeCharCodes)(values, Buffer.allocUnsafeSlow),
    'character codes, allocUnsafe': fresh(makeCharCodes)(values, Buffer.allocUnsafe),
    'character codes, alloc': fresh(makeCharCodes)(values, Buffer.alloc),
    'utf8Write, allocUnsafeSlow': fresh(makeScratch)(values, Buffer.allocUnsafeSlow),
    'regular expression, hex': fresh(makeRegExpHex)(pattern)
  };
  return [
    race('ways to format', 'written', formats, { ...context, inputs: words }),
    race('ways to format', 'map key', formats, { ...context, inputs: words }),
    race('ways to parse', 'read', parses, { ...context, inputs: ids })
  ];
}

function print({ title, sink, results }) {
  const width = Math.max(...results.map(({ name }) => name.length));
  console.log(`\n${title} (${sink})`);
  for (const { name, ns, ratio } of results) {
    console.log(`  ${name.padEnd(width)}  ${ns.toFixed(1).padStart(8)} ns  ${ratio.toFixed(2).padStart(6)}x`);
  }
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
    throw new Error(`--${name} must be an integer above 0, but was "${text}"`);
  return value;
}

function readArguments() {
  const { values: options } = parseArgs({
    options: {
      only: { type: 'string', default: QUESTIONS.join() },
      rounds: { type: 'string', default: '31' },
      calls: { type: 'string', default: '20000' },
      uuid: { type: 'string' },
      json: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false }
    }
  });
  const only = options.only.split(',');
  const unknown = only.find((name) => !QUESTIONS.includes(name));
  if (unknown !== undefined) throw new Error(`--only knows ${QUESTIONS.join(', ')}, but not "${unknown}"`);
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
  // A terminal shows each round; a log only what has begun.
  const progress = (text, isFirst) => {
    if (quiet) return;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
    else if (isFirst) process.stderr.write(`${text}\n`);
  };
  if (!uuid && !quiet) process.stderr.write("npm's uuid is not installed: its rows are left out (see --uuid)\n");

  const context = { rounds, calls, inputs: [], progress };
  const ask = {
    peers: () => askPeers(context, uuid),
    matrix: () => askMatrix(context),
    tables: () => askTables(context)
  };
  const tables = only.flatMap((name) => ask[name]());
  progress('', false);

  const machine = { node: process.version, arch: process.arch, cpu: require('node:os').cpus()[0]?.model };
  if (json) {
    console.log(JSON.stringify({ ...machine, rounds, calls, tables }, undefined, 2));
  } else {
    console.log(
      `Node.js ${machine.node}, ${machine.arch}, ${machine.cpu}; medians of ${rounds} rounds of ${calls} calls`
    );
    tables.forEach(print);
  }
}

main().catch((error) => {
  console.error(`benchmark/frame-id.js: ${error.message}`);
  process.exitCode = 1;
});
