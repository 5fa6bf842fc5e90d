'use strict';

// Masks and scans, on every kernel that this machine runs, against lib/masking/fallback.js and
// lib/codec/scan.js. For runtimes that have no test runner, slow ones among them:
// test/system/platforms starts it on emulated processors, in Bun and in Deno.
//
// usage: smoke.js [--root <folder>] [--file <addon> [--loader <addon>]] [--seed <number>] [--quick]
//
//   --root    the package; else the checkout that this file is in
//   --file    an addon, in place of the one that the package finds
//   --loader  an addon with a function that makes exports of the bytes of --file
//   --quick   a tenth of the work
//
// Prints one line of JSON and ends with 0, or throws.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const GUARD = 64;
const LONG = [505, 512, 513, 575, 700, 1023, 4093, 65537];

const { values } = parseArgs({
  options: {
    root: { type: 'string' },
    file: { type: 'string' },
    loader: { type: 'string' },
    seed: { type: 'string' },
    quick: { type: 'boolean' }
  }
});
const root = path.resolve(values.root || path.join(__dirname, '../..'));
const { Param, bind, findAddon, load } = require(path.join(root, 'lib/masking/native.js'));
const { advanceKey, maskInto, maskInPlace } = require(path.join(root, 'lib/masking/fallback.js'));
const { scanChunk } = require(path.join(root, 'lib/codec/scan.js'));

/**
 * The addon's exports, and the kernel that lib/masking/native.js has chosen, or undefined where it
 * was not asked.
 */
function loadAddon() {
  if (values.loader) {
    const loaded = require(path.resolve(values.loader))(fs.readFileSync(values.file), {});
    return { addon: loaded };
  }
  if (values.file) return { addon: require(path.resolve(values.file)) };
  let addon;
  const environment = { ...process.env, FRAMEMASK_REQUIRE_NATIVE: '1' };
  const { kernel } = load(environment, () => {
    addon = findAddon();
    return addon;
  });
  return { addon, kernel };
}

/** Mulberry32: what a seed has found can be seen again. */
function createRandom(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) % below;
  };
}

const seed = values.seed === undefined ? (Math.random() * 2 ** 32) >>> 0 : Number(values.seed);
const random = createRandom(seed);

function randomBytes(length) {
  const bytes = Buffer.alloc(length);
  for (let i = 0; i < length; i++) bytes[i] = random(256);
  return bytes;
}

function randomKey() {
  return (random(65536) * 65536 + random(65536)) >>> 0;
}

/** A failure with all that is needed to see it again. */
function fail(what, actual, expected) {
  const at = actual.findIndex((byte, i) => byte !== expected[i]);
  throw new Error(`${what} (seed ${seed}): byte ${at} is ${actual[at]}, not ${expected[at]}`);
}

function isAscii(bytes) {
  return bytes.every((byte) => byte < 128);
}

/** The functions of one kernel with their numbers as arguments. */
function callable({ params, mask, unmask, unmaskText, scan }) {
  const { KEY, START, OFFSET, LENGTH, MODE, COUNT, NON_ASCII } = Param;
  function set(key, start, length) {
    params[KEY] = key;
    params[START] = start;
    params[LENGTH] = length;
  }
  return {
    mask(source, start, output, offset, length, key) {
      set(key, start, length);
      params[OFFSET] = offset;
      mask(source, output);
      return params[NON_ASCII] === 0;
    },
    unmask(buffer, start, length, key) {
      set(key, start, length);
      unmask(buffer);
      return params[NON_ASCII] === 0;
    },
    unmaskText(buffer, start, length, key) {
      set(key, start, length);
      return unmaskText(buffer);
    },
    scan(chunk, start, mode, table) {
      params[START] = start;
      params[MODE] = mode;
      scan(chunk, table);
      return params[COUNT];
    }
  };
}

/** One length, alignment and key: from memory to memory, within one, in place, and as text. */
function checkMasking(native, length, from, to, key) {
  const what = `length ${length}, from ${from} to ${to}, key 0x${key.toString(16)}`;
  const size = GUARD + 64 + length + GUARD;
  const source = randomBytes(size);

  let actual = randomBytes(size);
  let expected = Buffer.from(actual);
  const masksToAscii = native.mask(source, from, actual, to, length, key);
  maskInto(source, from, expected, to, length, key);
  if (!actual.equals(expected)) fail(`mask, ${what}`, actual, expected);
  if (masksToAscii !== isAscii(expected.subarray(to, to + length))) throw new Error(`mask, ${what}: ${masksToAscii}`);

  actual = Buffer.from(source);
  expected = Buffer.from(source);
  native.mask(actual, from, actual, to, length, key);
  maskInto(expected, from, expected, to, length, key);
  if (!actual.equals(expected)) fail(`mask within one memory, ${what}`, actual, expected);

  // Every other time a payload that is ASCII once unmasked.
  const text = length % 2 === 0;
  if (text)
    for (let i = 0; i < length; i++) source[from + i] = (source[from + i] & 127) ^ ((key >>> ((i & 3) * 8)) & 255);
  actual = Buffer.from(source);
  expected = Buffer.from(source);
  const ascii = native.unmask(actual, from, length, key);
  maskInPlace(expected, from, length, key);
  if (!actual.equals(expected)) fail(`unmask, ${what}`, actual, expected);
  if (ascii !== isAscii(expected.subarray(from, from + length))) throw new Error(`unmask, ${what}: ASCII is ${ascii}`);

  actual = Buffer.from(source);
  const string = native.unmaskText(actual, from, length, key);
  if (!actual.equals(expected)) fail(`unmaskText, ${what}`, actual, expected);
  if (string !== (ascii ? expected.latin1Slice(from, from + length) : undefined)) {
    throw new Error(`unmaskText, ${what}: another string`);
  }

  // In two pieces: the second begins where the key has been left.
  const middle = random(length + 1);
  actual = Buffer.from(source);
  native.unmask(actual, from, middle, key);
  native.unmask(actual, from + middle, length - middle, advanceKey(key, middle));
  if (!actual.equals(expected)) fail(`unmask in two pieces at ${middle}, ${what}`, actual, expected);
}

function checkLengths(native, upTo, alignments) {
  let checks = 0;
  const lengths = Array.from({ length: upTo }, (_, i) => i).concat(LONG);
  for (const length of lengths) {
    for (let i = 0; i < (length > 4096 ? 4 : alignments); i++) {
      checkMasking(native, length, GUARD + random(64), GUARD + random(64), randomKey());
      checks++;
    }
  }
  return checks;
}

/** Around each length where a header changes, too. */
function randomLength(control) {
  if (random(4) === 0) return control ? random(128) : [0, 1, 125, 126, 127, 128][random(6)];
  if (control) return random(126);
  return random(20) === 0 ? 65534 + random(4) : random(600);
}

/** A stream of frames, right ones most of the time. */
function randomStream(masked) {
  const parts = [];
  for (let frames = random(12); frames >= 0; frames--) {
    const opcode = [0, 1, 2, 8, 9, 10, random(16)][random(7)];
    const first = (random(40) === 0 ? random(256) & 0x70 : 0) | (random(8) === 0 && opcode < 8 ? 0 : 0x80) | opcode;
    const length = randomLength(opcode >= 8);
    const mask = (random(50) === 0) === masked ? 0 : 0x80;
    const header = [first, mask | (length < 126 ? length : length < 65536 ? 126 : 127)];
    if (length > 65535) header.push(0, 0, 0, 0, 0, length >>> 16, (length >>> 8) & 255, length & 255);
    else if (length > 125) header.push(length >>> 8, length & 255);
    parts.push(Buffer.from(header));
    if (mask !== 0) parts.push(random(2) === 0 ? Buffer.alloc(4) : randomBytes(4));
    parts.push(random(2) === 0 ? Buffer.alloc(length, 97) : randomBytes(length));
  }
  return Buffer.concat(parts);
}

function checkStreams(native, streams) {
  for (let i = 0; i < streams; i++) {
    const mode = [0x80, 0, 0xc0, 0x40][i % 4];
    const stream = randomStream((mode & 0x80) !== 0);
    const length = random(3) === 0 ? random(stream.length + 1) : stream.length;
    const memory = Buffer.concat([randomBytes(GUARD + random(16)), stream.subarray(0, length), randomBytes(GUARD)]);
    const begin = memory.length - GUARD - length;
    const start = random(20) === 0 ? random(length + 1) : 0;
    const words = 3 * random(16);
    const actual = Buffer.from(memory);
    const expected = Buffer.from(memory);
    const actualTable = new Uint32Array(words + 3).fill(7);
    const expectedTable = new Uint32Array(words + 3).fill(7);
    const chunk = (bytes) => bytes.subarray(begin, begin + length);
    const count = native.scan(chunk(actual), start, mode, actualTable.subarray(0, words));
    const expectedCount = scanChunk(chunk(expected), start, mode, expectedTable.subarray(0, words));
    if (count !== expectedCount) throw new Error(`scan ${i} (seed ${seed}): ${count} frames, not ${expectedCount}`);
    if (!actualTable.every((value, k) => value === expectedTable[k]))
      throw new Error(`scan ${i} (seed ${seed}): table`);
    if (!actual.equals(expected)) fail(`scan ${i}`, actual, expected);
  }
  return streams;
}

/** Bun and Deno also say which Node.js they would be. */
function describeRuntime({ bun, deno, node }) {
  if (bun) return `Bun ${bun}`;
  return deno ? `Deno ${deno}` : `Node.js ${node}`;
}

const { addon, kernel } = loadAddon();
const started = Date.now();
let checks = 0;
for (const name of addon.kernels) {
  const native = callable(bind(addon, name));
  checks += checkLengths(native, values.quick ? 160 : 300, values.quick ? 2 : 12);
  checks += checkStreams(native, values.quick ? 200 : 1500);
}
console.log(
  JSON.stringify({
    kernel: kernel || addon.kernels[addon.kernels.length - 1],
    kernels: addon.kernels,
    platform: process.platform,
    arch: process.arch,
    version: describeRuntime(process.versions),
    checks,
    milliseconds: Date.now() - started
  })
);
