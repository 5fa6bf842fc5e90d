'use strict';

// Each turn is a process of its own. The files are in the system's cache.

const { execFileSync } = require('node:child_process');
const { runBenchmark } = require('./support/harness');

const USAGE = `usage: node benchmark/cold-start.js [options]

Measures the time from a program's first line to a first result: masking alone, a Decoder with an Encoder and an id, and
framemask/ws, beside bufferutil and ws. Prints medians. Takes about ten seconds.`;

const CODEC = "new f.Decoder({ role: 'server', onMessage() {} }); new f.Encoder({ role: 'server' }); f.frameId()";
const ROWS = {
  'mask and unmask': {
    framemask: "require('..').unmask(Buffer.alloc(64), Buffer.alloc(4))",
    bufferutil: "require('bufferutil').unmask(Buffer.alloc(64), Buffer.alloc(4))"
  },
  'Decoder, Encoder and id': { framemask: `const f = require('..'); ${CODEC}` },
  'server of ws': {
    'framemask/ws': "new (require('../ws').WebSocketServer)({ noServer: true })",
    ws: "new (require('ws').WebSocketServer)({ noServer: true })"
  }
};

/** @returns {{ ms: number }} of a program */
function run(code) {
  const program = `const began = process.hrtime.bigint(); ${code}; console.log(Number(process.hrtime.bigint() - began) / 1e6)`;
  return { ms: Number(execFileSync(process.execPath, ['-e', program], { cwd: __dirname, encoding: 'utf8' })) };
}

const rows = Object.entries(ROWS).map(([name, programs]) => ({ name, group: `start: ${name}`, programs }));

const candidates = ({ programs }) =>
  Object.fromEntries(Object.entries(programs).map(([name, code]) => [name, () => run(code)]));

runBenchmark({
  name: 'cold-start',
  usage: USAGE,
  peers: ['bufferutil', 'ws'],
  sets: () => [{ rows, start: () => ({ candidates }) }]
});
