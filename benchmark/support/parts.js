'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

/** More lengths than those of masking.js, for a line without corners. */
const SIZES = '8,16,24,32,48,64,96,125,256,512,1k,2k,4k,8k,16k,32k,64k,128k,256k,1m,4m,16m';
const servers = (...names) => names.flatMap((name) => ['--servers', name]);

/**
 * A benchmark that is run with others.
 *
 * @typedef {object} Part
 * @property {string[]} args what to measure, and for how long
 * @property {string[]} few what to measure instead in a few seconds
 * @property {number} minutes how long it takes, about
 */

/** @type {Record<string, Part>} the parts whose results are kept in benchmark/results/; together eleven minutes */
const CHARTED = {
  masking: {
    args: ['--kernels', '--sizes', SIZES, '--turn', '5'],
    few: ['--kernels', '--sizes', '16,125,16k', '--turn', '1'],
    minutes: 1.5
  },
  decode: { args: ['--rounds', '7'], few: ['--only', 'text 16 B', '--turn', '1'], minutes: 1.5 },
  encode: { args: ['--rounds', '5'], few: ['--only', 'server: text', '--turn', '1'], minutes: 1 },
  echo: {
    args: ['--kind', 'bytes', '--turn', '250', ...servers('framemask', 'ws', 'Bun', 'Deno', 'net.Socket')],
    few: ['--kind', 'bytes', '--only', '100 × 64 B', '--turn', '60', '--no-fetch', ...servers('framemask', 'ws')],
    minutes: 3
  },
  ws: {
    args: ['--turn', '250'],
    few: ['--only', 'echo 100 × 64 B', '--only', 'idle', '--idle', '200', '--turn', '60'],
    minutes: 2.5
  },
  broadcast: { args: ['--turn', '250'], few: ['--clients', '100', '--turn', '30'], minutes: 1 },
  'idle-memory': { args: [], few: ['--pairs', '2000', '--rounds', '1'], minutes: 0.5 }
};

/** @type {Record<string, Part>} all parts */
const PARTS = {
  ...CHARTED,
  deflate: { args: [], few: ['--only', '1 KiB, no'], minutes: 1 },
  'frame-id': { args: [], few: ['--only', 'make an id, written', '--turn', '1'], minutes: 0.5 },
  tracing: { args: [], few: ['--only', '64 B, one', '--rounds', '1', '--turn', '1'], minutes: 1 }
};

/**
 * Runs benchmarks, each in a process of its own, which shows its progress on stderr. What was measured
 * before a failure is kept.
 */
async function runParts(names, quick, folder, onReport) {
  fs.mkdirSync(folder, { recursive: true });
  for (const [i, name] of names.entries()) {
    const { args, few, minutes } = PARTS[name];
    console.error(`part ${i + 1} of ${names.length}: ${name}${quick ? '' : `, about ${minutes} minutes`}`);
    const file = path.join(folder, `${name}.json`);
    const program = path.join(__dirname, '..', `${name}.js`);
    const all = [program, ...(quick ? [...few, '--quick'] : args), '--json', `${file}.unfinished`];
    const child = spawn(process.execPath, all, { stdio: ['ignore', 'ignore', 'inherit'] });
    const [code, signal] = await once(child, 'exit');
    if (code !== 0) throw new Error(`benchmark/${name}.js ended with ${signal ?? `exit code ${code}`}`);
    fs.renameSync(`${file}.unfinished`, file);
    onReport(JSON.parse(fs.readFileSync(file, 'utf8')));
  }
}

/** @param {string[]} names @param {Record<string, Part>} parts @throws {RangeError} if one is unknown */
function checkParts(names, parts) {
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined)
    throw new RangeError(`--only takes ${Object.keys(parts).join(', ')}, but was "${unknown}"`);
}

module.exports = { CHARTED, PARTS, checkParts, runParts };
