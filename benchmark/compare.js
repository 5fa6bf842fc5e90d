'use strict';

// Is this checkout slower than another? The rows of decode.js, encode.js and masking.js for both,
// and rows of framemask/ws over a stream in memory.
//
// Each row is measured in several processes. Each process loads both checkouts, which work on the
// same bytes by turns. V8 compiles the same code better in one process than in another, so the
// spread over processes is the noise that counts.

const { runBenchmark } = require('./support/harness');
const { listRows, runChild } = require('./support/child');
const { ROOT, findCheckout } = require('./support/modules');
const { count, text } = require('./support/options');
const { median } = require('./support/race');

const USAGE = `usage: node benchmark/compare.js <folder of the old checkout> [options]

Measures this checkout of framemask, the new one, against another. Prints how many times faster it is than the old one
for each row of decode.js, encode.js and masking.js, for inflating, and for framemask/ws; and how many bytes a Decoder
holds. Both checkouts need their addon
(npm run build) and node_modules. A round is a process. Takes about 15 minutes.

A row is SLOWER if three of four processes found it slower by more than the limit, unclear if half of them did; measure
it again with more rounds. The exit code is 1 if a row is SLOWER, 2 for a wrong argument.`;

/** @returns {string} the absolute path @throws {RangeError} if framemask is not there */
function readCheckout([folder, ...others]) {
  if (folder === undefined || others.length > 0)
    throw new RangeError('name the folder of the old checkout, and no other');
  return findCheckout(folder);
}

/**
 * @returns {Record<string, { ns: number }[]>} a figure of each process; every second one loads the
 *   old checkout first
 */
function takeTurns(job, old, processes) {
  const turns = { new: [], old: [] };
  const roots = Object.entries({ new: ROOT, old });
  for (let i = 0; i < processes; i++) {
    const taken = runChild({ ...job, rounds: 9, roots: i % 2 === 0 ? roots : roots.toReversed() });
    for (const name of Object.keys(turns)) turns[name].push({ ns: median(taken[name].map(({ ns }) => ns)) });
  }
  return turns;
}

/** Candidates that weigh 10,000 objects of each checkout, each time in a process. */
function weighers(object, old) {
  const weigher = ([name, root]) => [name, () => ({ held: runChild({ object, count: 10_000, root }) })];
  return Object.fromEntries(Object.entries({ new: ROOT, old }).map(weigher));
}

/** @returns {string[]} the rows that are slower by more than the limit */
function judge({ limit }, { rows }) {
  const slower = 1 - limit / 100;
  const lines = rows.map(({ name, faster: [{ times }] }) => {
    const [, middle, high] = times;
    return high < slower ? `SLOWER: ${name}` : middle < slower ? `unclear: ${name}` : '';
  });
  if (lines.some((line) => line.startsWith('SLOWER'))) process.exitCode = 1;
  return ['', ...lines.filter((line) => line !== '').sort()];
}

runBenchmark({
  name: 'compare',
  usage: USAGE,
  options: {
    kernels: text('<list>', 'best, or names that FRAMEMASK_KERNEL takes (default best,js)', 'best,js'),
    limit: count('<n>', 'per cent that a row may be slower', 3),
    turn: count('<ms>', 'how long a turn takes', 10, 2)
  },
  allowPositionals: true,
  sets({ positionals, kernels, turn }) {
    const old = readCheckout(positionals);
    const rows = kernels.split(',').flatMap((name) => {
      const kernel = name === 'best' ? '' : name;
      return listRows().map((row) => ({
        name: kernel === '' ? row.name : `${row.name} (${kernel})`,
        group: kernel,
        job: { row: row.name, kernel, turn }
      }));
    });
    const objects = ['a Decoder', 'a Decoder with compression'].map((object) => ({
      name: object,
      group: object,
      object
    }));
    return [
      { rows, start: () => ({ turns: ({ job }, processes) => takeTurns(job, old, processes) }) },
      { rows: objects, start: () => ({ candidates: ({ object }) => weighers(object, old) }) }
    ];
  },
  remarks: judge
});
