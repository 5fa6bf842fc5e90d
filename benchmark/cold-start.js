'use strict';

// How long does a program wait for `require`? Each turn is a process of its own, which takes the time
// of its first require and first call. The files are in the system's cache.

const { execFileSync } = require('node:child_process');

const { runBenchmark } = require('./support/harness');
const { ROOT } = require('./support/modules');

const USAGE = `usage: node benchmark/cold-start.js [options]

Measures the time from a program's first line to a first result: masking alone, a Decoder with an Encoder and an id, and
framemask/ws, beside bufferutil and ws. Prints medians. Takes about ten seconds.`;

const ROWS = {
  'mask and unmask': {
    framemask: "require('.').unmask(Buffer.alloc(64), Buffer.alloc(4))",
    bufferutil: "require('bufferutil').unmask(Buffer.alloc(64), Buffer.alloc(4))"
  },
  'Decoder, Encoder and id': {
    framemask:
      "const f = require('.'); new f.Decoder({ role: 'server', onMessage() {} }); new f.Encoder({ role: 'server' }); f.frameId()"
  },
  'server of ws': {
    'framemask/ws': "new (require('./ws').WebSocketServer)({ noServer: true })",
    ws: "new (require('ws').WebSocketServer)({ noServer: true })"
  }
};

/** @returns {number} milliseconds */
function timeOf(code) {
  const program = `const began = process.hrtime.bigint(); ${code}; console.log(Number(process.hrtime.bigint() - began) / 1e6)`;
  return Number(execFileSync(process.execPath, ['-e', program], { cwd: ROOT, encoding: 'utf8' }));
}

runBenchmark({
  name: 'cold-start',
  usage: USAGE,
  peers: ['bufferutil', 'ws'],
  sets: () =>
    Object.entries(ROWS).map(([name, programs]) => {
      const [own, peer] = Object.keys(programs);
      const candidate = ([who, code]) => [who, () => ({ ms: timeOf(code) })];
      const pairs = peer === undefined ? [] : [[own, peer]];
      return {
        rows: [{ name, group: `start: ${name}`, pairs }],
        start: () => ({ candidates: () => Object.fromEntries(Object.entries(programs).map(candidate)) })
      };
    })
});
