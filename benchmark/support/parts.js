'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const FOLDER = path.join(__dirname, '..');

/** More lengths than those of masking.js, for a line without corners. */
const SIZES = '8,16,24,32,48,64,96,125,256,512,1k,2k,4k,8k,16k,32k,64k,128k,256k,1m,4m,16m';
/** The servers of the echo chart. */
const SERVERS = ['framemask', 'ws', 'Bun', 'Deno', 'net.Socket'].flatMap((name) => ['--servers', name]);

/**
 * A benchmark that is run with others.
 *
 * @typedef {object} Part
 * @property {string} program in benchmark/
 * @property {string[]} args what to measure
 * @property {string[]} slow for how long, unless the run is a quick one: all charted parts together
 *   take less than twelve minutes
 * @property {string[]} few in the place of `args`, for a few seconds
 * @property {string} minutes how long it takes, about
 */

/** @type {Record<string, Part>} the parts whose results are kept in benchmark/results/ */
const CHARTED = {
  masking: {
    program: 'masking.js',
    args: ['--kernels', '--sizes', SIZES],
    slow: ['--turn', '5'],
    few: ['--sizes', '16,125,16k', '--turn', '1'],
    minutes: '1.5'
  },
  decode: {
    program: 'decode.js',
    args: [],
    slow: ['--rounds', '7'],
    few: ['--only', 'text 16 B', '--turn', '1'],
    minutes: '1.5'
  },
  encode: {
    program: 'encode.js',
    args: [],
    slow: ['--rounds', '5'],
    few: ['--only', 'server: text', '--turn', '1'],
    minutes: '1'
  },
  echo: {
    program: 'echo.js',
    args: ['--kind', 'bytes', ...SERVERS],
    slow: ['--turn', '250'],
    few: [
      '--kind',
      'bytes',
      '--only',
      '100 × 64 B',
      '--servers',
      'framemask',
      '--servers',
      'ws',
      '--turn',
      '60',
      '--no-fetch'
    ],
    minutes: '3'
  },
  ws: {
    program: 'ws.js',
    args: [],
    slow: ['--turn', '250'],
    few: ['--only', 'echo 100 × 64 B', '--turn', '60'],
    minutes: '2.5'
  },
  broadcast: {
    program: 'broadcast.js',
    args: [],
    slow: ['--turn', '250'],
    few: ['--clients', '100', '--turn', '30'],
    minutes: '1'
  },
  'idle-memory': {
    program: 'idle-memory.js',
    args: [],
    slow: [],
    few: ['--pairs', '2000', '--rounds', '1'],
    minutes: '0.5'
  }
};

/** @type {Record<string, Part>} all parts */
const PARTS = {
  ...CHARTED,
  deflate: { program: 'deflate.js', args: [], slow: [], few: ['--only', '1 KiB, no'], minutes: '1' },
  'frame-id': {
    program: 'frame-id.js',
    args: ['--only', 'peers'],
    slow: [],
    few: ['--only', 'peers', '--calls', '5000'],
    minutes: '0.5'
  },
  tracing: {
    program: 'tracing.js',
    args: [],
    slow: [],
    few: ['--only', '64 B, one', '--processes', '1', '--turn', '1'],
    minutes: '1'
  }
};

/**
 * Runs a benchmark in a process of its own, which shows its progress on stderr.
 *
 * @param {string} name in PARTS
 * @param {{ quick: boolean, few?: boolean, rounds?: string }} options `few` for a few rows only
 * @param {string} file the report is written to it
 * @returns {Promise<import('./report').Report>}
 * @throws {Error} if the benchmark fails
 */
async function runPart(name, { quick, few = false, rounds }, file) {
  const part = PARTS[name];
  const what = [...(few ? part.few : part.args), ...(quick ? [] : part.slow)];
  const args = [path.join(FOLDER, part.program), ...what, '--json', file];
  // frame-id.js has no --quick, and its own number of rounds.
  if (name === 'frame-id') args.push(...(quick ? ['--rounds', '3'] : []));
  else if (quick) args.push('--quick');
  else if (rounds !== undefined) args.push('--rounds', rounds);
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code, signal] = await once(child, 'exit');
  if (code !== 0) throw new Error(`benchmark/${part.program} ended with ${signal ?? `exit code ${code}`}`);
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

module.exports = { CHARTED, PARTS, runPart };
