'use strict';

// What does tracing cost while nobody listens? The codec as it is, beside a copy of it out of which every trace of tracing
// has been cut before it was compiled. Both decode the same 64-byte frames, by turns, in one process.

const Module = require('node:module');

const { readArguments, readCount } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { BINARY, TEXT, asciiPayload, cut, maskedFrame, writeAll } = require('./support/messages');
const { loadFramemask } = require('./support/modules');
const { createProgress } = require('./support/progress');
const { fresh, race, ratio } = require('./support/race');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { warmUp } = require('./support/warm-up');

const USAGE = `usage: node benchmark/tracing.js [options]

Times the decoding of 64-byte frames with tracing in the code and without, and prints the median nanoseconds a frame.

  --turn <ms>       how long a turn of a candidate takes`;

/** What is cut out of lib/, and how often it is there at least: so that a change of lib/ can't make this measure nothing. */
const CUTS = [
  [/^ *if \((?:this\._traced|isTraced\(\))\) .*;$/gm, '', 6],
  [/^ *if \(!this\._traced\) this\._sequence \+= .*;$/gm, '', 1],
  [/^ *this\._sequence(?:\+\+;| = 0;)$/gm, '', 4],
  [/^ *this\._traced = .*;$/gm, '', 2],
  [/!this\._traced && /g, '', 2],
  [/ && !this\._traced/g, '', 1]
];

/** @returns {typeof import('../index.js')} a copy of the package without tracing */
function loadWithout() {
  const compile = Module.prototype._compile;
  const counts = CUTS.map(() => 0);
  Module.prototype._compile = function (source, file) {
    let text = source;
    if (/[\\/]lib[\\/](?:frame-reader|decoder|encoder)\.js$/.test(file)) {
      CUTS.forEach(([pattern, replacement], i) => {
        counts[i] += text.match(pattern)?.length ?? 0;
        text = text.replace(pattern, replacement);
      });
    }
    return compile.call(this, text, file);
  };
  try {
    const framemask = loadFramemask();
    for (const [i, [pattern, , least]] of CUTS.entries()) {
      if (counts[i] < least) throw new Error(`lib/ has ${counts[i]} places that match ${pattern}, not ${least}`);
    }
    return framemask;
  } finally {
    Module.prototype._compile = compile;
  }
}

const SIZE = 64;

function work(name) {
  const first = name.startsWith('text') ? TEXT : BINARY;
  const frames = Array.from({ length: 900 }, () => maskedFrame(first, asciiPayload(SIZE)));
  const chunks = name.includes('one a chunk')
    ? frames.slice(0, 64).flatMap((frame) => cut(frame, frame.length))
    : cut(Buffer.concat(frames), 64 * 1024);
  const total = chunks.reduce((sum, { length }) => sum + length, 0);
  return { chunks, count: total / (SIZE + 6) };
}

const NAMES = ['text', 'binary', 'onFrame', 'text, one a chunk', 'binary, one a chunk'];

async function measure(name, { rounds, turn }) {
  const { chunks, count } = work(name);
  const candidate = ({ Decoder }) => {
    let bytes = 0;
    const handlers = name === 'onFrame' ? { onFrame: (_f, _b, start, end) => (bytes += end - start) } : {};
    if (name !== 'onFrame') handlers.onMessage = (data) => (bytes += data.length);
    const decoder = new Decoder({ role: 'server', ...handlers });
    const repeat = fresh(writeAll);
    repeat((chunk) => decoder.write(chunk), chunks, 1);
    if (bytes < (Math.floor(count) - 1) * SIZE) throw new Error(`${bytes} bytes were decoded of ${count} frames`);
    return (calls) => repeat((chunk) => decoder.write(chunk), chunks, calls);
  };
  const candidates = { with: candidate(loadFramemask()), without: candidate(loadWithout()) };
  await warmUp(candidates, turn * 10);
  const turns = await race(candidates, { rounds, turn });
  const [own, peer] = [turns.with, turns.without];
  return { name, with: median(own) / count, without: median(peer) / count, ratio: ratio(own, peer) };
}

async function main() {
  const { rounds, turn, quick, json } = readArguments(USAGE, { turn: { type: 'string' } });
  const options = {
    rounds: quick ? rounds : Math.max(rounds, 15),
    turn: readCount('turn', turn ?? (quick ? '5' : '40'))
  };
  const machine = describeMachine(loadFramemask().kernel);
  const progress = createProgress(NAMES.length);
  const results = [];
  for (const name of NAMES) {
    progress.step(name);
    results.push(await measure(name, options));
  }
  progress.end();
  if (json) {
    console.log(JSON.stringify({ machine, options, results }, null, 2));
    return;
  }
  const rows = results.map((result) => [
    result.name,
    formatNumber(result.without),
    formatNumber(result.with),
    `${((1 / result.ratio - 1) * 100).toFixed(1)} %`
  ]);
  console.log(`${machineLine(machine)}\n`);
  console.log(formatTable(['64-byte frames', 'without, ns', 'with, ns', 'cost'], rows));
}

main();
