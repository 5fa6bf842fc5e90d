'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

/** The parts whose results are kept in benchmark/results/. */
const CHARTED = ['masking', 'decode', 'encode', 'echo', 'ws', 'broadcast', 'idle-memory'];

/** More lengths than those of masking.js, for a line without corners. */
const SIZES = '8,16,24,32,48,64,96,125,256,512,1k,2k,4k,8k,16k,32k,64k,128k,256k,1m,4m,16m';

/** The arguments of each benchmark: for a whole run, and for one of a few seconds. */
const PARTS = {
  masking: [`--kernels --sizes ${SIZES} --turn 5`, '--kernels --sizes 16,125,16k --turn 1'],
  decode: ['--rounds 7', '--only binary --turn 1'],
  encode: ['--rounds 5', '--only server: --turn 1'],
  echo: ['--kind bytes --turn 250', '--kind bytes --only 100 --turn 60 --servers framemask --servers ws'],
  ws: ['--turn 250', '--only 100 --only idle --idle 200 --turn 60'],
  broadcast: ['--turn 250', '--clients 100 --turn 30'],
  http2: ['--turn 250', '--only 100 --idle 200 --turn 150'],
  'idle-memory': ['', '--pairs 2000 --rounds 1'],
  deflate: ['', '--only 128'],
  'cold-start': ['', '--rounds 1'],
  'frame-id': ['', '--only written --turn 1'],
  tracing: ['', '--only encode --rounds 1 --turn 1']
};

/** Runs a benchmark in a process of its own. @returns {Promise<object>} its Report, which is never half written */
async function runPart(name, quick, folder) {
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${name}.json`);
  const [whole, few] = PARTS[name].map((text) => text.split(' ').filter((word) => word !== ''));
  const args = [...(quick ? [...few, '--quick'] : whole), '--json', `${file}.unfinished`];
  const program = path.join(__dirname, '..', `${name}.js`);
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code, signal] = await once(child, 'exit');
  if (code !== 0) throw new Error(`benchmark/${name}.js ended with ${signal ?? `exit code ${code}`}`);
  fs.renameSync(`${file}.unfinished`, file);
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

module.exports = { CHARTED, PARTS, runPart };
